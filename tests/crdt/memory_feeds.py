"""Feeds in memory, the second implementation of what the projection reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crdt.entries import Entry, EntryKind
from crdt.feed_tables import Committed
from crdt.roster import Roster


class MemoryFeeds:
    """Keeps entries in a list, in the order in which they are taken; admits whatever it is given."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._committed: list[Committed] = []
        self._by_id: dict[int, Entry] = {}
        self._hashes: set[bytes] = set()
        self._members: dict[bytes, list[Entry]] = {}
        self._rosters: dict[bytes, Roster] = {}
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
            if entry.kind in (EntryKind.GENESIS, EntryKind.ROSTER):
                self._members.setdefault(entry.home, []).append(entry)
                self._rosters.pop(entry.home, None)

    def head(self) -> int:
        """Tell the place of the newest entry."""
        return self._head

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[Committed]:
        """Walk the entries behind a place."""
        for item in self._committed[after:]:
            if kinds is None or item.entry.kind in kinds:
                yield item

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Give the entries at those places."""
        return {place: self._by_id[place] for place in ids if place in self._by_id}

    def roster(self, space: bytes) -> Roster:
        """Give the roster as of all entries."""
        if space not in self._rosters:
            self._rosters[space] = Roster.of(space, self._members.get(space, ()))
        return self._rosters[space]
