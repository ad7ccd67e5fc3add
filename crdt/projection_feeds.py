"""What the projection reads of the feeds: entries in commit order, and rosters.

`FeedReader` is the seam; `store.FeedStore` is behind it in a node, a list in memory in the simulator.
Places (`Committed.id`) rise strictly in the order in which this node committed, with gaps, and are never
given twice, not even after the newest entries are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from crdt import operations
from crdt.entries import Entry, EntryKind
from crdt.errors import BadInput
from crdt.operations import Operation, Stamped
from crdt.roster import Roster


class CommittedEntry(Protocol):
    """An entry with the place at which this node committed it."""

    @property
    def id(self) -> int:
        """The place."""
        ...

    @property
    def entry(self) -> Entry:
        """The entry."""
        ...


class FeedReader(Protocol):
    """Reading access to the feeds; sees what is committed, and nothing else."""

    def head(self) -> int:
        """Tell the place of the newest entry, 0 where there is none."""
        ...

    def opening(self, place: int) -> bytes:
        """Name the opening of the feeds for writing in which the entry at a place was committed.

        After an older copy of the feeds was put back, places are given a second time, perhaps to the same
        entry behind others; they are then of another opening.
        """
        ...

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[CommittedEntry]:
        """Walk the entries behind a place in commit order; closing the iterator early is fine."""
        ...

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Give the entries at those places; one that is not there is left out."""
        ...

    def voids(self, places: Sequence[int]) -> frozenset[int]:
        """Tell which of some places have a void entry: its author may not say it, by what is here now.

        Who asks for the roster and then for this knows whatever the roster voids.
        """
        ...

    def entry(self, sha256: bytes) -> CommittedEntry | None:
        """Find an entry by its hash."""
        ...

    def roster(self, space: bytes) -> Roster:
        """Give the roster as of all committed entries; the same object until there is more about members."""
        ...


def operation_of(entry: Entry) -> Operation | None:
    """Read the operation of a record's entry; None where its body was erased or can't be read."""
    if entry.body is None:
        return None
    try:
        return operations.decode(entry.body)
    except BadInput:
        return None


def stamp(entry: Entry, operation: Operation) -> Stamped:
    """Join an operation with what its entry says."""
    return Stamped(operation=operation, hash=entry.hash, author=entry.author, hlc=entry.hlc)


def valid(entries: Mapping[int, Entry], voids: Collection[int]) -> Iterator[Stamped]:
    """Give the readable operations among entries by their places, without those at void ones."""
    for place, entry in entries.items():
        operation = operation_of(entry) if entry.kind == EntryKind.RECORD else None
        if operation is not None and place not in voids:
            yield stamp(entry, operation)
