"""The documented lines of JSON for any other agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from archivist.providers import unnamed_raw_id
from archivist.providers.generic import NAMED_LINES_MAX
from tests.archivist.providers.samples import Reading, read_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def read(path: Path, *records: object) -> Reading:
    return read_lines("generic", path, *records)


def test_a_line_says_everything_itself(path: Path) -> None:
    reading = read(
        path,
        {"id": 7, "role": "user", "text": "hello", "timestamp": "2026-01-05T10:00:00+01:00", "session": "s",
         "cwd": "/srv/a", "title": "Greeting"},
        {"role": "assistant", "kind": "reasoning", "text": "hm", "session": "s", "cwd": "/srv/b"},
    )  # fmt: skip
    assert reading.said() == [("message", "user", "hello"), ("reasoning", "assistant", "hm")]
    first, second = reading.events
    assert (first.source_id, first.raw_id, first.timestamp) == ("s", "7", "2026-01-05T09:00:00.000Z")
    assert second.raw_id == unnamed_raw_id("reasoning", None, 0)
    assert (reading.sessions["s"].directory, reading.sessions["s"].title) == ("/srv/a", "Greeting")


def test_without_a_session_the_file_is_the_conversation(path: Path) -> None:
    assert read(path, {"role": "user", "text": "hello"}).events[0].source_id == "talk"


@pytest.mark.parametrize(
    ("record", "fault", "said"),
    [
        ({"role": "user"}, "line 2: no text", []),
        ({"role": "user", "text": 5}, "line 2: no text", []),
        ({"text": "x"}, "line 2: role that is not known", [("metadata", "unknown", "x")]),
        ({"role": "oracle", "text": "x"}, "line 2: role that is not known", [("metadata", "unknown", "x")]),
        ({"role": "user", "text": "x", "kind": "song"}, "line 2: kind that is not known",
         [("metadata", "user", "x")]),
        ({"role": "user", "text": "x", "timestamp": "noon"}, "line 2: timestamp that can't be read",
         [("message", "user", "x")]),
        ([1], "line 2: line is not an object", [("metadata", "unknown", "[1]")]),
    ],
)  # fmt: skip
def test_a_fault_names_its_line(
    path: Path, record: object, fault: str, said: list[tuple[str, str, str]]
) -> None:
    reading = read(path, {"role": "user", "text": "hello"}, record)
    assert reading.skipped == {fault: 1}
    assert reading.said()[1:] == said


def test_only_so_many_lines_are_named(path: Path) -> None:
    reading = read(path, *({"role": "user"} for _ in range(NAMED_LINES_MAX + 5)))
    assert len(reading.skipped) == NAMED_LINES_MAX + 1
    assert reading.skipped["further lines: no text"] == 5
