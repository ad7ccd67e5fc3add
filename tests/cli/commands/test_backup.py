"""`atrium backup` and `restore`: there and back, as lines and as documents."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_there_and_back(filled: Shell) -> None:
    target = filled.world.base / "backup"
    said = filled.run("backup", target).ok().out
    assert said.startswith("backed up ")
    assert "without this node's key" in said
    filled.run("restore", target).refused("of its own", "--replace")
    done = filled.run("restore", target, "--replace").ok().out
    assert "is in set-aside-" in done
    assert "atrium up" in done
    assert filled.run("verify").ok().out.endswith("everything is as it was written\n")


def test_documents(filled: Shell) -> None:
    target = filled.world.base / "backup"
    document = filled.run("backup", target, "--with-identity", "--json").document()
    assert document["output"] == str(target)
    assert document["identity"] is True
    assert filled.run("restore", target, "--replace", "--json").document()["identity"] == "kept"


def test_what_is_no_backup_is_refused(filled: Shell) -> None:
    filled.run("restore", filled.world.home).refused("no backup")
    filled.run("backup", filled.world.state / "inside").refused("inside the state directory")
    before = filled.run("status", "--json").document()["digest"]
    assert filled.run("status", "--json").document()["digest"] == before
