"""The canonical store, `canonical/feeds.db`: signed entries of every author, and what waits for a segment.

Ordinary rowid tables, WAL, synchronous=FULL.  One thread writes (`feed_writer`), in groups, and a write is
acknowledged after COMMIT.  Reading has a connection of its own and sees what was committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from crdt import migrations
from crdt.chains import vouched
from crdt.entries import BODY_BYTES_MAX, ZERO, Draft, Entry, EntryKind, FeedId, parse
from crdt.errors import (
    AtriumError,
    BadInput,
    EntryRefused,
    NotFound,
    OlderVersion,
    ReadOnlyState,
    Unavailable,
)
from crdt.feed_blobs import BlobTables
from crdt.feed_commit import Fragments, Received
from crdt.feed_tables import NAME, Committed, FeedHead, FeedTables, StoredBytes
from crdt.incarnation import Authorship, OwnFeeds
from crdt.keys import Signer
from crdt.pending import PendingEntry, PendingTable
from crdt.roster import Roster, SpaceKind
from crdt.rosters import Rosters
from crdt.segments import Body
from crdt.sqlite import faults, open_reader, open_writer

if TYPE_CHECKING:
    import sqlite3
    from concurrent.futures import Future

    from crdt.feed_commit import FeedCommitter
    from crdt.store_writing import Writing

__all__ = ["Authorship", "Committed", "FeedHead", "FeedStore", "PendingEntry", "Received", "open_store"]

PAGE_ENTRIES = 100
"""Rows of one read; at most 50 MiB, with the largest bodies."""
RECEIVE_ENTRIES_MAX = 250
"""Foreign entries of one transaction; what this node says waits for no more than these."""

T = TypeVar("T")
ReadFeed = Callable[[FeedTables, int, tuple[int, bytes], int], list[T]]


class FeedStore:
    """Entries of all feeds; made by `open_store`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, writing: Writing | None) -> None:
        self._path = path
        self._connection = connection
        self._lock = threading.Lock()
        self._tables = FeedTables(connection)
        self._rosters = Rosters(self._tables)
        self._writing = writing

    def head(self) -> int:
        """Tell the place of the newest entry, 0 for none."""
        with self._reading() as tables:
            return tables.head()

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[Committed]:
        """Walk entries after a place in the order of their commits, void ones too."""
        while page := self.read(partial(FeedTables.page, after=after, kinds=kinds, limit=PAGE_ENTRIES)):
            yield from page
            after = page[-1].id

    def opening(self, place: int) -> bytes:
        """Tell which opening of the store committed what is at a place."""
        return self.read(lambda tables: tables.opening(place))

    def entry(self, sha256: bytes) -> Committed | None:
        """Find an entry by its hash."""
        with self._reading() as tables:
            return tables.by_hash(sha256)

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Find entries by their places; those that are not here are left out."""
        with self._reading() as tables:
            return {item.id: item.entry for item in tables.by_ids(ids)}

    def voids(self, places: Sequence[int]) -> frozenset[int]:
        """Tell which of some places have a void entry."""
        with self._reading() as tables:
            return tables.voids(places)

    def feed_entries(self, feed: FeedId, first: int = 1) -> Iterator[Entry]:
        """Walk a feed from a number on, forks side by side in the order of their hashes; void ones not."""
        after = (first - 1, b"\xff" * 32)
        while page := self._page_of_feed(FeedTables.of_feed, feed, after):
            yield from (item.entry for item in page)
            after = (page[-1].entry.seq, page[-1].entry.hash)

    def stored_bytes(self, feed: FeedId) -> Iterator[StoredBytes]:
        """Walk a feed as `feed_entries` does, its bytes as they lie there: for who checks them."""
        after = (0, b"")
        while page := self._page_of_feed(FeedTables.bytes_of_feed, feed, after):
            yield from page
            after = (page[-1].seq, page[-1].hash)

    def heads(self, space: bytes | None = None) -> list[FeedHead]:
        """Tell the end of every feed, of one space or of all, ordered by feed; void entries don't count."""
        with self._reading() as tables:
            return [row.head for row in tables.feeds(space) if row.head.count]

    def forks(self) -> list[FeedId]:
        """List the feeds that have two entries at one number."""
        return [head.feed for head in self.heads() if head.is_forked]

    def spaces(self) -> dict[bytes, Roster]:
        """Give the rosters of all spaces by their ids."""
        with self._reading():
            return dict(self._rosters.all())

    def roster(self, space: bytes) -> Roster:
        """Give the roster of a space; raises `NotFound` for one that is not here."""
        with self._reading():
            return self._rosters.of(space)

    def author(self) -> bytes:
        """Give the public key of the node whose store this is; raises `NotFound` before its first write."""
        if self._writing is not None and self._writing.own is not None:
            return self._writing.own.signer.public_key
        with self._reading():
            author = self._rosters.local_author()
        if author is None:
            raise NotFound("this node has written nothing yet", hint="run `atrium capture`")
        return author

    def home(self) -> bytes:
        """Give this node's home; a writer makes it where there is none, a reader raises `NotFound`."""
        return self._own_space("home")

    def home_if_any(self) -> bytes | None:
        """Give this node's home; None where there is none yet."""
        return self._find_own("home")

    def private(self) -> bytes:
        """Give the space that never leaves this node; made, or missing, as `home` is."""
        return self._own_space("private")

    def manifests(self, after: int = 0) -> Iterator[Committed]:
        """Walk the archive's manifests (kinds 4 to 7) of all authors after a place."""
        while page := self.read(partial(FeedTables.manifests, after=after, limit=PAGE_ENTRIES)):
            yield from page
            after = page[-1].id

    def manifest_head(self) -> int:
        """Tell the place of the newest manifest, 0 for none."""
        with self._reading() as tables:
            return tables.manifest_head()

    def tail_body(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a fragment that waits for its segment, checked against its hash."""
        return self.read(lambda tables: BlobTables(tables.connection).tail(fragment))

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, oldest first: hash, hybrid clock, size in bytes."""
        return self.read(lambda tables: BlobTables(tables.connection).tails())

    def read(self, reading: Callable[[FeedTables], T]) -> T:
        """Do some reading as of one moment."""
        with self._reading() as tables:
            return reading(tables)

    def run(self, job: Callable[[FeedCommitter], T]) -> T:
        """Do something within a transaction of the writer's thread; it is durable when this returns."""
        writing = self._need_writing()
        return writing.writer.run(lambda c: job(writing.on(c)))

    def write(self, drafts: Sequence[Draft], tails: Sequence[Body] = ()) -> list[Committed]:
        """Say something, all of it or nothing, and return after it is durable.

        `tails` are the bytes of the fragments that the Tails among the drafts name; those that a Segment
        names are dropped.  Raises `BadInput`, `NotAllowed`, `NotFound`, or `Unavailable` and its kinds.
        """
        writing = self._need_writing()
        waiting = _checked(drafts, tails)
        return writing.writer.run(lambda c: writing.on(c).write(drafts, waiting), max(len(drafts), 1))

    def submit(self, drafts: Sequence[Draft], tails: Sequence[Body] = ()) -> Future[list[Committed]]:
        """Say something without waiting; the future resolves once it is durable, or raises as `write`."""
        writing = self._need_writing()
        waiting = _checked(drafts, tails)
        return writing.writer.submit(lambda c: writing.on(c).write(drafts, waiting), max(len(drafts), 1))

    def receive(self, raws: Iterable[bytes]) -> Received:
        """Take entries of others in any order, and return after what could be committed is durable.

        What can't be parsed, or is refused, is named and keeps nothing else from being taken.  What lacks
        something that may still come waits in the store (`pending`).
        """
        entries, refused = _parsed(raws)
        parts = [
            self._receive(entries[at : at + RECEIVE_ENTRIES_MAX])
            for at in range(0, len(entries), RECEIVE_ENTRIES_MAX)
        ]
        waiting = {verdict.entry.hash: verdict for part in parts for verdict in part.pending}
        committed = [item for part in parts for item in part.committed]
        for item in committed:
            waiting.pop(item.entry.hash, None)
        return Received(
            committed=committed,
            known=sum(part.known for part in parts),
            pending=list(waiting.values()),
            refused=[*refused, *(error for part in parts for error in part.refused)],
        )

    def retry(self) -> Received:
        """Take what waited for its moment; for a clock that ticks once a minute or so."""
        return self._receive([])

    def pending(self) -> list[PendingEntry]:
        """List what waits, and for what, oldest first."""
        with self._reading() as tables:
            return list(PendingTable(tables.connection).all())

    def has_pending(self) -> bool:
        """Tell whether anything waits."""
        return self.read(lambda tables: not PendingTable(tables.connection).is_empty())

    @property
    def pending_dropped(self) -> int:
        """How many waiting entries were dropped for want of room since the store was opened."""
        return self._writing.dropped if self._writing else 0

    def renew(self) -> None:
        """Begin a new incarnation in every space: a peer knows entries of this node that are not here."""
        writing = self._need_writing()
        own = writing.own
        if own is not None:
            writing.writer.run(lambda _: own.renew())

    @property
    def fault(self) -> AtriumError | None:
        """Why nothing can be written at this moment; None while all is well."""
        return self._writing.writer.fault if self._writing else None

    def probe(self) -> None:
        """Try the disk by a write that changes nothing; raises what `fault` then says."""
        self.run(lambda committer: committer.tables.probe())

    def quick_check(self, *, thorough: bool = False) -> list[str]:
        """Ask SQLite whether the file is whole, `thorough` also whether indexes fit; empty when it is."""
        statement = f"PRAGMA {'integrity' if thorough else 'quick'}_check(20)"
        with faults(NAME), closing(open_reader(self._path)) as connection:
            rows = [str(row[0]) for row in connection.execute(statement)]
        return [] if rows == ["ok"] else rows

    def fold(self) -> None:
        """Fold the write-ahead log into the file and empty it; raises `Unavailable` while another reads it.

        Pages of the file are overwritten when their rows go, but the log beside it keeps what was written.
        """
        self._need_writing()
        with self._lock, faults(NAME), closing(_connect(self._path)) as connection:
            (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            raise Unavailable(f"{NAME} is read by another process", hint="run the same command again")

    def close(self) -> None:
        """Finish what is queued, leave the marker of a clean stop, and close; a second time is fine."""
        with self._lock:
            self._connection.close()
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.close()

    @contextmanager
    def _reading(self) -> Iterator[FeedTables]:
        """Read alone: a statement beside another on one connection would see what that one began with."""
        with self._lock, faults(NAME):
            yield self._tables

    def _receive(self, entries: Sequence[Entry]) -> Received:
        """Verify signatures in the caller's thread, of what is new; then decide in the writer's."""
        writing = self._need_writing()
        with self._reading() as tables:
            new = [entry for entry in entries if tables.place(entry.hash) is None]
        verified = vouched(new)
        return writing.writer.run(lambda c: writing.on(c).receive(entries, verified), max(len(entries), 1))

    def _page_of_feed(self, read: ReadFeed[T], feed: FeedId, after: tuple[int, bytes]) -> list[T]:
        with self._reading() as tables:
            row = tables.feed(feed)
            return [] if row is None else read(tables, row.id, after, PAGE_ENTRIES)

    def _own_space(self, kind: SpaceKind) -> bytes:
        found, writing = self._find_own(kind), self._writing
        if found is None and writing is not None and writing.own is not None:
            writing.writer.run(lambda c: writing.on(c).make_own_spaces())
            found = self._find_own(kind)
        if found is None:
            raise NotFound(f"this node has no {kind} space yet", hint="run `atrium capture`")
        return found

    def _find_own(self, kind: SpaceKind) -> bytes | None:
        try:
            author = self.author()
        except NotFound:
            return None
        with self._reading():
            return self._rosters.own(kind, author)

    def _need_writing(self) -> Writing:
        if self._writing is None:
            raise ReadOnlyState(f"{NAME} was opened for reading")
        return self._writing


def open_store(
    path: Path, *, writable: bool, signer: Signer | None = None, authorship: Authorship | None = None
) -> FeedStore:
    """Open the store; a writer creates and migrates it, and signs what it writes.

    A reader of none gets `FileNotFoundError`, also while a first writer is still making it.  Raises
    `Unavailable` for a store that a newer program made, `OlderVersion` to a reader of an older one.
    """
    if not writable:
        return FeedStore(path, _open_reader(path), None)
    # Imported here, since readers need no threads.
    from crdt.feed_writer import GroupWriter
    from crdt.store_writing import Writing

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    founder = None if signer is None else migrations.Founder(signer, authorship or Authorship())
    connection = _connect(path)
    try:
        with faults(NAME):
            migrations.migrate(connection, founder)
            last_hlc = FeedTables(connection).last_hlc()
        reading = open_reader(path)
    except BaseException:
        connection.close()
        raise
    own = None if founder is None else OwnFeeds(founder.signer, founder.authorship, path, last_hlc)
    return FeedStore(path, reading, Writing(GroupWriter(connection, lambda: _connect(path)), own))


def _connect(path: Path) -> sqlite3.Connection:
    connection = open_writer(path, durable=True)
    try:
        # What was sealed, erased, and perhaps redacted, may not stay readable in free pages.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_reader(path: Path) -> sqlite3.Connection:
    with faults(NAME):
        connection = open_reader(path)
        try:
            version = migrations.version_of(connection)
        except BaseException:
            connection.close()
            raise
    if version < migrations.VERSION:
        connection.close()
        if version == 0:
            raise FileNotFoundError(path)
        raise OlderVersion("the archive is of an older version")
    return connection


def _parsed(raws: Iterable[bytes]) -> tuple[list[Entry], list[EntryRefused]]:
    """Read entries, ordered so that those of one feed come one behind the other."""
    entries, refused = [], []
    for raw in raws:
        try:
            entries.append(parse(raw, erased=True))
        except EntryRefused as error:
            refused.append(error)
    return sorted(entries, key=lambda entry: (entry.kind > EntryKind.ROSTER, entry.feed, entry.seq)), refused


def _checked(drafts: Sequence[Draft], tails: Sequence[Body]) -> Fragments:
    """Refuse what can't be written before it is queued; give the fragments by their binary hashes."""
    for draft in drafts:
        if len(draft.body) > BODY_BYTES_MAX:
            raise BadInput(
                f"one entry holds at most {BODY_BYTES_MAX >> 10} KiB", hint="write it in several parts"
            )
        if (draft.kind == EntryKind.GENESIS) != (draft.space == ZERO):
            raise AssertionError("the first entry of a space, and no other, is without one")
    return [(bytes.fromhex(body.sha256), body.data) for body in tails]
