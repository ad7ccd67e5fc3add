"""Which records are superseded, and by which: `records.superseded_by`, kept as edges and records come and go.

An edge leads from a newer record to the older one that it replaces.  Chains are followed through records
that are not in the index, to those that are and that nothing in the index replaces; of several the smallest
id counts.  Nodes that know nothing of each other can close a circle of edges: who has no end beyond the
circle is not superseded, so that no record vanishes behind itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping

Edge = tuple[bytes, bytes]
"""The ids of a newer record and of the older one that it replaces."""

_EVERY = "SELECT space, edge FROM supersedes"
_ANY = "SELECT EXISTS (SELECT 1 FROM supersedes)"
_FIND = "SELECT newer, older FROM supersedes WHERE space = ? AND edge = ?"
_PUT = "INSERT OR REPLACE INTO supersedes (space, edge, newer, older) VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM supersedes WHERE space = ? AND edge = ?"
_NEWER = "SELECT newer FROM supersedes WHERE older = ?"
_OLDER = "SELECT older FROM supersedes WHERE newer = ?"
_IS_PRESENT = "SELECT 1 FROM records WHERE record_id = ?"
_SETTLE = "UPDATE records SET superseded_by = ?1 WHERE record_id = ?2 AND superseded_by IS NOT ?1"


class Supersessions:
    """The edges of the index, within its writer's transactions; `settle` once before each ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._moved: list[bytes] = []
        self._ends: set[bytes] = set()

    def put(self, space: bytes, edge: str, newer: bytes, older: bytes) -> None:
        """Keep an edge, named by its space and its id."""
        self.drop(space, edge)
        self._connection.execute(_PUT, (space, edge, newer, older))
        self._ends |= {newer, older}

    def drop(self, space: bytes, edge: str) -> None:
        """Forget an edge, known or not."""
        for ends in self._connection.execute(_FIND, (space, edge)).fetchall():
            self._ends.update(ends)
        self._connection.execute(_DROP, (space, edge))

    def every(self) -> list[tuple[bytes, str]]:
        """Name all edges, by space and id."""
        return self._connection.execute(_EVERY).fetchall()

    def moved(self, record_ids: Iterable[bytes]) -> None:
        """Note records that come into the index or leave it."""
        self._moved.extend(record_ids)

    def settle(self) -> None:
        """Write what is superseded by what, for all that edges and records of this transaction bear on."""
        has_edges = self._connection.execute(_ANY).fetchone()[0]
        touched = self._ends | {
            identity for identity in self._moved if has_edges and self._has_edge(identity)
        }
        self.forget()
        edges = set(self._edges_around(touched))
        known = touched.union(*edges)
        present = {identity for identity in known if self._is(_IS_PRESENT, identity)}
        newest = newest_of(edges, present)
        self._connection.executemany(_SETTLE, ((newest.get(identity), identity) for identity in known))

    def forget(self) -> None:
        """Drop what was noted, as when a transaction was rolled back."""
        self._moved.clear()
        self._ends.clear()

    def _edges_around(self, start: Collection[bytes]) -> Iterator[Edge]:
        """Give every edge that hangs together with these records."""
        seen, waiting = set(start), list(start)
        while waiting:
            record = waiting.pop()
            newer = [row[0] for row in self._connection.execute(_NEWER, (record,))]
            older = [row[0] for row in self._connection.execute(_OLDER, (record,))]
            yield from ((other, record) for other in newer)
            fresh = {*newer, *older} - seen
            seen |= fresh
            waiting.extend(fresh)

    def _has_edge(self, identity: bytes) -> bool:
        return self._is(_NEWER, identity) or self._is(_OLDER, identity)

    def _is(self, statement: str, identity: bytes) -> bool:
        return self._connection.execute(statement, (identity,)).fetchone() is not None


def newest_of(edges: Iterable[Edge], present: Collection[bytes]) -> dict[bytes, bytes]:
    """Tell of every superseded record which one stands in its place; `present` are those in the index."""
    older: dict[bytes, list[bytes]] = {}
    for new, old in edges:
        if new != old:
            older.setdefault(new, []).append(old)
    replaced: set[bytes] = set()
    for record in present:
        replaced.update(_below(record, older, replaced))
    newest: dict[bytes, bytes] = {}
    for record in sorted(set(present) - replaced):
        newest |= dict.fromkeys(_below(record, older, newest), record)
    return newest


def _below(record: bytes, older: Mapping[bytes, Iterable[bytes]], known: Collection[bytes]) -> set[bytes]:
    """Find what a record replaces at once or through others, short of what is known already."""
    found: set[bytes] = set()
    waiting = [record]
    while waiting:
        fresh = {old for old in older.get(waiting.pop(), ()) if old not in known and old not in found}
        found |= fresh
        waiting.extend(fresh)
    return found
