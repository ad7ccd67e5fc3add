"""The same use-cases in this process, where no node runs."""

from __future__ import annotations

import threading

import pytest

from cli import local
from cli.local import read_request, run_here
from crdt.errors import BadInput, SettingsInvalid, StateBusy
from node.lock import StateLock
from node.services.catalog import USE_CASES
from tests.cli.conftest import Shell


def test_a_reader_makes_nothing(shell: Shell) -> None:
    shell.run("status").ok()
    shell.run("search", "x")
    shell.run("doctor").ok()
    assert not shell.world.state.exists()


def test_a_writer_makes_the_state_and_lets_it_go(shell: Shell) -> None:
    shell.run("capture").ok()
    StateLock.acquire(shell.world.state / "local.lock", "x", timeout_s=0).release()


def test_a_write_that_makes_a_key_in_the_place_of_a_lost_one_says_so(shell: Shell) -> None:
    said = "this node goes on under a new key"
    assert said not in shell.run("memory", "add", "one").ok().err
    (shell.world.state / "identity.key").unlink()
    assert said in shell.run("memory", "add", "two").ok().err
    assert said not in shell.run("memory", "add", "three").ok().err
    assert "identity" in shell.run("doctor").out


def test_a_writer_waits_for_another(shell: Shell) -> None:
    shell.world.state.mkdir(mode=0o700)
    lock = StateLock.acquire(shell.world.state / "local.lock", "atrium ingest", timeout_s=0)
    timer = threading.Timer(0.2, lock.release)
    timer.start()
    assert run_here("capture", {"roots": {}}, None)["conversations"] == 0
    timer.join()


def test_a_writer_that_waited_in_vain_names_the_holder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "WAIT_S", 0.0)
    monkeypatch.setattr(local, "LOOK_S", 0.05)
    shell.world.state.mkdir(mode=0o700)
    with (
        StateLock.acquire(shell.world.state / "local.lock", "atrium ingest", timeout_s=0),
        pytest.raises(StateBusy, match="`atrium ingest`"),
    ):
        run_here("capture", {"roots": {}}, None)


def test_a_writer_refuses_a_state_that_is_only_guessed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATRIUM_STATE")
    monkeypatch.setenv("SYNTOPICA_DATA", str(shell.world.base / "absent"))
    with pytest.raises(SettingsInvalid):
        run_here("capture", {"roots": {}}, None)
    assert not (shell.world.base / "absent").exists()
    assert shell.run("status").rc == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"limit": "many", "query": "x", "directory": "/"}, "limit"),
        ({"query": "x"}, "directory"),
        ({"x": 1}, "x"),
    ],
)
def test_a_request_that_makes_no_sense_names_the_field(arguments: dict[str, object], word: str) -> None:
    with pytest.raises(BadInput, match=word):
        read_request(USE_CASES["search"], arguments)
