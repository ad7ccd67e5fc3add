"""Entries that can't be committed yet: a predecessor, a membership or a moment is missing.

They are rows of the store, so that a restart keeps them, and bounded in all and by author: whoever has a
key could send any number.  Of too many the oldest to arrive go first; that they are asked for again is up
to whoever brings nodes level, since what is not committed is not in a feed's head.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from crdt.chains import Reason, Verdict
from crdt.entries import Entry, EntryKind, FeedId, parse

ENTRIES_MAX = 10_000
BYTES_MAX = 64 << 20
ENTRIES_OF_AUTHOR_MAX = 1_000

_PUT = """
INSERT INTO pending (hash, space, author, inc, prev, kind, reason, waits_for, due_ms, size, raw)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (hash) DO UPDATE SET reason = excluded.reason, waits_for = excluded.waits_for,
    due_ms = excluded.due_ms, size = excluded.size, raw = excluded.raw
    WHERE excluded.size >= size
"""
_DROP = "DELETE FROM pending WHERE hash = ?"
_ALL = "SELECT reason, raw FROM pending ORDER BY id"
_ANY = "SELECT 1 FROM pending LIMIT 1"
_WAITING_FOR = "SELECT raw FROM pending WHERE waits_for = ?"
_FIND = "SELECT raw FROM pending WHERE hash = ?"
_DUE = "SELECT raw FROM pending WHERE due_ms <= ?"
_AWAITED = "SELECT 1 FROM pending WHERE prev = ? AND space = ? AND author = ? AND inc = ?"
_ERASURES = "SELECT raw FROM pending WHERE kind = 9"
_TOTALS = "SELECT count(*), coalesce(sum(size), 0) FROM pending"
_OLDEST = "SELECT hash, size FROM pending ORDER BY id"
_SURPLUS_OF_AUTHOR = """
SELECT hash FROM pending WHERE author = ? ORDER BY id LIMIT max(0, (
    SELECT count(*) FROM pending WHERE author = ?) - ?)
"""


class PendingEntry(msgspec.Struct, frozen=True):
    """An entry that waits, and for what (`chains.DETAILS` words it)."""

    reason: Reason
    entry: Entry


class PendingTable:
    """The rows of waiting entries over one connection, within the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.dropped = 0
        """How many were dropped for want of room."""

    def all(self) -> Iterator[PendingEntry]:
        """List what waits, oldest first."""
        for reason, raw in self._connection.execute(_ALL).fetchall():
            yield PendingEntry(Reason(reason), _read(raw))

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return self._connection.execute(_ANY).fetchone() is None

    def put(self, verdicts: Iterable[Verdict]) -> None:
        """Keep entries that wait, and shed what is too much.

        One that is kept already is not younger for it, and does not lose its body to a copy without one.
        """
        authors = set()
        for verdict in verdicts:
            entry, feed = verdict.entry, verdict.entry.feed
            authors.add(entry.author)
            row = (
                entry.hash, feed.space, feed.author, _inc(feed), entry.prev, entry.kind,
                verdict.reason, verdict.waits_for, verdict.due_ms, len(entry.raw), entry.raw,
            )  # fmt: skip
            self._connection.execute(_PUT, row)
        self._shed(authors)

    def drop(self, entries: Iterable[Entry]) -> None:
        """Forget entries that wait no longer."""
        self._connection.executemany(_DROP, ((entry.hash,) for entry in entries))

    def ready(self, keys: Iterable[bytes]) -> list[Entry]:
        """Give what waits for any of these (`chains.keys_of`), and in turn what waits for that."""
        found: dict[bytes, Entry] = {}
        ahead = list(keys)
        while ahead:
            for entry in self._entries(_WAITING_FOR, (ahead.pop(),)):
                if entry.hash not in found:
                    found[entry.hash] = entry
                    ahead.append(entry.hash)
        return list(found.values())

    def find(self, sha256: bytes) -> list[Entry]:
        """Give the waiting entry of a hash, if there is one."""
        return self._entries(_FIND, (sha256,))

    def due(self, now_ms: int) -> list[Entry]:
        """Give what waited for its moment, and in turn what waits for that."""
        due = self._entries(_DUE, (now_ms,))
        return [*due, *self.ready(entry.hash for entry in due)]

    def is_awaited(self, feed: FeedId, sha256: bytes) -> bool:
        """Tell whether an entry of a feed waits that follows this one."""
        key = (sha256, feed.space, feed.author, _inc(feed))
        return self._connection.execute(_AWAITED, key).fetchone() is not None

    def erasures(self) -> list[Entry]:
        """Give the waiting entries that erase another's body."""
        return [entry for entry in self._entries(_ERASURES, ()) if entry.kind == EntryKind.ERASE]

    def _entries(self, statement: str, parameters: tuple[object, ...]) -> list[Entry]:
        return [_read(row[0]) for row in self._connection.execute(statement, parameters).fetchall()]

    def _shed(self, authors: Iterable[bytes]) -> None:
        for author in authors:
            surplus = (author, author, ENTRIES_OF_AUTHOR_MAX)
            self._forget([row[0] for row in self._connection.execute(_SURPLUS_OF_AUTHOR, surplus)])
        count, size = self._connection.execute(_TOTALS).fetchone()
        if count <= ENTRIES_MAX and size <= BYTES_MAX:
            return
        surplus_hashes = []
        for sha256, bytes_ in self._connection.execute(_OLDEST):
            if count <= ENTRIES_MAX and size <= BYTES_MAX:
                break
            surplus_hashes.append(sha256)
            count, size = count - 1, size - bytes_
        self._forget(surplus_hashes)

    def _forget(self, hashes: list[bytes]) -> None:
        self._connection.executemany(_DROP, ((sha256,) for sha256 in hashes))
        self.dropped += len(hashes)


def _read(raw: bytes) -> Entry:
    return parse(raw, erased=True)


def _inc(feed: FeedId) -> bytes:
    return feed.inc.to_bytes(8, "big")
