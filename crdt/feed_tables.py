"""Rows of `canonical/feeds.db`: feeds and their entries.

Every statement on these tables is here, and no decision: who calls has a connection, and a transaction
where it writes.  Faults of SQLite come through as they are; `store` and `feed_writer` translate them.

`entries.id` is the order in which this node committed, and the watermark of everything that follows.  After
an older copy of the file was put back, places are given again; `openings` tells that apart.  Which entries
are void is told by `feed_branches`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from crdt.chains import Place
from crdt.entries import Entry, FeedId, parse
from crdt.errors import Damaged, EntryRefused

NAME = "canonical/feeds.db"

_HEAD = "SELECT coalesce(max(id), 0) FROM entries"
_BEGIN = """
INSERT INTO openings (place, token) SELECT (SELECT coalesce(max(id), 0) + 1 FROM entries), ?1
WHERE NOT EXISTS (SELECT 1 FROM openings WHERE token = ?1)
ON CONFLICT (place) DO UPDATE SET token = excluded.token
"""
_OPENING = "SELECT token FROM openings WHERE place <= ? ORDER BY place DESC LIMIT 1"
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
_VOIDS = "SELECT id FROM entries WHERE id IN (SELECT value FROM json_each(?)) AND void = 1"
_BY_IDS = """
SELECT id, hash, header, body, signature FROM entries
WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
"""
_OF_FEED = """
SELECT id, hash, header, body, signature FROM entries
WHERE feed = ? AND void = 0 AND (seq, hash) > (?, ?) ORDER BY seq, hash LIMIT ?
"""
_BYTES_OF_FEED = """
SELECT seq, hash, header, body, signature FROM entries
WHERE feed = ? AND void = 0 AND (seq, hash) > (?, ?) ORDER BY seq, hash LIMIT ?
"""
_ROSTERS = """
SELECT id, hash, header, body, signature FROM entries INDEXED BY rosters
WHERE kind <= 2 AND feed IN (SELECT id FROM feeds WHERE space = ?) AND id > ? ORDER BY id
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
_ROSTER_SPACES = """
SELECT DISTINCT space FROM feeds WHERE id IN (
    SELECT feed FROM entries INDEXED BY rosters WHERE kind <= 2 AND id > ?)
"""
_HAS = "SELECT 1 FROM entries WHERE id = ? AND hash = ?"
_PLACE = """
SELECT f.space, f.author, f.inc, e.seq, e.hlc FROM entries e JOIN feeds f ON f.id = e.feed WHERE e.hash = ?
"""
_TAKEN = """
SELECT 1 FROM entries WHERE seq = ?4
    AND feed = (SELECT id FROM feeds WHERE space = ?1 AND author = ?2 AND inc = ?3)
"""
_PROBE = (
    "INSERT INTO tails (sha256, hlc, body) VALUES (x'', 0, x'')",
    "DELETE FROM tails WHERE sha256 = x''",
)
_ERASE = "UPDATE entries SET body = NULL WHERE id = ?"
_ANY_ERASURE = "SELECT 1 FROM entries WHERE kind = 9 LIMIT 1"
_ALL_ERASURES = """
SELECT id, hash, header, body, signature FROM entries
WHERE kind = 9 AND feed IN (SELECT id FROM feeds WHERE space = ?) ORDER BY id
"""
_RESTORE = """
UPDATE entries SET id = (SELECT max(id) + 1 FROM entries), body = ?
WHERE hash = ? AND body IS NULL AND void = 0
"""
_IS_BARE = "SELECT 1 FROM entries WHERE hash = ? AND body IS NULL AND void = 0"
_ERASURES = "SELECT id, hash, header, body, signature FROM entries WHERE kind = 9 AND body = ?"
_SET_HEAD = "UPDATE feeds SET seq = ?, count = ?, head = ?, forked = ? WHERE id = ?"

Row = tuple[int, bytes, bytes, bytes | None, bytes]
FeedValues = tuple[int, bytes, bytes, bytes, int, int, bytes, int]


class Committed(msgspec.Struct, frozen=True):
    """An entry with its place in the order in which this node committed."""

    id: int
    entry: Entry


class StoredBytes(msgspec.Struct, frozen=True):
    """The bytes of an entry as they lie in the store, whether or not they are what they should be."""

    seq: int
    hash: bytes
    header: bytes
    body: bytes | None
    signature: bytes


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

    def probe(self) -> None:
        """Write something and take it away, so that the commit has a page to bring to the disk."""
        for statement in _PROBE:
            self.connection.execute(statement)

    def head(self) -> int:
        """Tell the place of the newest entry, 0 for none."""
        return self._number(_HEAD)

    def begin_opening(self, token: bytes) -> None:
        """Note that an opening of the store commits from the next place on; once for all of its commits."""
        self.connection.execute(_BEGIN, (token,))

    def opening(self, place: int) -> bytes:
        """Tell which opening of the store committed what is at a place; empty where that was not noted."""
        found = self.connection.execute(_OPENING, (place,)).fetchone()
        return b"" if found is None else bytes(found[0])

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

    def voids(self, ids: Sequence[int]) -> frozenset[int]:
        """Tell which of some places have a void entry."""
        return frozenset(row[0] for row in self.connection.execute(_VOIDS, (_json(ids),)))

    def of_feed(self, feed: int, after: tuple[int, bytes], limit: int) -> list[Committed]:
        """Give the next entries of a feed, by its row, after a number and hash; void ones are left out."""
        return self._entries(_OF_FEED, (feed, *after, limit))

    def bytes_of_feed(self, feed: int, after: tuple[int, bytes], limit: int) -> list[StoredBytes]:
        """Do as `of_feed`, without a look at the bytes."""
        rows = self.connection.execute(_BYTES_OF_FEED, (feed, *after, limit)).fetchall()
        return [
            StoredBytes(
                seq, sha256, _readable(header), None if body is None else _readable(body), _readable(said)
            )
            for seq, sha256, header, body, said in rows
        ]

    def roster_entries(self, space: bytes, after: int = 0) -> list[Entry]:
        """Give the genesis of a space and what was said about its members after a place, void or not."""
        return [item.entry for item in self._entries(_ROSTERS, (space, after))]

    def geneses(self) -> list[Committed]:
        """Give the first entry of every space."""
        return self._entries(_GENESES, ())

    def roster_head(self) -> tuple[int, bytes]:
        """Tell place and hash of the newest entry about membership; zeros for none."""
        found = self.connection.execute(_ROSTER_HEAD).fetchone()
        return (found[0], found[1]) if found else (0, b"")

    def roster_spaces(self, after: int) -> set[bytes]:
        """Tell of which spaces something about membership was said after a place."""
        return {row[0] for row in self.connection.execute(_ROSTER_SPACES, (after,))}

    def has(self, place: int, sha256: bytes) -> bool:
        """Tell whether this very entry is at a place."""
        return self.connection.execute(_HAS, (place, sha256)).fetchone() is not None

    def place(self, sha256: bytes) -> Place | None:
        """Tell where an entry stands in its feed."""
        row = self.connection.execute(_PLACE, (sha256,)).fetchone()
        if row is None:
            return None
        space, author, inc, seq, hlc = row
        return Place(FeedId(space, author, int.from_bytes(inc, "big")), seq, hlc)

    def is_taken(self, feed: FeedId, seq: int) -> bool:
        """Tell whether there is an entry of that number in a feed."""
        key = (feed.space, feed.author, _inc(feed.inc), seq)
        return self.connection.execute(_TAKEN, key).fetchone() is not None

    def set_head(self, feed: int, head: tuple[int, int, bytes, bool]) -> None:
        """Note where a feed ends: highest number, count, head, and whether it is forked."""
        self.connection.execute(_SET_HEAD, (*head, feed))

    def erase(self, place: int) -> None:
        """Drop the body of an entry."""
        self.connection.execute(_ERASE, (place,))

    def has_erasures(self) -> bool:
        """Tell whether anything was ever erased."""
        return self.connection.execute(_ANY_ERASURE).fetchone() is not None

    def all_erasures(self, space: bytes) -> list[Entry]:
        """Give everything that erases something in a space."""
        return [item.entry for item in self._entries(_ALL_ERASURES, (space,))]

    def is_bare(self, sha256: bytes) -> bool:
        """Tell whether an entry is here without its body."""
        return self.connection.execute(_IS_BARE, (sha256,)).fetchone() is not None

    def restore(self, sha256: bytes, body: bytes) -> None:
        """Give an erased entry its body back, at a new place, so that whoever follows the store sees it."""
        self.connection.execute(_RESTORE, (body, sha256))

    def erasures(self, sha256: bytes) -> list[Entry]:
        """Give the entries that say that another's body is erased."""
        return [item.entry for item in self._entries(_ERASURES, (sha256,))]

    def feed(self, feed: FeedId) -> FeedRow | None:
        """Find a feed."""
        key = (feed.space, feed.author, _inc(feed.inc))
        return next(iter(self._feeds(_FEED, key)), None)

    def feeds(self, space: bytes | None) -> list[FeedRow]:
        """List the feeds of a space, or all, in the order of their ids."""
        return self._feeds(_FEEDS, (space, space))

    def add_entry(self, entry: Entry, place: int | None = None) -> int:
        """Add an entry that continues its feed, or begins it, and give its place, by default the next."""
        row = self._row(entry.feed)
        added = self._insert(entry, row, place)
        head = row.head
        self.set_head(row.id, (max(entry.seq, head.seq), head.count + 1, entry.hash, head.is_forked))
        return added

    def add_entries(self, entries: Iterable[Entry]) -> tuple[list[Committed], set[FeedId]]:
        """Add entries, each behind the one that it follows.

        Gives them with their places, and the feeds that they did not simply continue: those have to be
        measured (`BranchTables.measure`).
        """
        rows: dict[FeedId, FeedRow] = {}
        ends: dict[FeedId, tuple[int, int, bytes, bool]] = {}
        committed: list[Committed] = []
        branched: set[FeedId] = set()
        for entry in entries:
            feed = entry.feed
            if feed not in rows:
                row = rows[feed] = self._row(feed)
                ends[feed] = (row.head.seq, row.head.count, row.head.head, row.head.is_forked)
            committed.append(Committed(self._insert(entry, rows[feed], None), entry))
            seq, count, head, is_forked = ends[feed]
            if count and head != entry.prev:
                branched.add(feed)
            ends[feed] = (max(seq, entry.seq), count + 1, entry.hash, is_forked)
        for feed, end in ends.items():
            self.set_head(rows[feed].id, end)
        return committed, branched

    def _row(self, feed: FeedId) -> FeedRow:
        """Find or make the row of a feed."""
        row = self.feed(feed)
        if row is None:
            self.connection.execute(_ADD_FEED, (feed.space, feed.author, _inc(feed.inc)))
            row = self.feed(feed)
        if row is None:
            raise AssertionError("the feed was just made")
        return row

    def _insert(self, entry: Entry, row: FeedRow, place: int | None) -> int:
        values = (
            place, row.id, entry.seq, entry.hash, entry.prev, entry.hlc, entry.kind, entry.header, entry.body,
            entry.signature,
        )  # fmt: skip
        return int(self.connection.execute(_ADD_ENTRY, values).lastrowid or 0)

    def _number(self, statement: str) -> int:
        return int(self.connection.execute(statement).fetchone()[0])

    def _entries(self, statement: str, parameters: tuple[object, ...]) -> list[Committed]:
        return [_committed(row) for row in self.connection.execute(statement, parameters).fetchall()]

    def _feeds(self, statement: str, parameters: tuple[object, ...]) -> list[FeedRow]:
        return [_feed(row) for row in self.connection.execute(statement, parameters)]


def _feed(values: FeedValues) -> FeedRow:
    """Read a feed's row; raises `Damaged` for one that was never written so."""
    row, space, author, inc, seq, count, head, forked = values
    if not (_are_bytes(space, author, inc, head) and type(seq) is type(count) is int):
        raise Damaged(f"feed {row} of {NAME} is not as it was written")
    feed = FeedId(space, author, int.from_bytes(inc, "big"))
    return FeedRow(row, FeedHead(feed=feed, seq=seq, count=count, head=head, is_forked=bool(forked)))


def _are_bytes(*values: object) -> bool:
    """Tell whether values are bytes: the type of a value is a byte of its page, which may be damaged too."""
    return all(type(value) is bytes for value in values)


def _readable(value: object) -> bytes:
    """Give stored bytes; what became another type is no bytes that any hash names."""
    return value if isinstance(value, bytes) else b""


def _committed(row: Row) -> Committed:
    """Read an entry; raises `Damaged` for bytes that are not those that its hash names."""
    place, sha256, header, body, signature = row
    if not _are_bytes(header, body or b"", signature):
        raise Damaged(f"entry {place} of {NAME} is not as it was written")
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
