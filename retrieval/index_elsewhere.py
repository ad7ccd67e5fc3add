"""What the index notes of fragments whose bytes are not here, or not yet.

A fragment's clock is the smallest that any manifest gives it, whichever came first and wherever the bytes
are (ARCHIVE.md 3): a clock that is heard of before its fragment comes is kept until then.  A manifest of
another node whose bytes have not come is applied when they do, and one of any node whose bytes are damaged
when they are right again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

_ABSENT = "SELECT seq FROM absent ORDER BY seq"
_NOTE_ABSENT = "INSERT INTO absent (seq) VALUES (?) ON CONFLICT DO NOTHING"
_FORGET_ABSENT = "DELETE FROM absent WHERE seq = ?"
_KNOWN = "SELECT conversation, hlc FROM fragments WHERE sha256 = ?"
_LOWER = "UPDATE fragments SET hlc = ? WHERE sha256 = ?"
_HEAR = """
INSERT INTO heard (sha256, hlc) VALUES (?, ?) ON CONFLICT (sha256) DO UPDATE SET hlc = min(hlc, excluded.hlc)
"""
_HEARD = "SELECT hlc FROM heard WHERE sha256 = ?"
_FORGET_HEARD = "DELETE FROM heard WHERE sha256 = ?"


class Elsewhere:
    """The tables `absent` and `heard`, within the writer's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def absent(self) -> list[int]:
        """List the places of manifests whose bytes had not come, or were damaged, when they were applied."""
        return [row[0] for row in self._connection.execute(_ABSENT)]

    def note_absent(self, seq: int) -> None:
        """Note a manifest to come back to."""
        self._connection.execute(_NOTE_ABSENT, (seq,))

    def forget_absent(self, seq: int) -> None:
        """Note that all of a manifest's bytes came, or are wanted no longer."""
        self._connection.execute(_FORGET_ABSENT, (seq,))

    def hear(self, clocks: Iterable[tuple[bytes, int]]) -> set[int]:
        """Take in clocks of fragments that don't come with them; give the conversations that this changes."""
        changed: set[int] = set()
        for sha256, hlc in clocks:
            known = self._connection.execute(_KNOWN, (sha256,)).fetchone()
            if known is None:
                self._connection.execute(_HEAR, (sha256, hlc))
            elif hlc < known[1]:
                self._connection.execute(_LOWER, (hlc, sha256))
                changed.add(known[0])
        return changed

    def first_clocks(self, clocks: Mapping[bytes, int]) -> dict[bytes, int]:
        """Give the smallest clocks that fragments have, now that they come; what was heard is forgotten."""
        first = dict(clocks)
        for sha256, hlc in clocks.items():
            heard = self._connection.execute(_HEARD, (sha256,)).fetchone()
            if heard is not None:
                first[sha256] = min(hlc, heard[0])
                self._connection.execute(_FORGET_HEARD, (sha256,))
        return first
