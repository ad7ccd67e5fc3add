"""Batches reach the archive, then the cursors, then the index; a failure between any two loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from archivist import batch
from archivist.batch import BatchWriter, CursorKey, Destination
from archivist.fragments import Made, seal
from archivist.known import KnownEvents
from archivist.providers.base import Cursor
from archivist.sealing import BULK_BYTES, BULK_CONVERSATIONS
from crdt.errors import DiskFull
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from retrieval.follow import ArchiveFollower
from tests.retrieval.follow_kit import Kept, contents

KEY: CursorKey = ("codex", "/root")


class Log:
    """Takes cursors, and notes what was in the archive and in the index when they came."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.cursors: dict[CursorKey, dict[str, Cursor]] = {}
        self.seen: list[tuple[bool, bool]] = []

    def save(self, key: CursorKey, cursors: Mapping[str, Cursor]) -> None:
        """Take cursors."""
        kept = self._kept
        self.seen.append((bool(kept.archive.log.head()), bool(kept.follower.watermark())))
        self.cursors.setdefault(key, {}).update(cursors)


def made(name: str, place: int = 0, text: str = "the crane") -> Made:
    """Make a fragment of one message."""
    conversation = conversation_id("codex", name)
    event = Event(
        id=event_id(conversation, f"m{place}"), kind=Kind.MESSAGE, role=Role.USER, text=text, seq=place,
        timestamp=f"2026-03-01T08:00:{place % 60:02d}.000Z",
    )  # fmt: skip
    fragment = Fragment(
        conversation_id=conversation, source="codex", source_id=name, origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl", redactor_version=1, events=[event],
    )  # fmt: skip
    return seal(fragment)


def writer(kept: Kept, log: Log) -> BatchWriter:
    """Make a writer."""
    destination = Destination(archive=kept.archive, follower=kept.follower, save_cursors=log.save)
    return BatchWriter(destination, KnownEvents(kept.catalog))


def names(kept: Kept) -> int:
    """Count the conversations that are indexed."""
    return int(
        kept.index.connection.execute("SELECT count(DISTINCT conversation) FROM records").fetchone()[0]
    )


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as found:
        yield found


@pytest.fixture
def log(kept: Kept) -> Log:
    """Give what takes cursors."""
    return Log(kept)


def test_cursors_come_after_the_archive_and_before_the_index(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        batches.add([made("a"), made("b")], KEY, "one.jsonl", Cursor(offset=7))
        batches.add([], KEY, "two.jsonl", Cursor(offset=9))
    assert log.seen == [(True, False)]
    assert log.cursors == {KEY: {"one.jsonl": Cursor(offset=7), "two.jsonl": Cursor(offset=9)}}
    assert kept.follower.watermark() == kept.archive.log.head()
    assert (batches.applied.written, len(batches.applied.conversations)) == (2, 2)
    assert batches.applied.tally.admitted == {"codex": 2}


def test_cursors_alone_are_saved_and_nothing_else_is_written(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        batches.add([], KEY, "one.jsonl", Cursor(offset=7))
    assert log.cursors == {KEY: {"one.jsonl": Cursor(offset=7)}}
    assert kept.archive.log.head() == 0


def test_a_run_without_anything_writes_nothing(kept: Kept, log: Log) -> None:
    with writer(kept, log):
        pass
    assert (log.cursors, kept.archive.log.head()) == ({}, 0)


def test_little_waits_and_much_is_sealed(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        batches.add([made("a")], KEY, "one.jsonl", Cursor())
    assert (len(kept.archive.log.tails()), kept.archive.current()) == (1, {})
    with writer(kept, log) as batches:
        batches.add([made("b", text="long " * (BULK_BYTES // 5))], KEY, "one.jsonl", Cursor())
    assert len(kept.archive.current()) == 1


def test_many_new_conversations_are_sealed_at_the_end_and_what_comes_to_them_later_waits(
    kept: Kept, log: Log
) -> None:
    few = [f"few{number}" for number in range(BULK_CONVERSATIONS - 1)]
    many = [f"many{number}" for number in range(BULK_CONVERSATIONS)]
    held = []
    for conversations, place in ((few, 0), (many, 0), (many, 1)):
        with writer(kept, log) as batches:
            for name in conversations:
                batches.add([made(name, place)], KEY, f"{name}.jsonl", Cursor())
        held.append((len(kept.archive.current()), len(kept.archive.log.tails())))
    assert held == [(0, len(few)), (1, len(few)), (1, len(few) + len(many))]
    assert names(kept) == len(few) + len(many)


def test_a_long_conversation_in_many_parts_is_one_new_one(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        for place in range(BULK_CONVERSATIONS):
            batches.add([made("a", place)], KEY, "a.jsonl", Cursor(offset=place))
    assert (len(kept.archive.log.tails()), kept.archive.current()) == (BULK_CONVERSATIONS, {})


def test_a_batch_ends_where_a_segment_would_be_full(
    kept: Kept, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "SEGMENT_FRAGMENTS_MAX", 2)
    with writer(kept, log) as batches:
        for number in range(5):
            batches.add([made(f"s{number}")], KEY, f"{number}.jsonl", Cursor(offset=number))
    assert [len(segment.fragments) for segment in kept.archive.current().values()] == [2, 2]
    assert len(kept.archive.log.tails()) == 1
    assert len(log.cursors[KEY]) == 5
    assert names(kept) == 5


def test_one_increment_larger_than_a_segment_is_a_batch_of_its_own(
    kept: Kept, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "SEGMENT_FRAGMENTS_MAX", 2)
    with writer(kept, log) as batches:
        batches.add([made("a")], KEY, "a.jsonl", Cursor())
        batches.add([made(f"s{number}") for number in range(3)], KEY, "b.jsonl", Cursor())
    assert [len(segment.fragments) for segment in kept.archive.current().values()] == [1]
    assert names(kept) == 4


def test_the_same_fragment_twice_in_a_batch_is_archived_once(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        batches.add([made("a")], KEY, "a.jsonl", Cursor())
        batches.add([made("a")], KEY, "b.jsonl", Cursor())
    assert len(kept.archive.log.tails()) == 1


def test_an_index_that_was_behind_catches_up_instead(kept: Kept, log: Log) -> None:
    kept.archive.append([made("older").body], seal=False)
    with writer(kept, log) as batches:
        batches.add([made("newer")], KEY, "a.jsonl", Cursor())
    assert kept.follower.watermark() == kept.archive.log.head()
    assert batches.applied.written == names(kept) == 2


def test_indexing_from_memory_equals_indexing_from_the_archive(kept: Kept, log: Log) -> None:
    with writer(kept, log) as batches:
        for number in range(6):
            batches.add([made(f"s{number % 2}", number)], KEY, f"{number}.jsonl", Cursor())
    kept.letters()
    with kept.rebuilt() as fresh:
        assert contents(kept, ("crane",)) == contents(fresh, ("crane",))


def test_an_error_in_the_block_drops_the_last_batch(kept: Kept, log: Log) -> None:
    def run() -> None:
        with writer(kept, log) as batches:
            batches.add([made("a")], KEY, "a.jsonl", Cursor())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (log.cursors, kept.archive.log.head()) == ({}, 0)


def fail(*_given: object, **_more: object) -> None:
    """Fail as a full disk does."""
    raise DiskFull("no space left")


@pytest.mark.parametrize(
    ("step", "reached"), [("archive", (False, False)), ("cursors", (True, False)), ("index", (True, True))]
)
def test_a_failure_between_two_steps_is_told_and_mended_by_the_next_run(
    kept: Kept, log: Log, monkeypatch: pytest.MonkeyPatch, step: str, reached: tuple[bool, bool]
) -> None:
    archived, saved = reached
    with monkeypatch.context() as patch:
        target, name = {
            "archive": (kept.archive, "append"),
            "cursors": (log, "save"),
            "index": (ArchiveFollower, "apply"),
        }[step]
        patch.setattr(target, name, fail)
        with pytest.raises(DiskFull), writer(kept, log) as batches:
            batches.add([made("a"), made("b")], KEY, "one.jsonl", Cursor(offset=7))
    assert bool(kept.archive.log.head()) is archived
    assert bool(log.cursors) is saved
    assert kept.follower.watermark() == 0

    kept.follow()
    known = KnownEvents(kept.catalog)
    again = [part for item in (made("a"), made("b")) if (part := known.new_part(item)) is not None]
    assert len(again) == (0 if archived else 2), "what the archive has is not taken again"
    with writer(kept, log) as batches:
        batches.add(again, KEY, "one.jsonl", Cursor(offset=7))
    assert names(kept) == len(kept.archive.log.tails()) == 2
    assert log.cursors == {KEY: {"one.jsonl": Cursor(offset=7)}}


def test_a_failed_write_ends_the_run_at_the_next_batch(
    kept: Kept, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "SEGMENT_FRAGMENTS_MAX", 1)
    monkeypatch.setattr(kept.archive, "append", fail)
    added: list[int] = []

    def run() -> None:
        with writer(kept, log) as batches:
            for number in range(10):
                batches.add([made(f"s{number}")], KEY, f"{number}.jsonl", Cursor())
                added.append(number)

    with pytest.raises(DiskFull):
        run()
    assert len(added) < 4
