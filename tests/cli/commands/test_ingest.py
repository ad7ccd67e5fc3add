"""`atrium ingest`, and `atrium export`, which writes what it reads."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def test_an_export_is_ingested_elsewhere_with_the_same_digest(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = filled.run("export", "all.jsonl", "--json").document()
    path = filled.world.work / "all.jsonl"
    assert written["output"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    digest = filled.run("status", "--json").document()["digest"]
    monkeypatch.setenv("ATRIUM_STATE", str(filled.world.base / "other"))
    assert filled.run("ingest", "all.jsonl", "--json").document()["conversations"] == written["records"]
    assert filled.run("status", "--json").document()["digest"] == digest


def test_people_read_counts(filled: Shell) -> None:
    assert "conversations written to " in filled.run("export", "all.jsonl").ok().out
    assert "records written" in filled.run("ingest", "all.jsonl").ok().out


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"kind":"other"}\n'])
def test_a_file_that_is_no_archive_is_refused(shell: Shell, text: str) -> None:
    (shell.world.work / "bad.jsonl").write_text(text)
    shell.run("ingest", "bad.jsonl", "--json").refused("bad.jsonl")


def test_an_absent_file_is_refused_by_name(shell: Shell) -> None:
    shell.run("ingest", "absent.jsonl").refused("absent.jsonl")
