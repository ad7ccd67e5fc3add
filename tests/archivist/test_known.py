"""A second copy of what is known adds nothing, wherever the first one is by now."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from archivist.fragments import Made, seal
from archivist.known import KnownEvents
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Tombstone
from retrieval.index_catalog import Catalog
from tests.retrieval.follow_kit import Kept

CONVERSATION = conversation_id("codex", "s")


def event(place: int, text: str = "the crane", *, named: bool = True, kind: str = Kind.MESSAGE) -> Event:
    """Make an event."""
    return Event(
        id=event_id(CONVERSATION, f"m{place}") if named else None, kind=kind, role=Role.USER, text=text,
        seq=place, timestamp=f"2026-03-01T08:00:{place:02d}.000Z",
    )  # fmt: skip


def made(events: Sequence[Event], path: str = "one.jsonl", **more: object) -> Made:
    """Make a fragment."""
    fragment = Fragment(
        conversation_id=CONVERSATION, source="codex", source_id="s", origin=Origin.CAPTURE,
        relative_path=path, redactor_version=1, events=list(events),
    )  # fmt: skip
    return seal(msgspec.structs.replace(fragment, **more))


def places(part: Made | None) -> list[int]:
    """Tell which events are left; none where the whole fragment is."""
    assert part is not None
    return [item.seq for item in part.fragment.events]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as found:
        yield found


@pytest.fixture
def known(kept: Kept) -> KnownEvents:
    """Give what looks into it."""
    return KnownEvents(kept.catalog)


def test_a_new_conversation_is_new(known: KnownEvents) -> None:
    whole = made([event(0), event(1)])
    assert known.new_part(whole) is whole


def test_a_conversation_is_known_on_its_way_and_once_it_is_there(kept: Kept, known: KnownEvents) -> None:
    whole = made([event(0)])
    identity = whole.fragment.conversation_id
    assert not known.has_conversation(identity)
    known.add([whole])
    assert known.has_conversation(identity)
    kept.append(whole.fragment)
    known.forget([whole])
    assert known.has_conversation(identity)


def test_events_in_the_archive_are_left_out(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0), event(1)]).fragment)
    again = made(
        [event(0), event(1), event(2)], "resumed.jsonl", redactions={str(event(0).id): 1, str(event(2).id): 2}
    )
    part = known.new_part(again)
    assert places(part) == [2]
    assert part is not None
    assert part.fragment.redactions == {event(2).id: 2}
    assert part == seal(part.fragment)


def test_the_same_file_read_again_adds_nothing(kept: Kept, known: KnownEvents) -> None:
    whole = made([event(0), event(1)])
    kept.append(whole.fragment)
    assert known.new_part(whole) is None


def test_events_that_nobody_indexes_are_known_too(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0, kind=Kind.TOOL_CALL), event(1, "ok"), event(2, named=False)]).fragment)
    again = [event(0, kind=Kind.TOOL_CALL), event(1, "ok"), event(2, named=False)]
    assert known.new_part(made(again, "resumed.jsonl")) is None


def test_events_without_ids_are_told_apart_by_what_they_say(kept: Kept, known: KnownEvents) -> None:
    first, second = event(0, "one", named=False), event(1, "two", named=False)
    kept.append(made([first, second]).fragment)
    part = known.new_part(made([first, second, event(2, "three", named=False)], "again.jsonl"))
    assert places(part) == [2]


def test_a_correction_is_kept(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0), event(1)]).fragment)
    assert places(known.new_part(made([event(0), event(1, "the mill")]))) == [1]


def test_what_was_corrected_since_is_no_news(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0, "first")]).fragment)
    kept.append(made([event(0, "corrected")]).fragment)
    assert known.new_part(made([event(0, "first")])) is None


def test_events_of_a_removed_conversation_are_known(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0)]).fragment)
    kept.archive.commit([], tombstone=Tombstone(removed=[CONVERSATION]))
    kept.follow()
    assert known.new_part(made([event(0)], "again.jsonl")) is None


def test_fragments_on_their_way_count_until_they_are_in_the_catalog(kept: Kept, known: KnownEvents) -> None:
    whole = made([event(0), event(1)])
    known.add([whole])
    assert known.new_part(whole) is None
    assert places(known.new_part(made([event(1), event(2)], "resumed.jsonl"))) == [2]
    kept.append(whole.fragment)
    known.forget([whole])
    assert known.new_part(whole) is None
    known.forget([whole])


def test_a_correction_on_its_way_counts_as_the_latest(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0, "first")]).fragment)
    known.add([made([event(0, "corrected")])])
    assert known.new_part(made([event(0, "corrected"), event(1)], "resumed.jsonl")) is not None
    assert places(known.new_part(made([event(0, "corrected"), event(1)], "resumed.jsonl"))) == [1]


def test_a_title_that_changed_is_news_without_events(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0)]).fragment)
    renamed = known.new_part(made([event(0)], title="The crane"))
    assert places(renamed) == []
    assert renamed is not None
    kept.append(renamed.fragment)
    title = "SELECT title FROM conversations"
    assert kept.index.connection.execute(title).fetchone() == ("The crane",)
    assert known.new_part(made([event(0)], title="The crane")) is None
    assert known.new_part(made([event(0)])) is None


@pytest.mark.parametrize(
    "more", [{"workspace": "/srv/mill"}, {"parent_id": conversation_id("codex", "p")}, {"automation": True}]
)
def test_what_a_conversation_lacked_is_news(kept: Kept, known: KnownEvents, more: dict[str, object]) -> None:
    kept.append(made([event(0)]).fragment)
    part = known.new_part(made([event(0)], "one.jsonl", **more))
    assert places(part) == []
    assert part is not None
    kept.append(part.fragment)
    assert known.new_part(made([event(0)], "one.jsonl", **more)) is None


def test_the_archive_is_read_only_where_an_event_is_known(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([event(0)]).fragment, seal=True)
    for name in list(kept.archive.segments.names()):
        kept.archive.segments.remove(name)
    later = made([event(1)], "another.jsonl")
    assert known.new_part(later) is later


def test_asking_is_safe_beside_the_thread_that_writes(kept: Kept) -> None:
    with closing(Kept(kept.root)) as other:
        known = KnownEvents(Catalog(other.index.connection, kept.archive))
        fragments = [made([event(place, f"turn {place}")]) for place in range(40)]
        failures: list[Made] = []

        def write() -> None:
            for item in fragments:
                known.add([item])
                kept.append(item.fragment)
                known.forget([item])

        writer = threading.Thread(target=write)
        writer.start()
        seen = 0
        while writer.is_alive() or seen < len(fragments):
            # Once a fragment was added it must be known at every moment, pending or indexed.
            pending = list(known._pending.get(CONVERSATION, {}).values())
            failures += [item for item in pending if known.new_part(item) is not None]
            seen = seen + 1 if not writer.is_alive() else 0
        writer.join()
        assert failures == []
        assert all(known.new_part(item) is None for item in fragments)


def test_a_copy_further_up_its_file_is_news_for_its_place(kept: Kept, known: KnownEvents) -> None:
    resumed = [msgspec.structs.replace(event(place), seq=place + 1) for place in (0, 1)]
    kept.append(made(resumed, "resumed.jsonl").fragment)
    first = made([event(0), event(1)])
    assert known.new_part(first) is first
    kept.append(first.fragment)
    assert known.new_part(first) is None
    assert known.new_part(made(resumed, "resumed.jsonl")) is None


def test_an_ingested_copy_is_never_news_for_its_place(kept: Kept, known: KnownEvents) -> None:
    kept.append(made([msgspec.structs.replace(event(0), seq=7)]).fragment)
    assert known.new_part(made([event(0)], origin=Origin.INGEST)) is None
