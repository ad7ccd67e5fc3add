"""The rosters of all spaces in a store, folded when they are asked for and again after they changed."""

from __future__ import annotations

from crdt.errors import NotFound
from crdt.feed_tables import FeedTables
from crdt.roster import Roster, SpaceKind


class Rosters:
    """Rosters over one connection's rows; as safe for threads as that connection."""

    def __init__(self, tables: FeedTables) -> None:
        self._tables = tables
        self._head: tuple[int, bytes] | None = None
        self._folded: dict[bytes, Roster] = {}
        self._all: dict[bytes, Roster] | None = None
        self._own: dict[tuple[SpaceKind, bytes], bytes | None] = {}

    def of(self, space: bytes) -> Roster:
        """Give the roster of a space, the same object until something is said about its members.

        Raises `NotFound` for a space that is not here.
        """
        self._refresh()
        roster = self._folded.get(space)
        if roster is None:
            roster = self._folded[space] = Roster.of(space, self._tables.roster_entries(space))
        return roster

    def all(self) -> dict[bytes, Roster]:
        """Give the rosters of all spaces by their ids, in the order in which they came here."""
        self._refresh()
        if self._all is None:
            self._all = {item.entry.hash: self.of(item.entry.hash) for item in self._tables.geneses()}
        return self._all

    def find(self, space: bytes) -> Roster | None:
        """Give the roster of a space, None for one that is not here."""
        try:
            return self.of(space)
        except NotFound:
            return None

    def own(self, kind: SpaceKind, author: bytes) -> bytes | None:
        """Find the space of a kind that a key owns; of several the one whose genesis is the oldest."""
        self._refresh()
        key = (kind, author)
        if key not in self._own:
            self._own[key] = self._oldest(kind, author)
        return self._own[key]

    def local_author(self) -> bytes | None:
        """Tell whose store this is, for who has no key: a private space is never another node's."""
        owners = [roster.owner for roster in self.all().values() if roster.kind == "private"]
        return owners[-1] if owners else None

    def _oldest(self, kind: SpaceKind, author: bytes) -> bytes | None:
        owned = {
            space for space, roster in self.all().items() if (roster.kind, roster.owner) == (kind, author)
        }
        found = [item.entry for item in self._tables.geneses() if item.entry.hash in owned]
        return min(((entry.hlc, entry.hash) for entry in found), default=(0, None))[1]

    def _refresh(self) -> None:
        head = self._tables.roster_head()
        if head == self._head:
            return
        known = self._head or (0, b"")
        if self._tables.has(*known):
            for space in self._tables.roster_spaces(known[0]) & self._folded.keys():
                more = self._tables.roster_entries(space, known[0])
                self._folded[space] = self._folded[space].extended(more)
        else:
            # Where the newest entry is gone, with a transaction that failed, all may be different.
            self._folded.clear()
        self._head, self._all, self._own = head, None, {}
