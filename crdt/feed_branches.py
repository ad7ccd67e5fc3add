"""Where feeds end, and which of their entries are void: statements over the rows of entries.

Feeds are named by their rows.  Void entries stay, and count neither in a feed's head nor among the manifests.
"""

from __future__ import annotations

import hashlib
import sqlite3

from crdt.branches import strays

_TOP = "SELECT coalesce(max(seq), 0), count(*) FROM entries WHERE feed = ?"
_EXTENT = "SELECT coalesce(max(seq), 0), count(*) FROM entries WHERE feed = ? AND void = 0"
_LEAVES = """
SELECT hash FROM entries WHERE feed = ?1 AND void = 0
    AND hash NOT IN (SELECT prev FROM entries WHERE feed = ?1 AND void = 0) ORDER BY hash
"""
_VOID = "UPDATE entries SET void = 1 WHERE feed = ? AND seq > ? AND void = 0"
_UNVOID = "UPDATE entries SET void = 0 WHERE feed = ? AND seq <= ? AND void = 1"
_SEQ = "SELECT seq FROM entries WHERE hash = ? AND feed = ? AND seq <= ?"
_LINKS = "SELECT id, seq, hash, prev, void FROM entries WHERE feed = ?"
_SET_VOID = "UPDATE entries SET void = ? WHERE id = ?"
_IS_VOID = "SELECT void FROM entries WHERE hash = ?"


class BranchTables:
    """Statements over one connection, within the caller's transaction where they write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def top(self, feed: int) -> int:
        """Tell the highest number in a feed, void ones too."""
        return self._extent(_TOP, feed)[0]

    def leaves(self, feed: int) -> list[bytes]:
        """Give the hashes in a feed that nothing follows, sorted, without void ones."""
        return [row[0] for row in self._connection.execute(_LEAVES, (feed,))]

    def measure(self, feed: int) -> tuple[int, int, bytes, bool]:
        """Tell highest number, count, head, and whether the feed is forked, void entries apart."""
        seq, count = self._extent(_EXTENT, feed)
        leaves = b"".join(self.leaves(feed))
        is_forked = count > seq
        return seq, count, hashlib.sha256(leaves).digest() if is_forked else leaves, is_forked

    def void(self, feed: int, cut: int, ends: frozenset[bytes]) -> bool:
        """Make void what lies beyond a cut or leads to none of the ends, and nothing else.

        Tells whether that changed any.
        """
        top, count = self._extent(_TOP, feed)
        if ends and count > top:
            return self._void_strays(feed, cut, ends)
        places = [self._connection.execute(_SEQ, (end, feed, cut)).fetchone() for end in ends]
        if places and all(places):
            # Of one branch, all that leads to none of the ends is behind the last.
            cut = min(cut, max(seq for (seq,) in places))
        voided = self._connection.execute(_VOID, (feed, cut)).rowcount
        return voided + self._connection.execute(_UNVOID, (feed, cut)).rowcount > 0

    def is_void(self, sha256: bytes) -> bool | None:
        """Tell whether an entry is void; None for one that is not here."""
        found = self._connection.execute(_IS_VOID, (sha256,)).fetchone()
        return None if found is None else bool(found[0])

    def _void_strays(self, feed: int, cut: int, ends: frozenset[bytes]) -> bool:
        rows = self._connection.execute(_LINKS, (feed,)).fetchall()
        within = {sha256: prev for _, seq, sha256, prev, _ in rows if seq <= cut}
        counting = within.keys() - strays(ends, within)
        wanted = [(int(sha256 not in counting), place) for place, _, sha256, _, _ in rows]
        changed = [new for new, (*_, void) in zip(wanted, rows, strict=True) if new[0] != void]
        self._connection.executemany(_SET_VOID, changed)
        return bool(changed)

    def _extent(self, statement: str, feed: int) -> tuple[int, int]:
        top, count = self._connection.execute(statement, (feed,)).fetchone()
        return top, count
