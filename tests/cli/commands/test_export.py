"""`atrium export`: one file, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt import archive_file
from tests.cli.conftest import Shell


def test_a_directory_is_refused(filled: Shell) -> None:
    filled.run("export", filled.world.work).refused("is a directory")


def test_a_place_that_does_not_exist_is_refused(filled: Shell) -> None:
    filled.run("export", filled.world.work / "absent" / "all.jsonl").refused("absent")


def conversations_in(path: Path) -> int:
    """Count the lines after the manifest."""
    return path.read_bytes().count(b"\n") - 1


def test_people_are_told_how_many_there_are(filled: Shell) -> None:
    target = filled.world.work / "all.jsonl"
    said = filled.run("export", target).ok().out
    assert said.startswith(f"{conversations_in(target)} conversations written to ")


def test_all_brings_back_what_a_later_ingest_removed(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, one, now = (filled.world.work / f"{name}.jsonl" for name in ("whole", "one", "now"))
    filled.run("export", whole).ok()
    line = whole.read_bytes().split(b"\n")[1]
    archive_file.write(one, [line])
    monkeypatch.setenv("ATRIUM_STATE", str(filled.world.base / "other"))
    filled.run("ingest", whole).ok()
    filled.run("ingest", one).ok()
    filled.run("export", now).ok()
    kept = conversations_in(now)
    assert kept < conversations_in(whole)
    filled.run("export", now, "--all").ok()
    assert conversations_in(now) == conversations_in(whole)


def test_an_existing_file_is_replaced_as_a_whole(filled: Shell) -> None:
    target = filled.world.work / "all.jsonl"
    target.write_text("older")
    filled.run("export", target).ok()
    assert target.read_bytes().startswith(b'{"contentSha256"')
    assert [path.name for path in target.parent.glob("*all.jsonl*")] == ["all.jsonl"]


def test_damage_keeps_the_older_file_unless_a_part_is_asked_for(filled: Shell) -> None:
    target = filled.world.work / "all.jsonl"
    target.write_text("older")
    filled.run("redact", "--apply").ok()
    segments = list((filled.world.state / "canonical" / "segments").glob("??/*.zst"))
    assert segments, "an applied redaction seals what waits"
    for segment in segments:
        segment.write_bytes(b"garbage")
    said = filled.run("export", target)
    assert (said.rc, said.out) == (1, "")
    assert "--partial" in said.err
    assert target.read_text() == "older"
    assert "left out" in filled.run("export", target, "--partial").ok().err
