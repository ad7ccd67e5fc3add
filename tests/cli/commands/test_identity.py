"""`atrium identity`: shown, backed up, put back and revoked, in this process and in real ones."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from mesh import identity_backup
from mesh.identity import load
from tests.cli.conftest import Shell
from tests.kit import World, wait_until

PASSPHRASE = "a long enough passphrase"


@pytest.fixture
def made(shell: Shell) -> Shell:
    """Give a shell whose state has a key and the spaces home, private and team."""
    shell.run("spaces", "create", "team").ok()
    return shell


def node_of(document: Mapping[str, object], key: str) -> object:
    return cast("dict[str, object]", document[key])["node"]


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_before_the_first_write_it_says_what_makes_a_key(shell: Shell) -> None:
    shell.run("identity").refused("no key yet", "atrium capture")
    assert not shell.world.state.exists()


def test_it_is_shown_for_people_and_as_a_document(made: Shell) -> None:
    shown = made.run("identity", "show", "--json").document()
    assert made.run("identity", "--json").document() == shown
    assert made.run("identity", "--json", "show").document() == shown
    said = made.run("identity").ok().out
    assert str(shown["fingerprint"]) in said
    assert str(shown["key"]) in said
    assert "home (owner), private (owner), team (owner)" in said
    assert made.run("identity", "show").ok().out == said


def test_no_command_prints_a_secret(made: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    key = made.world.state / "identity.key"
    secrets = [line.split()[1] for line in key.read_text().splitlines() if "seed" in line]
    target = made.world.base / "key.backup"
    for words in (
        ("identity",),
        ("identity", "backup", target),
        ("identity", "revoke", "--json"),
        ("doctor",),
    ):
        said = made.run(*words)
        assert not any(secret in said.out + said.err for secret in secrets)


def test_a_sealed_backup_opens_with_its_passphrase(made: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_backup, "SCRYPT_N", 1 << 4)
    target = made.world.base / "key.backup"
    piped(monkeypatch, PASSPHRASE + "\n")
    said = made.run("identity", "backup", target, "--passphrase-stdin", "--take-next").ok()
    assert "sealed" in said.out
    assert "keep it away" in said.out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    made.world.state.rename(made.world.base / "former")
    made.run("identity", "restore", target).refused("passphrase", "--passphrase-stdin")
    piped(monkeypatch, "a wrong passphrase\n")
    made.run("identity", "restore", target, "--passphrase-stdin").refused("passphrase")
    assert not (made.world.state / "identity.key").exists()
    piped(monkeypatch, PASSPHRASE + "\r\n")
    restored = made.run("identity", "restore", target, "--passphrase-stdin", "--json").document()
    assert restored["restored"] is True
    assert load(made.world.state / "identity.key").has_next


def test_without_a_passphrase_or_a_terminal_nothing_is_written(
    made: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = made.world.base / "key.backup"
    for option, text in (
        ("--passphrase-stdin", ""),
        ("--passphrase-stdin", "short\n"),
        ("--passphrase", "x\n"),
    ):
        piped(monkeypatch, text)
        assert made.run("identity", "backup", target, option).rc == 2
        assert not target.exists()


def test_a_backup_can_not_lie_beside_the_key(made: Shell) -> None:
    made.run("identity", "backup", made.world.state / "copy").refused("state directory")


def test_a_revocation_that_nobody_confirms_changes_nothing(
    made: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "y\n")
    before = made.run("identity", "--json").document()
    said = made.run("identity", "revoke").ok()
    assert str(before["fingerprint"]) in said.out
    assert "in team" in said.out
    assert "--yes" in said.err
    assert made.run("identity", "revoke", "--json").document()["applied"] is False
    assert made.run("identity", "--json").document() == before


def test_a_revocation_by_a_backup_makes_the_promised_key_this_node_s(made: Shell) -> None:
    target = made.world.base / "key.backup"
    made.run("identity", "backup", target, "--take-next").ok()
    made.run("identity", "revoke", "--yes").refused("not on this machine", "--from")
    told = made.run("identity", "revoke", "--from", target, "--json").document()
    done = made.run("identity", "revoke", "--from", target, "--yes").ok()
    assert "back it up again" in done.out
    shown = made.run("identity", "--json").document()
    assert shown["node"] == node_of(told, "new")
    assert shown["nextKey"] == "here"
    made.run("identity", "revoke", "--from", target, "--yes").refused("another key")


def test_real_processes_share_one_identity(world: World) -> None:
    world.run("spaces", "create", "team").ok()
    shown = world.run("identity", "--json").document()
    target = world.base / "key.backup"
    sealed = world.run("identity", "backup", str(target), "--passphrase-stdin", stdin=f"{PASSPHRASE}\n").ok()
    assert PASSPHRASE not in sealed.stdout + sealed.stderr
    elsewhere = {"ATRIUM_STATE": str(world.base / "other")}
    world.run("identity", "restore", str(target), "--passphrase-stdin", stdin=PASSPHRASE, env=elsewhere).ok()
    other = world.run("identity", "--json", env=elsewhere).document()
    assert (other["node"], other["key"]) == (shown["node"], shown["key"])
    mode = (world.base / "other" / "identity.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_running_node_answers_and_is_not_revoked_under_its_feet(world: World, tmp_path: Path) -> None:
    world.run("up", "--port", "0").ok()
    try:
        wait_until((world.state / "node.sock").exists, "the node's socket")
        made = world.run("spaces", "create", "team", "--json").document()
        assert made["created"] is True
        shown = world.run("identity", "--json").document()
        assert len(cast("list[object]", shown["spaces"])) == 3
        world.run(
            "identity", "backup", str(tmp_path / "key.backup"), "--passphrase-stdin", stdin=PASSPHRASE
        ).ok()
        refused = world.run("identity", "revoke", "--yes")
        assert refused.rc == 75
        assert "atrium down" in refused.stderr
        assert PASSPHRASE not in (world.state / "node.log").read_text()
    finally:
        world.run("down").ok()
    done = world.run("identity", "revoke", "--yes", "--json").document()
    assert done["applied"] is True
    assert json.dumps(done).count(str(shown["node"])) == 1
    world.run("up", "--port", "0").ok()
    try:
        assert node_of(done, "new") == world.run("identity", "--json").document()["node"]
        assert world.run("spaces", "create", "team", "--json").document()["created"] is False
    finally:
        world.run("down").ok()
