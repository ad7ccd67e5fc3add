"""Feeds in memory, the second implementation of what the projection reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from crdt.branches import strays
from crdt.entries import Entry, EntryKind
from crdt.feed_tables import Committed
from crdt.roster import Roster


class MemoryFeeds:
    """Keeps entries in a list, in the order in which they are taken; admits whatever it is given.

    Authors can erase the bodies of their own entries, before or after these arrive.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._committed: list[Committed] = []
        self._by_id: dict[int, Entry] = {}
        self._hashes: set[bytes] = set()
        self._members: dict[bytes, list[Entry]] = {}
        self._rosters: dict[bytes, Roster] = {}
        self._erased: set[tuple[bytes, bytes]] = set()
        self._head = 0
        self.take(entries)

    def take(self, entries: Iterable[Entry]) -> None:
        """Commit entries behind what is there; one that is there already is passed over."""
        for entry in entries:
            if entry.hash in self._hashes:
                continue
            self._hashes.add(entry.hash)
            self._head += 1
            self._committed.append(Committed(self._head, entry))
            self._by_id[self._head] = entry
            self._erase(entry)
            if entry.kind in (EntryKind.GENESIS, EntryKind.ROSTER):
                self._members.setdefault(entry.home, []).append(entry)
                self._rosters.pop(entry.home, None)

    def _erase(self, entry: Entry) -> None:
        """Drop the body that an entry erases, or its own where that was said before."""
        if entry.kind == EntryKind.ERASE and entry.body is not None:
            self._erased.add((entry.author, entry.body))
            target = self.entry(entry.body)
        else:
            target = self._committed[-1]
        if target is not None and (target.entry.author, target.entry.hash) in self._erased:
            bare = msgspec.structs.replace(target.entry, body=None)
            self._by_id[target.id] = bare
            self._committed[target.id - 1] = Committed(target.id, bare)

    def head(self) -> int:
        """Tell the place of the newest entry."""
        return self._head

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[Committed]:
        """Walk the entries behind a place."""
        for item in self._committed[after:]:
            if kinds is None or item.entry.kind in kinds:
                yield item

    def opening(self, _place: int) -> bytes:
        """Name the one opening that there is."""
        return b"memory"

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Give the entries at those places."""
        return {place: self._by_id[place] for place in ids if place in self._by_id}

    def voids(self, places: Sequence[int]) -> frozenset[int]:
        """Tell which of some places have a void entry, worked out from all entries."""
        return frozenset(
            place for place in places if place in self._by_id and self.is_void(self._by_id[place])
        )

    def is_void(self, entry: Entry) -> bool:
        """Tell whether an entry counts for nothing by what is here."""
        roster = self.roster(entry.home)
        if roster.is_void(entry.author, entry.inc, entry.seq):
            return True
        ends = roster.ends(entry.author, entry.inc)
        if not ends:
            return False
        of_feed = [item.entry for item in self._committed if item.entry.feed == entry.feed]
        within = [one for one in of_feed if not roster.is_void(one.author, one.inc, one.seq)]
        return entry.hash in strays(ends, {one.hash: one.prev for one in within})

    def entry(self, sha256: bytes) -> Committed | None:
        """Find an entry by its hash."""
        return next((item for item in self._committed if item.entry.hash == sha256), None)

    def roster(self, space: bytes) -> Roster:
        """Give the roster as of all entries."""
        if space not in self._rosters:
            self._rosters[space] = Roster.of(space, self._members.get(space, ()))
        return self._rosters[space]


class ChainedFeeds(MemoryFeeds):
    """Feeds in memory that commit an entry only behind the one that it follows, as a store does."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._waiting: dict[bytes, list[Entry]] = {}
        super().__init__(entries)

    def take(self, entries: Iterable[Entry]) -> None:
        """Commit entries behind what is there, and with each what has waited for it."""
        for entry in entries:
            ready = [entry]
            while ready:
                one = ready.pop()
                if one.seq > 1 and one.prev not in self._hashes:
                    self._waiting.setdefault(one.prev, []).append(one)
                else:
                    super().take([one])
                    ready += self._waiting.pop(one.hash, ())
