"""One step of the projection: what came in behind the watermark, grouped by record, reduced, written.

A record that is new is reduced from what came; one that is known is extended where every operation builds
on all there was, as most do, and otherwise reduced from all its operations, read back from the feeds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crdt.chains import is_end, place_of
from crdt.entries import EntryKind, FeedId
from crdt.operations import Stamped
from crdt.projection_feeds import CommittedEntry, FeedReader, operation_of, stamp, valid
from crdt.projection_ledger import Key, Ledger
from crdt.projection_rows import Found, Reduced, Rows
from crdt.records import RecordState, decode_state
from crdt.reducer import extend, reduce
from crdt.roster import Roster
from crdt.sqlite import transaction

BATCH_ENTRIES = 500
BATCH_BYTES_MAX = 8 << 20
"""A batch of large bodies ends early, so that memory stays bounded whatever was written."""
LOOKUP_PLACES = 128
"""So many operations are read back from the feeds at once; one can have half a mebibyte."""
_KINDS = (EntryKind.ROSTER, EntryKind.RECORD, EntryKind.ERASE)


class OtherFeeds(Exception):
    """The projection names an entry that the feeds don't have: it was made from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What follows the watermark; between its items and `end` lies nothing about records.

    `head` is the place of the newest entry when it was asked for, and at least `end`.
    """

    items: list[CommittedEntry]
    end: int
    end_mark: bytes
    head: int


@dataclass(slots=True, kw_only=True)
class _Arrived:
    """What came in about one record; `operations` (place and author) include those that are void."""

    type: str
    roster: Roster
    operations: list[tuple[int, bytes]] = field(default_factory=list)
    stamped: list[Stamped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The roster that a space's rows are reduced with, and which feeds of removed members it decides."""

    roster: Roster
    decided: frozenset[FeedId]

    @property
    def is_decided(self) -> bool:
        """Tell whether nothing that may still come makes other entries void."""
        return len(self.decided) == len(self.roster.all_ends())


class Follower:
    """Brings the rows behind one connection level with the feeds, a batch at a time; one thread only."""

    def __init__(self, connection: sqlite3.Connection, feeds: FeedReader) -> None:
        self.connection = connection
        self._feeds = feeds
        self._ledger = Ledger(connection)
        self._rows = Rows(connection)
        self._taken: dict[bytes, _Taken] = {}
        self._undecided: set[bytes] = set()
        self._is_begun = False

    def is_of_these_feeds(self) -> bool:
        """Tell whether the entry at the watermark is the one that the rows were made up to."""
        place, mark = self._ledger.watermark()
        return place == 0 or self._mark_at(place) == mark

    def next_batch(self) -> Batch | None:
        """Read what follows the watermark, at most 500 entries; None where the rows are level."""
        watermark, _ = self._ledger.watermark()
        head = self._feeds.head()
        if head <= watermark:
            return None
        items, is_last = _bounded(self._feeds.entries(watermark, _KINDS))
        last = items[-1].id if items else watermark
        end = max(head, last) if is_last else last
        return Batch(items=items, end=end, end_mark=self._mark_at(end), head=max(head, end))

    def apply(self, batch: Batch) -> int:
        """Reduce and write a batch; return how many operations it had."""
        if not self._is_begun:
            # What was left open by the process before may have been decided since.
            self._undecided |= self._ledger.spaces()
            self._is_begun = True
        spaces = {item.entry.home for item in batch.items} | self._undecided
        rosters = self._level(spaces)
        while self._ledger.has_stale():
            self.refresh()
            rosters = self._level(spaces)
        arrived = self._grouped(batch.items, rosters)
        reduced = self._reduced(arrived)
        applied = sum(len(new.operations) for new in arrived.values())
        records = sum(item.entry.kind == EntryKind.RECORD for item in batch.items)
        erased = self._erased(batch.items)
        with self._transaction():
            self._rows.put(reduced)
            for place in erased:
                self._ledger.mark_stale(place)
            self._ledger.count_unreadable(records - applied)
            self._ledger.set_watermark(batch.end, batch.end_mark)
        self.refresh()
        if erased:
            self._fold()
        return applied

    def refresh(self) -> None:
        """Reduce again what became stale, 500 records a transaction; a crash may have left some."""
        while stale := self._ledger.stale():
            rosters = self._level({row.space for row in stale})
            again = {row.key: _Arrived(type=row.type, roster=rosters[row.space]) for row in stale}
            reduced = self._reduced(again, is_stale=True)
            with self._transaction():
                self._rows.put(reduced)
                self._ledger.freshen(stale)

    def _erased(self, items: Iterable[CommittedEntry]) -> list[int]:
        """Give the places of what somebody erases; the feeds know whether he may, and then give no body."""
        named = (item.entry.body or b"" for item in items if item.entry.kind == EntryKind.ERASE)
        found = (self._feeds.entry(sha256) for sha256 in named)
        return [target.id for target in found if target is not None]

    def _fold(self) -> None:
        """Empty the log beside the file, which keeps what was erased; one that is read now empties later."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _level(self, spaces: Iterable[bytes]) -> dict[bytes, Roster]:
        """Give rosters that are noted as those that rows are reduced with from now on.

        Which entries are void is asked only afterwards: if more of them are by then, that is noted later, and
        has the rows reduced again.
        """
        taken = {space: self._take(space) for space in spaces}
        fresh = {space: now for space, now in taken.items() if self._taken.get(space) is not now}
        if fresh:
            with self._transaction():
                for now in fresh.values():
                    self._ledger.take_roster(now.roster, now.decided)
            self._taken |= fresh
        self._undecided -= taken.keys()
        self._undecided |= {space for space, now in taken.items() if not now.is_decided}
        return {space: now.roster for space, now in taken.items()}

    def _take(self, space: bytes) -> _Taken:
        """Ask what is true of a space now; gives what is noted where that is still so."""
        noted, roster = self._taken.get(space), self._feeds.roster(space)
        is_same = noted is not None and noted.roster is roster
        if noted is not None and is_same and noted.is_decided:
            return noted
        known = noted.decided if noted is not None and is_same else frozenset()
        decided = frozenset(
            feed
            for feed, ends in roster.all_ends().items()
            if feed in known or all(self._has(end, feed, roster) for end in ends)
        )
        return noted if noted is not None and is_same and decided == known else _Taken(roster, decided)

    def _has(self, sha256: bytes, feed: FeedId, roster: Roster) -> bool:
        found = self._feeds.entry(sha256)
        return found is not None and is_end(place_of(found.entry), feed, roster)

    def _grouped(
        self, items: Sequence[CommittedEntry], rosters: Mapping[bytes, Roster]
    ) -> dict[Key, _Arrived]:
        arrived: dict[Key, _Arrived] = {}
        voids = self._feeds.voids([item.id for item in items])
        for item in items:
            entry = item.entry
            operation = operation_of(entry) if entry.kind == EntryKind.RECORD else None
            if operation is None:
                continue
            roster = rosters[entry.space]
            key = Key(operation.id, self._ledger.number(entry.space))
            new = arrived.get(key)
            if new is None:
                new = arrived[key] = _Arrived(type=operation.type, roster=roster)
            new.operations.append((item.id, entry.author))
            if item.id not in voids:
                new.stamped.append(stamp(entry, operation))
        return arrived

    def _reduced(self, arrived: Mapping[Key, _Arrived], *, is_stale: bool = False) -> list[Reduced]:
        found = self._rows.find(arrived)
        states: dict[Key, RecordState | None] = {}
        for key, new in arrived.items():
            if key not in found:
                states[key] = reduce(new.stamped, new.roster)
            elif not is_stale and (grown := _grown(found[key], new)) is not None:
                states[key] = grown
        again = {found[key].row: key for key in arrived if key not in states}
        for row, earlier in self._read_back(again):
            new = arrived[again[row]]
            states[again[row]] = reduce([*earlier, *new.stamped], new.roster)
        return [
            Reduced(
                key=key, type=new.type, found=found.get(key), state=states[key], operations=new.operations
            )
            for key, new in arrived.items()
        ]

    def _read_back(self, rows: Iterable[int]) -> Iterator[tuple[int, list[Stamped]]]:
        """Give the valid operations on records that are known, record by record."""
        places = self._rows.places(list(rows))
        pairs = [(row, place) for row, of_row in places.items() for place in of_row]
        stamped: dict[int, list[Stamped]] = {}
        for start in range(0, len(pairs), LOOKUP_PLACES):
            some = pairs[start : start + LOOKUP_PLACES]
            wanted = [place for _, place in some]
            entries, voids = self._feeds.by_ids(wanted), self._feeds.voids(wanted)
            if len(entries) < len(some):
                raise OtherFeeds
            for row, place in some:
                stamped.setdefault(row, []).extend(valid({place: entries[place]}, voids))
            # Pairs lie record by record, so that all but the last one's are complete.
            yield from [(row, stamped.pop(row)) for row in list(stamped)[:-1]]
        yield from stamped.items()

    def _mark_at(self, place: int) -> bytes:
        """Tell what is at a place of these feeds, and nowhere in others."""
        entry = self._feeds.by_ids((place,)).get(place)
        return b"" if entry is None else entry.hash + self._feeds.opening(place)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with transaction(self.connection):
                yield
        except BaseException:
            self._rows.forget()
            raise


def _grown(found: Found, new: _Arrived) -> RecordState | None:
    """Extend a state by what came, in the order in which it came; None where that is not enough."""
    state = decode_state(found.state) if found.state is not None else None
    for stamped in new.stamped:
        if state is None:
            return None
        state = extend(state, stamped, new.roster)
    return state


def _bounded(walk: Iterator[CommittedEntry]) -> tuple[list[CommittedEntry], bool]:
    """Take a batch; tell whether nothing was left behind it."""
    items: list[CommittedEntry] = []
    size_bytes = 0
    for item in walk:
        items.append(item)
        size_bytes += len(item.entry.body or b"")
        if len(items) == BATCH_ENTRIES or size_bytes > BATCH_BYTES_MAX:
            return items, False
    return items, True
