"""`atrium export`: one file, whole or not at all."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_a_directory_is_refused(filled: Shell) -> None:
    filled.run("export", filled.world.work).refused("is a directory")


def test_a_place_that_does_not_exist_is_refused(filled: Shell) -> None:
    filled.run("export", filled.world.work / "absent" / "all.jsonl").refused("absent")


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
