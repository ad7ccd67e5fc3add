"""`atrium verify`: what was looked at, what is damaged and what mends it."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_what_is_whole(filled: Shell) -> None:
    said = filled.run("verify").ok().out
    assert said.startswith("checked ")
    assert said.endswith("everything is as it was written\n")
    document = filled.run("verify", "--every-signature", "--json").document()
    assert document["signatures"] == document["entries"]


def test_damage_is_named_with_what_mends_it(filled: Shell) -> None:
    shared = filled.run("memory", "add", "the pump is primed").ok()
    assert shared.rc == 0
    store = filled.world.state / "canonical" / "feeds.db"
    store.write_bytes(store.read_bytes().replace(b"the pump is primed", b"the pump is rusted"))
    said = filled.run("verify")
    assert said.rc == 1
    assert "DAMAGED  entry" in said.out
    assert "hint: " in said.out
    assert "restore" in said.out


def test_without_a_state_there_is_nothing_to_verify(shell: Shell) -> None:
    said = shell.run("verify")
    assert said.rc == 1
    assert "no archive yet" in said.err
