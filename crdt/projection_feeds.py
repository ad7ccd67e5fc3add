"""What the projection reads of the feeds: entries in commit order, and rosters.

`FeedReader` is the seam; `store.FeedStore` is behind it in a node, a list in memory in the simulator.
Places (`Committed.id`) rise strictly in the order in which this node committed, with gaps, and are never
given twice, not even after the newest entries are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[CommittedEntry]:
        """Walk the entries behind a place in commit order; closing the iterator early is fine."""
        ...

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Give the entries at those places; one that is not there is left out."""
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


def valid(entries: Iterable[Entry], roster: Roster) -> Iterator[Stamped]:
    """Give the readable operations among entries, without those beyond a cut."""
    for entry in entries:
        operation = operation_of(entry) if entry.kind == EntryKind.RECORD else None
        if operation is not None and not roster.is_void(entry.author, entry.inc, entry.seq):
            yield stamp(entry, operation)
