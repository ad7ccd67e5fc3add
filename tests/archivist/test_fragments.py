"""Raw events become redacted fragments with derived ids, in canonical bytes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from archivist import fragments
from archivist.fragments import FragmentMaker, seal
from archivist.providers.base import Cursor, Increment, RawEvent, Session, Source
from archivist.redact import Redactor
from crdt.archive import decode_fragment
from crdt.canonical import encode_canonical
from crdt.events import Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.segments import fragment_sha256

HOME = Path("/home/ada")
SECRET = "gh" + "p_" + "a1B2" * 9


def maker() -> FragmentMaker:
    """Make fragments as on ada's machine `harbour`."""
    return FragmentMaker(Redactor([str(HOME)]), "harbour", HOME, lambda folder: folder)


def source(relative_path: str = "one.jsonl") -> Source:
    """Name a file."""
    return Source(
        provider="codex", path=Path(relative_path), relative_path=relative_path, size_bytes=1, modified_ns=1,
        inode=1,
    )  # fmt: skip


def raw(place: int, text: str, session: str = "s", **more: object) -> RawEvent:
    """Make an event of a user."""
    event = RawEvent(
        source_id=session, raw_id=f"r{place}", kind=Kind.MESSAGE, role=Role.USER, text=text, seq=place,
        timestamp="2026-03-01T08:00:00.000Z",
    )  # fmt: skip
    return msgspec.structs.replace(event, **more)


def increment(*events: RawEvent, **sessions: Session) -> Increment:
    """Make an increment."""
    return Increment(cursor=Cursor(), events=list(events), sessions=dict(sessions))


def test_ids_follow_from_the_provider_s_own() -> None:
    (made,) = maker().make(source(), increment(raw(0, "a"), raw(1, "b", parent_raw_id="r0")))
    identity = conversation_id("codex", "s")
    assert made.fragment.conversation_id == identity
    assert [event.id for event in made.fragment.events] == [
        event_id(identity, "r0"),
        event_id(identity, "r1"),
    ]
    assert made.fragment.events[1].parent == event_id(identity, "r0")
    assert made.fragment.events[0].parent is None


def test_a_raw_id_that_is_no_unicode_still_names_its_event() -> None:
    (made,) = maker().make(source(), increment(raw(0, "a", raw_id="r\udcff")))
    assert made.fragment.events[0].id == event_id(made.fragment.conversation_id, "r\udcff")


def test_bytes_are_canonical_and_named_by_their_hash() -> None:
    (made,) = maker().make(source(), increment(raw(0, "line\u2028end")))
    assert made.body.sha256 == fragment_sha256(made.body.data)
    assert b"\n" not in made.body.data
    assert "\u2028".encode() not in made.body.data
    assert decode_fragment(made.body.data) == made.fragment
    assert seal(made.fragment) == made
    assert made.body.data == encode_canonical(made.fragment)


def test_everything_that_may_hold_a_secret_is_redacted_and_counted_by_event() -> None:
    session = Session(source_id="s", title=f"key {SECRET}", directory=f"{HOME}/{SECRET}/mill")
    path = f"{SECRET}/one.jsonl"
    (made,) = maker().make(source(path), increment(raw(0, "fine"), raw(1, f"it is {SECRET}"), s=session))
    fragment = made.fragment
    assert SECRET.encode() not in made.body.data
    assert str(HOME).encode() not in made.body.data
    assert fragment.events[1].text == "it is [REDACTED:token]"
    assert fragment.redactions == {fragment.events[1].id: 1}
    assert fragment.redactor_version == Redactor([]).version
    assert fragment.title == "key [REDACTED:token]"
    assert fragment.workspace is not None
    assert fragment.workspace.startswith("[HOME]/")


def test_a_home_directory_is_taken_out_of_folder_names_too() -> None:
    (made,) = maker().make(source("-home-ada-work-mill/one.jsonl"), increment(raw(0, "a")))
    assert made.fragment.relative_path == "[HOME]-work-mill/one.jsonl"


def test_what_the_provider_says_of_the_session_is_kept() -> None:
    session = Session(
        source_id="s", parent_source_id="p", automation=True, title="Mill", directory="/srv/mill"
    )
    (made,) = maker().make(source(), increment(raw(0, "a"), s=session))
    fragment = made.fragment
    assert (fragment.source, fragment.source_id, fragment.origin) == ("codex", "s", Origin.CAPTURE)
    assert (fragment.hosts, fragment.relative_path) == (("harbour",), "one.jsonl")
    assert (fragment.title, fragment.workspace, fragment.automation) == ("Mill", "/srv/mill", True)
    assert fragment.parent_id == conversation_id("codex", "p")


def test_a_session_of_which_nothing_is_said_is_plain() -> None:
    (made,) = maker().make(source(), increment(raw(0, "a")))
    fragment = made.fragment
    assert (fragment.title, fragment.workspace, fragment.parent_id) == (None, None, None)
    assert not fragment.automation
    assert b"null" not in made.body.data


def test_each_conversation_of_an_increment_is_a_fragment_of_its_own() -> None:
    made = maker().make(source(), increment(raw(0, "a"), raw(1, "b", session="t"), raw(2, "c")))
    texts = {item.fragment.source_id: [event.text for event in item.fragment.events] for item in made}
    assert texts == {"s": ["a", "c"], "t": ["b"]}


def test_an_increment_without_events_makes_nothing() -> None:
    assert maker().make(source(), increment()) == []


def test_a_very_long_run_of_events_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "EVENTS_MAX", 2)
    made = maker().make(source(), increment(*(raw(place, "a") for place in range(5))))
    assert [[event.seq for event in item.fragment.events] for item in made] == [[0, 1], [2, 3], [4]]


def test_a_workspace_is_asked_for_once_a_directory() -> None:
    asked: list[str] = []

    def workspace_of(folder: str) -> str:
        asked.append(folder)
        return folder

    made = FragmentMaker(Redactor([]), "harbour", HOME, workspace_of)
    for place in range(3):
        made.make(source(), increment(raw(place, "a"), s=Session(source_id="s", directory="/srv/mill")))
    assert asked == ["/srv/mill"]
