"""Rows of `canonical/feeds.db`: feeds, their entries, and fragments that wait for a segment.

Every statement on these tables is here, and no decision: who calls has a connection, and a transaction
where it writes.  Faults of SQLite come through as they are; `store` and `feed_writer` translate them.

`entries.id` is the order in which this node committed, and the watermark of everything that follows.
Entries beyond the cut of a removed member are `void`: they stay, and count neither in a feed's head nor
among the manifests.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence

import msgspec

from crdt.entries import Entry, FeedId, parse
from crdt.errors import Damaged, EntryRefused

NAME = "canonical/feeds.db"

_HEAD = "SELECT coalesce(max(id), 0) FROM entries"
_LAST_HLC = "SELECT coalesce(max(hlc), 0) FROM entries"
_PAGE = "SELECT id, hash, header, body, signature FROM entries WHERE id > ? ORDER BY id LIMIT ?"
_PAGE_OF_KINDS = """
SELECT id, hash, header, body, signature FROM entries
WHERE id > ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?
"""
_MANIFESTS = """
SELECT id, hash, header, body, signature FROM entries INDEXED BY manifests
WHERE kind BETWEEN 4 AND 7 AND void = 0 AND id > ? ORDER BY id LIMIT ?
"""
_MANIFEST_HEAD = """
SELECT coalesce(max(id), 0) FROM entries INDEXED BY manifests WHERE kind BETWEEN 4 AND 7 AND void = 0
"""
_BY_HASH = "SELECT id, hash, header, body, signature FROM entries WHERE hash = ?"
_BY_IDS = """
SELECT id, hash, header, body, signature FROM entries
WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
"""
_OF_FEED = """
SELECT id, hash, header, body, signature FROM entries
WHERE feed = ? AND void = 0 AND (seq, hash) > (?, ?) ORDER BY seq, hash LIMIT ?
"""
_ROSTERS = """
SELECT id, hash, header, body, signature FROM entries INDEXED BY rosters
WHERE kind <= 2 AND feed IN (SELECT id FROM feeds WHERE space = ?) ORDER BY id
"""
_GENESES = """
SELECT id, hash, header, body, signature FROM entries INDEXED BY rosters
WHERE kind <= 2 AND kind = 1 ORDER BY id
"""
_ROSTER_HEAD = "SELECT id, hash FROM entries INDEXED BY rosters WHERE kind <= 2 ORDER BY id DESC LIMIT 1"
_ADD_FEED = "INSERT INTO feeds (space, author, inc) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_FEED = """
SELECT id, space, author, inc, seq, count, head, forked FROM feeds WHERE space = ? AND author = ? AND inc = ?
"""
_FEEDS = """
SELECT id, space, author, inc, seq, count, head, forked FROM feeds
WHERE ? IS NULL OR space = ? ORDER BY space, author, inc
"""
_ADD_ENTRY = """
INSERT INTO entries (id, feed, seq, hash, prev, hlc, kind, header, body, signature)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET_HEAD = "UPDATE feeds SET seq = ?, count = ?, head = ?, forked = ? WHERE id = ?"
_ADD_TAIL = """
INSERT INTO tails (sha256, hlc, body) VALUES (?, ?, ?)
ON CONFLICT (sha256) DO UPDATE SET hlc = min(hlc, excluded.hlc)
"""
_DROP_TAIL = "DELETE FROM tails WHERE sha256 = ?"
_TAIL = "SELECT body FROM tails WHERE sha256 = ?"
_TAILS = "SELECT sha256, hlc, length(body) FROM tails ORDER BY rowid"

Row = tuple[int, bytes, bytes, bytes | None, bytes]


class Committed(msgspec.Struct, frozen=True):
    """An entry with its place in the order in which this node committed."""

    id: int
    entry: Entry


class FeedHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is here of one feed, void entries apart.

    `seq` is the highest number and `count` how many entries there are.  `head` is the hash of the last
    entry; in a forked feed the SHA-256 over the sorted hashes that nothing follows.
    """

    feed: FeedId
    seq: int
    count: int
    head: bytes
    is_forked: bool


class FeedRow(msgspec.Struct, frozen=True):
    """A feed's head with the row that it is kept in."""

    id: int
    head: FeedHead


class FeedTables:
    """Statements over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def head(self) -> int:
        """Tell the place of the newest entry, 0 for none."""
        return self._number(_HEAD)

    def last_hlc(self) -> int:
        """Tell the highest reading of a clock among the entries, 0 for none."""
        return self._number(_LAST_HLC)

    def page(self, after: int, kinds: Sequence[int] | None, limit: int) -> list[Committed]:
        """Give the next entries after a place, of all kinds or of some."""
        if kinds is None:
            return self._entries(_PAGE, (after, limit))
        return self._entries(_PAGE_OF_KINDS, (after, _json(kinds), limit))

    def manifests(self, after: int, limit: int) -> list[Committed]:
        """Give the next manifests of the archive after a place, of all authors."""
        return self._entries(_MANIFESTS, (after, limit))

    def manifest_head(self) -> int:
        """Tell the place of the newest manifest, 0 for none."""
        return self._number(_MANIFEST_HEAD)

    def by_hash(self, sha256: bytes) -> Committed | None:
        """Find an entry by its hash."""
        return next(iter(self._entries(_BY_HASH, (sha256,))), None)

    def by_ids(self, ids: Sequence[int]) -> list[Committed]:
        """Find entries by their places."""
        return self._entries(_BY_IDS, (_json(ids),))

    def of_feed(self, feed: int, after: tuple[int, bytes], limit: int) -> list[Committed]:
        """Give the next entries of a feed, by its row, after a number and hash; void ones are left out."""
        return self._entries(_OF_FEED, (feed, *after, limit))

    def roster_entries(self, space: bytes) -> list[Entry]:
        """Give the genesis of a space and what was said about its members, void or not."""
        return [item.entry for item in self._entries(_ROSTERS, (space,))]

    def geneses(self) -> list[Committed]:
        """Give the first entry of every space."""
        return self._entries(_GENESES, ())

    def roster_head(self) -> tuple[int, bytes]:
        """Tell place and hash of the newest entry about membership; zeros for none."""
        found = self.connection.execute(_ROSTER_HEAD).fetchone()
        return (found[0], found[1]) if found else (0, b"")

    def feed(self, feed: FeedId) -> FeedRow | None:
        """Find a feed."""
        key = (feed.space, feed.author, _inc(feed.inc))
        return next(iter(self._feeds(_FEED, key)), None)

    def feeds(self, space: bytes | None) -> list[FeedRow]:
        """List the feeds of a space, or all, in the order of their ids."""
        return self._feeds(_FEEDS, (space, space))

    def add_entry(self, entry: Entry, place: int | None = None) -> int:
        """Add an entry that continues its feed, or begins it, and give its place, by default the next.

        Where it doesn't continue the feed, the caller measures the feed again.
        """
        feed = entry.feed
        row = self.feed(feed)
        if row is None:
            self.connection.execute(_ADD_FEED, (feed.space, feed.author, _inc(feed.inc)))
            row = self.feed(feed)
        if row is None:
            raise AssertionError("the feed was just made")
        values = (
            place, row.id, entry.seq, entry.hash, entry.prev, entry.hlc, entry.kind, entry.header, entry.body,
            entry.signature,
        )  # fmt: skip
        added = self.connection.execute(_ADD_ENTRY, values)
        before = row.head
        head = (max(entry.seq, before.seq), before.count + 1, entry.hash, before.is_forked)
        self.connection.execute(_SET_HEAD, (*head, row.id))
        return int(added.lastrowid or 0)

    def add_tails(self, tails: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Keep fragments that wait: hash, clock, bytes.  Of one that is known the smaller clock is kept."""
        self.connection.executemany(_ADD_TAIL, tails)

    def drop_tails(self, fragments: Iterable[bytes]) -> None:
        """Drop fragments that wait no longer."""
        self.connection.executemany(_DROP_TAIL, ((sha256,) for sha256 in fragments))

    def tail(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment, checked against its hash."""
        row = self.connection.execute(_TAIL, (fragment,)).fetchone()
        if row is None:
            return None
        data: bytes = row[0]
        if hashlib.sha256(data).digest() != fragment:
            raise Damaged(f"fragment {fragment.hex()} has other bytes than its name says")
        return data

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, oldest first: hash, clock, size in bytes."""
        return [(sha, hlc, size) for sha, hlc, size in self.connection.execute(_TAILS)]

    def _number(self, statement: str) -> int:
        return int(self.connection.execute(statement).fetchone()[0])

    def _entries(self, statement: str, parameters: tuple[object, ...]) -> list[Committed]:
        return [_committed(row) for row in self.connection.execute(statement, parameters).fetchall()]

    def _feeds(self, statement: str, parameters: tuple[object, ...]) -> list[FeedRow]:
        return [
            FeedRow(
                row,
                FeedHead(
                    feed=FeedId(space, author, int.from_bytes(inc, "big")),
                    seq=seq,
                    count=count,
                    head=head,
                    is_forked=bool(forked),
                ),
            )
            for row, space, author, inc, seq, count, head, forked in self.connection.execute(
                statement, parameters
            )
        ]


def walk(page: Callable[[int], list[Committed]], after: int) -> Iterable[Committed]:
    """Walk pages of entries, one at a time, so that no transaction stays open between two of them."""
    while found := page(after):
        yield from found
        after = found[-1].id


def _committed(row: Row) -> Committed:
    """Read an entry; raises `Damaged` for bytes that are not those that its hash names."""
    place, sha256, header, body, signature = row
    try:
        entry = parse(header + (body or b"") + signature, erased=body is None)
    except EntryRefused as error:
        raise Damaged(f"entry {place} of {NAME} can't be read ({error.detail})") from error
    if entry.hash != sha256:
        raise Damaged(f"entry {place} of {NAME} has other bytes than its hash says")
    return Committed(place, entry)


def _inc(inc: int) -> bytes:
    """Spell an incarnation: SQLite's integers have a sign, an incarnation has all 64 bits."""
    return inc.to_bytes(8, "big")


def _json(numbers: Sequence[int]) -> str:
    return msgspec.json.encode(list(numbers)).decode("ascii")
