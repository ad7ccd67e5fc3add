"""Keeps `derived/projection.db` level with the feeds: the current state of every record.

    feeds ──batches of 500──► group by record ──► extend, else reduce from all operations ──► rows

Rows and watermark move in one transaction, so that a crash at any moment leaves a projection that goes on
where it was.  Nothing in it depends on the order in which entries arrived: what a row is reduced from is
the set of operations on its record, and the roster as of everything that is here.  A projection that does
not belong to these feeds (its watermark's entry is not there), is damaged or of another version is made
anew.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from crdt.projection_digest import ProjectionDigest, digest_of, remember_digest
from crdt.projection_feeds import FeedReader
from crdt.projection_follow import Follower, OtherFeeds
from crdt.projection_schema import NAME, discard_projection, open_projection_writer, replace_projection
from crdt.sqlite import faults, transaction

Progress = Callable[[int, int], None]
"""Is told the place reached, and the place of the newest entry at that moment."""


class Projector:
    """The one writer of the projection; any thread may call it."""

    def __init__(self, path: Path, feeds: FeedReader) -> None:
        """Nothing is opened before it is needed."""
        self._path = path
        self._feeds = feeds
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._inode = 0
        self._begun = 0
        self._done = 0

    def catch_up(self, progress: Progress | None = None) -> int:
        """Bring the projection level with the feeds; return how many operations this call took in.

        All who ask while one call runs share the next, which begins after each of them has asked.  Raises the
        tree's errors for faults of the disk; nothing is lost by them, and the next call goes on.
        """
        wanted = self._begun + 1
        with self._lock, faults(NAME):
            if self._done >= wanted:
                return 0
            self._begun += 1
            applied = self._follow_or_begin_anew(progress)
            self._done = self._begun
            return applied

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make the projection anew beside the old one, which serves until it is replaced."""
        fresh = self._path.with_name(f"{self._path.name}.new")
        discard_projection(fresh)
        beside = Projector(fresh, self._feeds)
        try:
            applied = beside.catch_up(progress)
            with self._lock:
                applied += beside.catch_up()
                beside.close()
                self._close()
                replace_projection(fresh, self._path)
        finally:
            beside.close()
            discard_projection(fresh)
        return applied

    def digest(self) -> ProjectionDigest:
        """Digest the projection as it is, and keep the digest for readers until something changes."""
        with self._lock, faults(NAME):
            connection = self._opened().connection
            digest = digest_of(connection)
            with transaction(connection):
                remember_digest(connection, digest)
            return digest

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._close()

    def _follow_or_begin_anew(self, progress: Progress | None) -> int:
        try:
            return self._follow(progress)
        except (sqlite3.DatabaseError, msgspec.MsgspecError, OtherFeeds) as error:
            self._close()
            if not _is_worthless(error):
                raise
            discard_projection(self._path)
            return self._follow(progress)

    def _follow(self, progress: Progress | None) -> int:
        follower = self._opened()
        if not follower.is_of_these_feeds():
            raise OtherFeeds
        follower.refresh()
        applied = 0
        while (batch := follower.next_batch()) is not None:
            applied += follower.apply(batch)
            if progress is not None:
                progress(batch.end, batch.head)
        return applied

    def _opened(self) -> Follower:
        """Give what follows, over the file that is there now: somebody may have deleted it under us."""
        if self._follower is not None and not self._is_in_place():
            self._close()
        if self._follower is None:
            self._follower = Follower(open_projection_writer(self._path), self._feeds)
            self._inode = self._path.stat().st_ino
        return self._follower

    def _is_in_place(self) -> bool:
        return self._path.exists() and self._path.stat().st_ino == self._inode

    def _close(self) -> None:
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.connection.close()


def _is_worthless(error: Exception) -> bool:
    """Tell whether an error says that the file is to be made anew, and not that the disk is at fault."""
    if isinstance(error, sqlite3.DatabaseError):
        return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
    return True
