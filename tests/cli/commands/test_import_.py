"""`atrium export --memory` and `atrium import`: shared memory as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def test_memory_moves_to_another_state_and_back(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = str(shell.run("memory", "add", "the pier", "--json").document()["id"])
    shell.run("memory", "edit", identity, "the quay").ok()
    shell.run("memory", "add", "for me", "--private").ok()
    target = tmp_path / "memory.jsonl"
    assert shell.run("export", target, "--memory").ok().out == f"1 record, 2 versions, written to {target}\n"
    document = shell.run("export", target, "--memory", "--private", "--json").document()
    assert (document["records"], document["operations"]) == (2, 3)
    assert "0 versions taken in, 3 versions known" in shell.run("import", target).ok().out
    monkeypatch.setenv("ATRIUM_STATE", str(tmp_path / "elsewhere"))
    assert shell.run("import", target, "--json").document() == {
        "schemaVersion": 1, "records": 2, "operations": 3, "added": 3, "unchanged": 0,
    }  # fmt: skip
    assert shell.run("memory", "get", identity, "--json").document()["content"] == "the quay"


def test_a_bad_file_is_refused_by_line(shell: Shell, tmp_path: Path) -> None:
    target = tmp_path / "memory.jsonl"
    shell.run("memory", "add", "the pier").ok()
    shell.run("export", target, "--memory").ok()
    target.write_text(target.read_text().replace('"kind":"memory"', '"kind":"song"'))
    shell.run("import", target).refused("line 3", "kind")
    shell.run("import", tmp_path / "absent").refused("absent")


def test_a_file_of_the_other_kind_is_refused_with_its_command(filled: Shell, tmp_path: Path) -> None:
    target = tmp_path / "archive.jsonl"
    filled.run("export", target).ok()
    filled.run("import", target).refused("atrium ingest")


def test_options_of_the_archive_and_of_memory_do_not_mix(shell: Shell, tmp_path: Path) -> None:
    for words in (["--private"], ["--memory", "--all"], ["--memory", "--partial"]):
        shell.run("export", tmp_path / "x", *words).refused("--memory")
    assert not (tmp_path / "x").exists()
