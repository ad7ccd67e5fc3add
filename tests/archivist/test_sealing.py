"""Waiting fragments are sealed when it is time, and small segments do not pile up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from archivist import sealing
from archivist.sealing import (
    BULK_BYTES,
    BULK_CONVERSATIONS,
    QUIET_MS,
    SMALL_MAX,
    is_bulk,
    merge_small,
    seal_if_due,
)
from crdt.clock import milliseconds_of
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.segments import SEGMENT_FRAGMENTS_MAX
from tests.retrieval.follow_kit import Kept, contents


def said(name: str, number: int = 0, text: str = "the crane") -> Fragment:
    """Make a fragment of one message."""
    conversation = conversation_id("codex", name)
    event = Event(
        id=event_id(conversation, str(number)), kind=Kind.MESSAGE, role=Role.USER, text=text, seq=number,
        timestamp=f"2026-03-01T00:00:{number:02d}.000Z",
    )  # fmt: skip
    return Fragment(
        conversation_id=conversation, source="codex", source_id=name, origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl", redactor_version=1, events=[event],
    )  # fmt: skip


def newest_ms(kept: Kept) -> int:
    """Tell when the last fragment that waits came."""
    return milliseconds_of(max(hlc for _, hlc, _ in kept.archive.log.tails()))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as made:
        yield made


def test_many_new_conversations_or_many_bytes_are_bulk() -> None:
    assert not is_bulk(BULK_CONVERSATIONS - 1, BULK_BYTES)
    assert is_bulk(BULK_CONVERSATIONS, 0)
    assert is_bulk(0, BULK_BYTES + 1)


def test_nothing_is_sealed_where_nothing_waits(kept: Kept) -> None:
    assert seal_if_due(kept.archive, 1 << 50) == 0
    assert kept.archive.log.head() == 0


def test_what_waits_is_sealed_after_ten_minutes_of_quiet(kept: Kept) -> None:
    kept.append(said("a"))
    kept.append(said("a", 1))
    now_ms = newest_ms(kept) + QUIET_MS
    assert seal_if_due(kept.archive, now_ms - 1) == 0
    assert seal_if_due(kept.archive, now_ms) == 2
    assert kept.archive.log.tails() == []
    assert len(kept.archive.current()) == 1


def test_a_segment_s_worth_does_not_wait_for_quiet(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [said("a", 0, f"crane {number}") for number in range(SEGMENT_FRAGMENTS_MAX - 1)]
    kept.append(*many)
    assert seal_if_due(kept.archive, newest_ms(kept)) == 0
    kept.append(said("b"))
    assert seal_if_due(kept.archive, newest_ms(kept)) == SEGMENT_FRAGMENTS_MAX

    kept.append(said("c"))
    monkeypatch.setattr(sealing, "SEGMENT_BYTES_MAX", 100)
    assert seal_if_due(kept.archive, newest_ms(kept)) == 1


def test_few_small_segments_stay(kept: Kept) -> None:
    for number in range(SMALL_MAX):
        kept.append(said("a", number), seal=True)
    before = kept.archive.current()
    assert merge_small(kept.archive) == 0
    assert kept.archive.current() == before


def test_many_small_segments_become_one_and_nothing_else_changes(kept: Kept) -> None:
    for number in range(SMALL_MAX + 1):
        kept.append(said(f"s{number % 3}", number), seal=True)
    hlcs = {
        f: hlc or logged.hlc for logged in kept.archive.log.since(0) for f, hlc in logged.manifest.fragments
    }
    changes = kept.index.connection.total_changes
    assert merge_small(kept.archive) == SMALL_MAX + 1
    assert len(kept.archive.current()) == len(list(kept.archive.segments.names())) == 1
    (merged,) = kept.archive.current().values()
    assert dict(merged.fragments) == hlcs, "a fragment keeps its clock"
    records = contents(kept)["records"]
    assert kept.follow().written == 0
    assert contents(kept)["records"] == records
    assert kept.index.connection.total_changes - changes < 3 * SMALL_MAX, "only places are noted"
    kept.letters()
    with kept.rebuilt() as fresh:
        assert contents(kept) == contents(fresh)


def test_merging_again_changes_nothing(kept: Kept) -> None:
    for number in range(SMALL_MAX + 1):
        kept.append(said("a", number), seal=True)
    merge_small(kept.archive)
    head = kept.archive.log.head()
    assert merge_small(kept.archive) == 0
    assert kept.archive.log.head() == head


def test_merged_segments_keep_to_the_size_of_one(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(SMALL_MAX + 2):
        kept.append(said("a", number), seal=True)
    monkeypatch.setattr(sealing, "SEGMENT_FRAGMENTS_MAX", 10)
    assert merge_small(kept.archive) == SMALL_MAX + 2
    sizes = [len(segment.fragments) for segment in kept.archive.current().values()]
    assert sizes == [10, 10, 10, 4]


def test_a_segment_that_would_stay_alone_is_left(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(SMALL_MAX + 1):
        kept.append(said("a", number), seal=True)
    monkeypatch.setattr(sealing, "SEGMENT_FRAGMENTS_MAX", 2)
    assert merge_small(kept.archive) == SMALL_MAX
    assert len(kept.archive.current()) == SMALL_MAX // 2 + 1


def test_large_segments_are_left(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(SMALL_MAX + 1):
        kept.append(said("a", number), seal=True)
    monkeypatch.setattr(sealing, "SMALL_BYTES", 10)
    assert merge_small(kept.archive) == 0


def test_a_reader_whose_index_was_not_told_finds_a_merged_fragment(kept: Kept) -> None:
    for number in range(SMALL_MAX + 1):
        kept.append(said("a", number), seal=True)
    merge_small(kept.archive)
    (row,) = kept.index.connection.execute("SELECT id FROM conversations").fetchone()
    found = kept.catalog.fragments(row)
    assert len(found) == SMALL_MAX + 1
