"""Batches on their way into the archive and the index, one ahead of the reading.

A batch is filled while the one before it is written by a second thread: hashing, compression, fsync and
SQLite leave the interpreter free, so reading and writing use both cores.  Order is archive first, then the
cursors that say what was read, then the index: a crash between any two loses nothing, since what the
archive has is not taken again and what the index lacks it catches up on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from archivist.fragments import Made
from archivist.known import KnownEvents
from archivist.providers.base import Cursor
from archivist.sealing import is_bulk
from crdt.archive import Appended, Archive
from crdt.events import Fragment
from crdt.segments import SEGMENT_BYTES_MAX, SEGMENT_FRAGMENTS_MAX
from retrieval.follow import Applied, ArchiveFollower

CursorKey = tuple[str, str]
"""Provider and root."""
SaveCursors = Callable[[CursorKey, Mapping[str, Cursor]], None]


@dataclass(slots=True)
class _Batch:
    """Fragments that are written together, and the cursors that follow them."""

    made: list[Made] = field(default_factory=list)
    cursors: dict[CursorKey, dict[str, Cursor]] = field(default_factory=dict)
    size_bytes: int = 0

    def has_room_for(self, items: Sequence[Made]) -> bool:
        if not self.made:
            return True
        size = self.size_bytes + sum(len(item.body.data) for item in items)
        return size <= SEGMENT_BYTES_MAX and len(self.made) + len(items) <= SEGMENT_FRAGMENTS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where batches go."""

    archive: Archive
    follower: ArchiveFollower
    save_cursors: SaveCursors


class BatchWriter:
    """A context in which fragments are added; leaving it writes the last batch, or drops it on an error."""

    def __init__(self, destination: Destination, known: KnownEvents) -> None:
        self._to = destination
        self._known = known
        self._batch = _Batch()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        self._in_flight: Future[None] | None = None
        self._added_bytes = 0
        self._begun = 0
        self.applied = Applied()

    def __enter__(self) -> Self:
        """Start with an empty batch."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left, unless something went wrong; wait for the write that is under way."""
        try:
            if kind is None:
                self._flush(is_last=True)
            self._wait()
        finally:
            self._pool.shutdown(wait=True)

    def add(self, items: Sequence[Made], key: CursorKey, path: str, cursor: Cursor) -> None:
        """Add the fragments of one increment and the cursor that follows it; both are written together."""
        if not self._batch.has_room_for(items):
            self._flush(is_last=False)
        self._batch.made += items
        size_bytes = sum(len(item.body.data) for item in items)
        self._batch.size_bytes += size_bytes
        self._added_bytes += size_bytes
        self._begun += self._count_new(items)
        self._batch.cursors.setdefault(key, {})[path] = cursor
        self._known.add(items)

    def _count_new(self, items: Sequence[Made]) -> int:
        """Count the conversations of which nothing is known yet, neither from before nor from this run."""
        conversations = {item.fragment.conversation_id for item in items}
        return sum(not self._known.has_conversation(identity) for identity in conversations)

    def _flush(self, *, is_last: bool) -> None:
        self._wait()
        batch, self._batch = self._batch, _Batch()
        seal = not is_last or is_bulk(self._begun, self._added_bytes)
        self._in_flight = self._pool.submit(self._write, batch, seal)

    def _wait(self) -> None:
        if self._in_flight is not None:
            in_flight, self._in_flight = self._in_flight, None
            in_flight.result()

    def _write(self, batch: _Batch, seal: bool) -> None:
        fragments = {item.body.sha256: item for item in batch.made}
        bodies = [item.body for item in fragments.values()]
        appended = self._to.archive.append(bodies, seal=seal)
        for key, cursors in batch.cursors.items():
            self._to.save_cursors(key, cursors)
        if bodies:
            self._index(appended, {sha256: item.fragment for sha256, item in fragments.items()})
        self._known.forget(batch.made)

    def _index(self, appended: Appended, fragments: Mapping[str, Fragment]) -> None:
        """Index from memory what was just archived; where the index was behind, let it catch up instead."""
        follower = self._to.follower
        logged = next(self._to.archive.log.since(follower.watermark()), None)
        if logged is None or logged.seq != appended.seq:
            self._merge(follower.catch_up())
            return
        items = [(stored, fragments[stored.sha256]) for stored in appended.stored]
        follower.apply(logged, items, self.applied)

    def _merge(self, applied: Applied) -> None:
        self.applied.written += applied.written
        self.applied.conversations |= applied.conversations
        self.applied.tally.add(applied.tally)
