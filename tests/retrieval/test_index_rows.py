"""From served events to rows: positions, drafts, the neighbours' column."""

from __future__ import annotations

import hashlib

import pytest

from crdt.events import Event, Kind, Role
from crdt.ids import content_sha256, conversation_id, event_id, record_id
from crdt.union import event_key
from retrieval.index_rows import (
    NEIGHBOUR_CHARS,
    Tally,
    date_words,
    drafts,
    near_text,
    positioned,
    record_digest,
    silent_key,
)

CONVERSATION = conversation_id("codex", "s")
EARLY, LATE = "2026-03-01T08:00:00.000Z", "2026-03-02T08:00:00.000Z"
SHA256 = "ab" * 32


def event(place: int, at: str | None = EARLY, text: str = "the crane", *, named: bool = True) -> Event:
    """Make a user's message."""
    return Event(
        id=event_id(CONVERSATION, f"m{place}") if named else None,
        kind=Kind.MESSAGE,
        role=Role.USER,
        text=text,
        seq=place,
        timestamp=at,
    )


def test_events_without_a_time_take_the_one_before_them() -> None:
    placed = positioned([event(0), event(1, None), event(2, "soon"), event(3, LATE)])
    assert [position[0] for position, _ in placed.events] == [EARLY, EARLY, EARLY, LATE]
    assert placed.carried == LATE


def test_the_first_ones_take_the_first_time_there_is() -> None:
    placed = positioned([event(0, None), event(1, LATE)])
    assert [position[0] for position, _ in placed.events] == [LATE, LATE]


def test_the_time_of_what_precedes_is_carried_on() -> None:
    placed = positioned([event(4, None), event(5, LATE)], EARLY)
    assert [position[0] for position, _ in placed.events] == [EARLY, LATE]
    assert positioned([event(4, None)], EARLY).carried == EARLY


def test_without_any_time_places_decide() -> None:
    placed = positioned([event(1, None), event(0, None)])
    assert [item.seq for _, item in placed.events] == [0, 1]
    assert placed.carried == ""


def test_equal_places_go_by_what_names_an_event() -> None:
    nameless = [event(0, text="a", named=False), event(0, text="b", named=False)]
    placed = positioned(nameless)
    assert [item for _, item in placed.events] == sorted(nameless, key=event_key)
    assert placed == positioned(reversed(nameless))


def test_a_draft_has_the_identity_and_the_revision_that_follow_from_the_data() -> None:
    tally = Tally()
    made = drafts(CONVERSATION, [(event(3), SHA256)], 7, tally)
    (draft,) = made.records
    name = event_id(CONVERSATION, "m3")
    assert (draft.record_id.hex(), draft.event_id) == (record_id(CONVERSATION, name), name)
    assert draft.content_sha256.hex() == content_sha256("user", "the crane", EARLY)
    assert draft.source_sha256.hex() == SHA256
    assert (draft.event_index, draft.role, draft.authored_at, draft.headings) == (7, "user", EARLY, None)
    assert made.silent == []
    assert (tally.admitted, tally.rejected) == ({}, {})


def test_what_is_not_admitted_is_tallied_and_keeps_its_place() -> None:
    tally = Tally()
    said = [event(0, text="ok"), event(1, named=False), event(2)]
    made = drafts(CONVERSATION, [(item, SHA256) for item in said], 0, tally)
    assert [draft.event_index for draft in made.records] == [2]
    assert tally.rejected == {"empty or acknowledgement": 1, "missing event id": 1}
    assert made.silent == [record_digest(CONVERSATION, item) for item in said[:2]]


def test_every_event_is_named_alike_admitted_or_not() -> None:
    (draft,) = drafts(CONVERSATION, [(event(0), SHA256)], 0, Tally()).records
    assert record_digest(CONVERSATION, event(0)) == draft.record_id
    nameless = event(0, named=False)
    expected = hashlib.sha256(f"{CONVERSATION}\0{event_key(nameless)}".encode()).digest()
    assert record_digest(CONVERSATION, nameless) == expected


def test_a_key_of_a_silent_event_fits_a_row_number() -> None:
    assert silent_key(b"\xff" * 32) == -1
    assert silent_key(b"\x7f" + b"\xff" * 31) == (1 << 63) - 1
    assert silent_key(b"\0" * 32) == 0


def test_tallies_add_up() -> None:
    one, other = Tally(), Tally()
    one.admitted["codex"], other.admitted["codex"], other.rejected["kind x"] = 1, 2, 3
    one.add(other)
    assert (one.admitted, one.rejected) == ({"codex": 3}, {"kind x": 3})


def test_neighbours_come_nearest_first_and_cut_short() -> None:
    near = near_text(None, EARLY, ["n" * 300, "far"])
    assert near == f"2026-03-01 march\n{'n' * NEIGHBOUR_CHARS}\nfar"
    assert near_text(None, None, []) == ""
    assert near_text(None, None, ["near"]) == "near"


def test_headings_take_the_neighbours_place() -> None:
    assert near_text("Title\nPart", EARLY, ["near"]) == "Title\nPart"
    assert near_text("", EARLY, ["near"]) == ""


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-12-24T08:00:00Z", "2026-12-24 december"),
        ("2026-01-02", "2026-01-02 january"),
        ("soon", ""),
        ("2026-13-01", ""),
        ("2026-00-01", ""),
        ("", ""),
        ("2026", ""),
    ],
)
def test_a_date_is_spelled_as_people_ask_for_it(at: str, expected: str) -> None:
    assert date_words(at) == expected
