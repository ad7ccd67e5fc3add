"""What the rows of the projection are level with: a place in the feeds, and the rosters of spaces.

The invariant that makes the order of arrival irrelevant: every row is reduced with exactly the standings
that are noted here, or it is marked stale.  Transactions are the caller's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

import msgspec

from crdt.entries import FeedId
from crdt.roster import Roster

STALE_BATCH = 500
_META = "SELECT value FROM meta WHERE key = ?"
_SET_META = "UPDATE meta SET value = ? WHERE key = ?"
_COUNT_META = "UPDATE meta SET value = value + ? WHERE key = ?"
_SPACES = "SELECT space FROM spaces"
_SPACE = "SELECT id FROM spaces WHERE space = ?"
_ADD_SPACE = "INSERT INTO spaces (space, kind, label) VALUES (?, ?, ?)"
_NAME_SPACE = "UPDATE spaces SET kind = ?, label = ? WHERE id = ?"
_STANDINGS = "SELECT author, standing FROM standings WHERE space = ?"
_PUT_STANDING = "INSERT OR REPLACE INTO standings (space, author, standing) VALUES (?, ?, ?)"
_DROP_STANDING = "DELETE FROM standings WHERE space = ? AND author = ?"
_MARK_AUTHOR = """
INSERT OR IGNORE INTO stale (record)
SELECT DISTINCT o.record FROM ops o JOIN records r ON r.row = o.record
WHERE r.space = ? AND o.author = (SELECT id FROM authors WHERE author = ?)
"""
_MARK_ENTRY = "INSERT OR IGNORE INTO stale (record) SELECT record FROM ops WHERE entry = ?"
_STALE = """
SELECT x.record, r.id, r.space, s.space, r.type FROM stale x JOIN records r ON r.row = x.record
JOIN spaces s ON s.id = r.space ORDER BY x.record LIMIT ?
"""
_ANY_STALE = "SELECT EXISTS (SELECT 1 FROM stale)"
_DROP_STALE = "DELETE FROM stale WHERE record = ?"


class Key(msgspec.Struct, frozen=True):
    """A record in this file: its id and the number of its space."""

    id: str
    space: int


class StaleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row to reduce again."""

    row: int
    key: Key
    space: bytes
    type: str


class Ledger:
    """Reads and notes what the rows are level with."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._database = connection
        self._numbers: dict[bytes, int] = {}

    def watermark(self) -> tuple[int, bytes]:
        """Give the place in the feeds that the rows are level with, and what was noted of the entry there."""
        rows = (self._database.execute(_META, (key,)).fetchone() for key in ("watermark", "watermark_hash"))
        (place,), (entry,) = rows
        return place, entry

    def set_watermark(self, place: int, mark: bytes) -> None:
        """Move the watermark."""
        self._database.executemany(_SET_META, ((place, "watermark"), (mark, "watermark_hash")))

    def count_unreadable(self, count: int) -> None:
        """Count entries of records that hold no operation."""
        if count:
            self._database.execute(_COUNT_META, (count, "unreadable"))

    def number(self, space: bytes) -> int:
        """Give the number of a space whose roster was taken."""
        number = self._numbers.get(space)
        if number is None:
            number = self._numbers[space] = int(self._database.execute(_SPACE, (space,)).fetchone()[0])
        return number

    def spaces(self) -> set[bytes]:
        """Name the spaces whose rosters were taken."""
        return {space for (space,) in self._database.execute(_SPACES)}

    def take_roster(self, roster: Roster, decided: Collection[FeedId]) -> None:
        """Note what the members of a space may do now; rows of those for whom that differs become stale.

        `decided` are the feeds of removed members all of whose ends are here.
        """
        if self._database.execute(_SPACE, (roster.space,)).fetchone() is None:
            self._database.execute(_ADD_SPACE, (roster.space, roster.kind, roster.label))
        (number,) = self._database.execute(_SPACE, (roster.space,)).fetchone()
        self._database.execute(_NAME_SPACE, (roster.kind, roster.label, number))
        known: dict[bytes, bytes] = dict(self._database.execute(_STANDINGS, (number,)))
        now = roster.standings()
        for feed in sorted(decided):
            now[feed.author] += feed.inc.to_bytes(8, "big")
        changed = [author for author, standing in now.items() if known.get(author) != standing]
        gone = known.keys() - now.keys()
        self._database.executemany(_PUT_STANDING, ((number, author, now[author]) for author in changed))
        self._database.executemany(_DROP_STANDING, ((number, author) for author in gone))
        self._database.executemany(_MARK_AUTHOR, ((number, author) for author in (*changed, *gone)))

    def mark_stale(self, place: int) -> None:
        """Have the record that the entry at a place is about reduced again."""
        self._database.execute(_MARK_ENTRY, (place,))

    def has_stale(self) -> bool:
        """Tell whether any row waits for being reduced again."""
        return bool(self._database.execute(_ANY_STALE).fetchone()[0])

    def stale(self) -> list[StaleRow]:
        """Give the next rows to reduce again, at most 500."""
        return [
            StaleRow(row=row, key=Key(name, number), space=space, type=kind)
            for row, name, number, space, kind in self._database.execute(_STALE, (STALE_BATCH,))
        ]

    def freshen(self, rows: list[StaleRow]) -> None:
        """Note that rows were reduced again."""
        self._database.executemany(_DROP_STALE, ((stale.row,) for stale in rows))
