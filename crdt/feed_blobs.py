"""Rows about bytes that entries name and don't hold: fragments that wait for a segment, and what is wanted.

A fragment's bytes are beside the signed entry that names it, so that they can go once they are in a segment.
Manifests of other nodes name bytes that are elsewhere: those are wanted, until they come.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable

from crdt.errors import Damaged

_ADD_TAIL = """
INSERT INTO tails (sha256, hlc, body, taken) VALUES (?, ?, ?, 0)
ON CONFLICT (sha256) DO UPDATE SET hlc = min(hlc, excluded.hlc), taken = 0
"""
_TAKE_TAIL = """
INSERT INTO tails (sha256, hlc, body, taken)
SELECT ?1, min(e.hlc), ?2, 1 FROM wanted w JOIN entries e ON e.id = w.entry
WHERE w.sha256 = ?1 AND w.is_segment = 0 HAVING count(*) > 0
ON CONFLICT (sha256) DO NOTHING
"""
_AGE_TAIL = "UPDATE tails SET hlc = min(hlc, ?) WHERE sha256 = ?"
_DROP_TAIL = "DELETE FROM tails WHERE sha256 = ?"
_DROP_TAKEN = "DELETE FROM tails WHERE sha256 = ? AND taken = 1"
_HAS_TAIL = "SELECT 1 FROM tails WHERE sha256 = ?"
_TAIL = "SELECT body FROM tails WHERE sha256 = ?"
_TAILS = "SELECT sha256, hlc, length(body) FROM tails ORDER BY rowid"
_OWN_TAILS = "SELECT sha256, hlc, length(body) FROM tails WHERE taken = 0 ORDER BY rowid"
_WANT = "INSERT INTO wanted (sha256, entry, is_segment) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_HAVE = "DELETE FROM wanted WHERE sha256 = ? AND is_segment = ?"
_WANTED = """
SELECT DISTINCT w.sha256 FROM wanted w JOIN entries e ON e.id = w.entry
WHERE w.is_segment = ? AND e.void = 0 ORDER BY w.sha256
"""
_LACKING = "SELECT DISTINCT entry FROM wanted"

Tail = tuple[bytes, int, int]
"""A waiting fragment: hash, hybrid clock, size in bytes."""


class BlobTables:
    """Statements over one connection, within the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add_tails(self, tails: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Keep fragments of this node: hash, clock, bytes.  Of one that is known the smaller clock stays."""
        self._connection.executemany(_ADD_TAIL, tails)

    def drop_tails(self, fragments: Iterable[bytes]) -> None:
        """Drop fragments that wait no longer, since a segment of this node has them."""
        names = list(fragments)
        self._connection.executemany(_DROP_TAIL, ((sha256,) for sha256 in names))
        self.forget_fragments(names)

    def tail(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment, checked against its hash."""
        row = self._connection.execute(_TAIL, (fragment,)).fetchone()
        if row is None:
            return None
        data: bytes = row[0]
        if hashlib.sha256(data).digest() != fragment:
            raise Damaged(f"fragment {fragment.hex()} has other bytes than its name says")
        return data

    def tails(self) -> list[Tail]:
        """List all waiting fragments in the order in which they came."""
        return [(sha, hlc, size) for sha, hlc, size in self._connection.execute(_TAILS)]

    def own_tails(self) -> list[Tail]:
        """List the waiting fragments that this node has to seal."""
        return [(sha, hlc, size) for sha, hlc, size in self._connection.execute(_OWN_TAILS)]

    def want_segment(self, segment: bytes, fragments: Iterable[bytes], entry: int) -> None:
        """Want a segment that an entry of another node names; its fragments come with it."""
        self._connection.execute(_WANT, (segment, entry, True))
        self.forget_fragments(fragments)

    def want_fragments(self, fragments: Iterable[bytes], entry: int, hlc: int) -> None:
        """Want the fragments that an entry of another node names, but those that wait here as well."""
        for sha256 in fragments:
            if self._connection.execute(_HAS_TAIL, (sha256,)).fetchone() is None:
                self._connection.execute(_WANT, (sha256, entry, False))
            else:
                self._connection.execute(_AGE_TAIL, (hlc, sha256))

    def wanted_segments(self) -> list[bytes]:
        """List the segments that were wanted and did not come."""
        return [row[0] for row in self._connection.execute(_WANTED, (True,))]

    def wanted_fragments(self) -> list[bytes]:
        """List the fragments that were wanted and did not come; a segment that is here may have some."""
        return [row[0] for row in self._connection.execute(_WANTED, (False,))]

    def lacking(self) -> set[int]:
        """Tell the places of the entries that name bytes that are still wanted."""
        return {row[0] for row in self._connection.execute(_LACKING)}

    def take_fragment(self, fragment: bytes, data: bytes) -> bool:
        """Keep the bytes of a wanted fragment, which were checked; tell whether it was one."""
        is_new = self._connection.execute(_TAKE_TAIL, (fragment, data)).rowcount > 0
        self.forget_fragments([fragment])
        return is_new

    def take_segment(self, segment: bytes, fragments: Iterable[bytes]) -> None:
        """Want a segment no longer, which is durable now, nor what it holds and came from elsewhere."""
        self._connection.execute(_HAVE, (segment, True))
        self.forget_taken(fragments)

    def forget_taken(self, fragments: Iterable[bytes]) -> None:
        """Want fragments no longer, and drop those that came from elsewhere."""
        names = list(fragments)
        self._connection.executemany(_DROP_TAKEN, ((sha256,) for sha256 in names))
        self.forget_fragments(names)

    def forget_fragments(self, fragments: Iterable[bytes]) -> None:
        """Want fragments no longer."""
        self._connection.executemany(_HAVE, ((sha256, False) for sha256 in fragments))
