"""`atrium memory tag`, `delete`, `restore`, `revert`, `accept`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def pier(shell: Shell) -> str:
    return str(shell.run("memory", "add", "the pier", "--tag", "a", "--json").document()["id"])


def test_tags_are_added_and_removed(shell: Shell, pier: str) -> None:
    words = ("--add", "b", "--add", "c", "--remove", "a")
    assert shell.run("memory", "tag", pier[:8], *words, "--json").document()["tags"] == ["b", "c"]
    assert shell.run("memory", "tag", pier, "--add", "d").ok().out == f"tagged {pier}\n"


def test_what_is_deleted_comes_back(shell: Shell, pier: str) -> None:
    assert shell.run("memory", "delete", pier[:8]).ok().out == f"deleted {pier}\n"
    assert shell.run("memory", "list").ok().out == ""
    assert "deleted" in shell.run("memory", "list", "--deleted").ok().out
    assert shell.run("memory", "restore", pier[:8]).ok().out == f"restored {pier}\n"
    assert pier[:8] in shell.run("memory", "list").ok().out


def test_several_are_deleted_at_once_or_none(shell: Shell, pier: str) -> None:
    shell.run("memory", "delete", pier, "ffffffff").refused("ffffffff")
    shell.run("memory", "delete").refused("ID")
    shell.run("memory", "delete", pier, "--if-version", "7").refused("version 1")
    document = shell.run("memory", "delete", pier, "--json").document()
    assert document["items"] == [{"id": pier, "deleted": True}]


def test_an_earlier_version_is_made_the_newest(shell: Shell, pier: str) -> None:
    shell.run("memory", "edit", pier, "the quay").ok()
    shell.run("memory", "revert", pier, "--version", "1", "--if-version", "9").refused("version 2")
    found = shell.run("memory", "revert", pier, "--version", "1", "--json").document()
    assert (found["content"], found["version"]) == ("the pier", 3)
    shell.run("memory", "revert", pier, "--version", "8").refused("no version 8")
    shell.run("memory", "revert", pier).refused("--version")


def test_a_directive_from_elsewhere_waits_until_it_is_accepted(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = shell.run("memory", "add", "always test", "--type", "directive", "--json").document()
    assert added["trust"] == "accepted"
    shell.run("export", tmp_path / "m.jsonl", "--memory").ok()
    monkeypatch.setenv("ATRIUM_STATE", str(tmp_path / "elsewhere"))
    shell.run("import", tmp_path / "m.jsonl").ok()
    assert "unaccepted" in shell.run("memory", "list").ok().out
    assert shell.run("memory", "accept", str(added["id"])[:8]).ok().out == f"accepted {added['id']}\n"
    assert "unaccepted" not in shell.run("memory", "list").ok().out


def test_only_directives_are_accepted(shell: Shell, pier: str) -> None:
    shell.run("memory", "accept", pier).refused("only directives")
