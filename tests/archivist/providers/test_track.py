"""The bookkeeping that a source's events share over its increments."""

from __future__ import annotations

from archivist.providers import Cursor, Increment, Session
from archivist.providers.track import SESSIONS_MAX, Record, Track
from crdt.events import Kind, Role


def begun(state: dict[str, object] | None = None) -> Track:
    track = Track(state or {}, "talk.jsonl")
    track.begin(Increment(cursor=Cursor()))
    return track


def test_parts_after_the_first_are_numbered_and_seq_goes_on_in_a_later_run() -> None:
    track = begun()
    record = Record(source_id="s", raw_id="r", timestamp="2026-01-05T09:00:00.000Z", parent_raw_id="p")
    track.emit(record, Kind.MESSAGE, Role.USER, "one")
    track.emit(record, Kind.METADATA, Role.SYSTEM, "two")
    assert [(e.raw_id, e.seq, e.parent_raw_id) for e in track.increment.events] == [
        ("r", 0, "p"),
        ("r#1", 1, "p"),
    ]
    later = begun(track.finish())
    later.emit(Record(source_id="s", raw_id="q"), Kind.MESSAGE, Role.USER, "three")
    assert [(e.raw_id, e.seq) for e in later.increment.events] == [("q", 2)]


def test_what_was_learnt_of_a_session_is_told_in_every_increment_that_touches_it() -> None:
    track = begun()
    known = track.known("s")
    known.directory, known.parent, known.automation, known.title = "/srv", "p", True, "The title"
    state = track.finish()
    assert track.increment.sessions["s"].title == "The title"
    assert "The title" not in str(state)
    later = begun(state)
    later.known("s")
    later.finish()
    assert later.increment.sessions == {
        "s": Session(source_id="s", directory="/srv", parent_source_id="p", automation=True)
    }
    untouched = begun(state)
    untouched.finish()
    assert untouched.increment.sessions == {}


def test_the_longest_known_session_is_forgotten_first() -> None:
    track = begun()
    for number in range(SESSIONS_MAX + 1):
        track.known(f"s{number}").directory = "/srv"
    later = begun(track.finish())
    assert later.known("s0").directory is None
    assert later.known(f"s{SESSIONS_MAX}").directory == "/srv"


def test_a_state_of_other_types_is_as_good_as_none() -> None:
    state: dict[str, object] = {"seq": "x", "session": 1, "sessions": [1], "undated": {"a": "b"}, "recent": 3}
    assert begun(state).finish() == {"seq": 0}


def test_a_kept_line_is_named_by_its_file_and_its_place() -> None:
    def kept(file_name: str) -> list[str]:
        track = Track({}, file_name)
        for text in ("x", "y"):
            track.keep("s", "line is not JSON", text)
        return [event.raw_id for event in track.increment.events]

    assert len({*kept("a.jsonl"), *kept("b.jsonl")}) == 4
    assert kept("a.jsonl") == kept("a.jsonl")
