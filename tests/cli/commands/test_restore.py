"""`atrium restore` as a real process: beside a node it refuses, without one it restores."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_on_a_new_machine_it_says_what_comes_next(filled: Shell) -> None:
    target = filled.world.base / "backup"
    filled.run("memory", "add", "the pump is primed from the north").ok()
    filled.run("backup", target).ok()
    filled.world.state.rename(filled.world.base / "lost")
    said = filled.run("restore", target).ok().out
    assert said.splitlines()[-1] == "`atrium up` starts the node and makes the index"
    assert "without a key" in said
    filled.run("prepare-context").ok()
    assert "primed from the north" in filled.run("memory", "list").ok().out
    assert filled.run("status", "--json").document()["projection_digest"]


def test_beside_a_writer_it_refuses_at_once(filled: Shell) -> None:
    from node.lock import StateLock

    target = filled.world.base / "backup"
    filled.run("backup", target).ok()
    with StateLock.acquire(filled.world.state / "local.lock", "atrium up"):
        said = filled.run("restore", target, "--replace")
    assert said.rc == 75
    assert "atrium up" in said.err
    assert not list(filled.world.state.glob("set-aside-*"))
