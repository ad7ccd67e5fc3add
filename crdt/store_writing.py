"""The writing half of an open store: its thread, and what commits over that thread's connection."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from crdt import incarnation
from crdt.errors import Unavailable
from crdt.feed_commit import FeedCommitter
from crdt.feed_tables import FeedTables
from crdt.feed_writer import GroupWriter
from crdt.incarnation import OwnFeeds


class Writing:
    """The writer's thread with what it needs on its connection, made anew after that was opened anew."""

    def __init__(self, writer: GroupWriter, own: OwnFeeds | None) -> None:
        self.writer = writer
        self.own = own
        self._dropped = 0
        self._committer: FeedCommitter | None = None

    def on(self, connection: sqlite3.Connection) -> FeedCommitter:
        """Give what commits over a connection; called by the writer's thread alone."""
        if self._committer is None or self._committer.tables.connection is not connection:
            self._dropped = self.dropped
            self._committer = FeedCommitter(connection, self.own)
        return self._committer

    @property
    def dropped(self) -> int:
        """How many waiting entries were dropped for want of room."""
        return self._dropped + (self._committer.waiting.dropped if self._committer else 0)

    def close(self) -> None:
        """Close, and leave the marker of a clean stop where everything went well."""
        own, marker = self.own, None
        if own is not None and own.has_written and self.writer.fault is None:
            try:
                marker = self.writer.run(lambda c: own.leave(FeedTables(c)))
            except Unavailable:
                # The store is closed all the same; without a marker the next opening begins anew.
                marker = None
        is_clean = self.writer.close()
        if is_clean and marker is not None and own is not None and own.authorship.marker is not None:
            # Where it can't be left, what was written is durable all the same: that is no failed write.
            with suppress(OSError):
                incarnation.leave(own.authorship.marker, marker)
