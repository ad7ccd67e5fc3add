"""Put one state directory together: the only place that constructs stores.

The daemon and every one-shot command get the same `Local`.  Parts are opened when first asked for, so
that a search opens an index and nothing else.  `open_local(..., writable=True)` is for who holds the
state's lock; a reader creates nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from crdt.errors import Damaged, IndexUnavailable, ReadOnlyState, Unavailable
from node import config
from retrieval.scope import Aliases

if TYPE_CHECKING:
    from pathlib import Path

    from archivist.redact import Redactor
    from crdt.archive import Archive
    from crdt.projection import Projector
    from crdt.projection_reader import ProjectionReader
    from crdt.store import FeedStore
    from mesh.identity import Identity
    from node.config import NodeConfig
    from node.keeper import Keeper
    from node.local_store import LocalStore
    from node.paths import StatePaths
    from node.workers import FollowSoon
    from retrieval.follow import ArchiveFollower
    from retrieval.index_catalog import Catalog
    from retrieval.index_reader import IndexReader
    from retrieval.index_writer import IndexWriter
    from retrieval.substrings import SubstringFollower


class Local:
    """One open state directory."""

    def __init__(self, settings: NodeConfig, *, writable: bool, served_by: str) -> None:
        self.config = settings
        self.writable = writable
        self._index_inode = 0
        self.served_by = served_by
        """`node` or `in_process`, as answers say it."""
        self.records_lock = threading.RLock()
        """Held by who reads a record to change it."""
        self.follow_soon: FollowSoon | None = None
        """How a node brings its index level from another thread than the writing one."""
        self.keeper: Keeper | None = None
        """What a node knows of its store; nobody else keeps it."""
        self.tell_lost_key: Callable[[], None] = _tell_nobody
        """Called before a new key takes the place of one that signed what is here and is gone."""

    @property
    def paths(self) -> StatePaths:
        """The paths of the state directory."""
        return self.config.paths

    @property
    def index_path(self) -> Path:
        """Where the index is."""
        return self.paths.index_db

    @property
    def substrings_path(self) -> Path:
        """Where the substring lane is."""
        return self.paths.substrings_db

    @property
    def home(self) -> Path:
        """The home directory that workspaces are written against."""
        return config.home()

    @property
    def aliases(self) -> Aliases:
        """The workspace aliases as the file says now."""
        return Aliases.load(self.paths.aliases, self.home)

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor of this version, which knows this person's home directories."""
        from archivist.redact import Redactor

        return Redactor(self.config.homes)

    @contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """Open the index for one answer; raises `IndexUnavailable` where there is none."""
        from retrieval.index_reader import open_reader

        reader = open_reader(self.index_path, self.substrings_path, self.aliases)
        try:
            yield reader
        finally:
            reader.close()

    @cached_property
    def archive(self) -> Archive:
        """The canonical archive; a reader of none gets `IndexUnavailable`."""
        from crdt.archive import Archive
        from crdt.manifest_log import FeedManifests
        from crdt.segments import SegmentDirectory

        if self.writable:
            self.paths.segments.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Archive(FeedManifests(self.feeds), SegmentDirectory(self.paths.segments))

    def archive_of_copy(self, feeds_db: Path, segments: Path) -> Archive:
        """Open the archive of a backup for reading; whoever asks closes its log."""
        from crdt.archive import Archive
        from crdt.manifest_log import FeedManifests
        from crdt.segments import SegmentDirectory
        from crdt.store import open_store

        return Archive(FeedManifests(open_store(feeds_db, writable=False)), SegmentDirectory(segments))

    @cached_property
    def identity(self) -> Identity:
        """This node's key, made by the first writer."""
        from mesh.identity import load_or_create

        self._need_writable()
        if not self.paths.identity.exists() and self._had_key():
            self.tell_lost_key()
        return load_or_create(self.paths.identity)

    def _had_key(self) -> bool:
        from node.succession import own_keys
        from node.view import reading

        with reading(self) as view:
            return bool(own_keys(view))

    @cached_property
    def feeds(self) -> FeedStore:
        """The signed feeds; a reader of none gets `IndexUnavailable`."""
        from crdt.store import Authorship, open_store

        if not self.writable:
            try:
                return open_store(self.paths.feeds_db, writable=False)
            except FileNotFoundError:
                raise IndexUnavailable("there is no archive yet", hint="run `atrium capture`") from None
        authorship = Authorship(
            marker=self.paths.incarnation,
            name=os.uname().nodename,
            next_commitment=self.identity.next_commitment,
        )
        feeds = open_store(self.paths.feeds_db, writable=True, signer=self.identity, authorship=authorship)
        if self.identity.replaces is not None:
            from node.succession import settle

            try:
                self.__dict__["identity"] = settle(feeds, self.identity, self.paths.identity)
            except BaseException:
                feeds.close()
                raise
        return feeds

    @cached_property
    def projector(self) -> Projector:
        """What brings the current state of the records level with the feeds."""
        from crdt.projection import Projector

        self._need_writable()
        return Projector(self.paths.projection_db, self.feeds)

    @contextmanager
    def projection(self) -> Iterator[ProjectionReader]:
        """Open the current state of the records; raises `IndexUnavailable` where there is none."""
        from crdt.projection_reader import open_reader_of_projection

        try:
            reader = open_reader_of_projection(self.paths.projection_db, self.feeds)
        except Unavailable:
            if not self.writable:
                raise
            # It is not there, or another thread is making it at this moment.
            self.projector.catch_up()
            reader = open_reader_of_projection(self.paths.projection_db, self.feeds)
        try:
            yield reader
        finally:
            reader.close()

    @cached_property
    def local_store(self) -> LocalStore:
        """What belongs to this node alone: cursors, ingested lines, note roots."""
        from node.local_store import LocalStore

        return LocalStore(self.paths.local_db, writable=self.writable)

    @cached_property
    def index(self) -> IndexWriter:
        """The index's writer."""
        from retrieval.index_schema import open_index_writer
        from retrieval.index_writer import IndexWriter

        self._need_writable()
        writer = IndexWriter(open_index_writer(self.index_path))
        self._index_inode = self.index_path.stat().st_ino
        return writer

    def reopen_index(self) -> None:
        """Open the index where it is not; one that can't be opened, or was taken away, is made anew."""
        if "index" in self.__dict__ and not self._is_in_place():
            self.close_index()
        try:
            self.index.meta("generation")
        except Damaged:
            self.discard_index()

    def close_index(self) -> None:
        """Close the index's writer; the next use opens it again."""
        if "index" in self.__dict__:
            self.index.connection.close()
            del self.__dict__["index"]

    def discard_index(self) -> None:
        """Remove the index, which can be made again; the next use makes an empty one."""
        from retrieval.index_schema import discard_database

        self.close_index()
        discard_database(self.index_path)

    def set_index_aside(self) -> None:
        """Put an index that follows another archive beside the place of ours, in case it is wanted."""
        from retrieval.index_schema import replace_database

        self.close_index()
        replace_database(self.index_path, self.index_path.with_name(f"set-aside-{self.index_path.name}"))

    def _is_in_place(self) -> bool:
        try:
            return self.index_path.stat().st_ino == self._index_inode
        except FileNotFoundError:
            return False

    def catalog(self, reader: IndexReader | None = None) -> Catalog:
        """Make what finds a conversation's fragments, over a reader's connection or the writer's."""
        from retrieval.index_catalog import Catalog

        return Catalog((reader or self.index).connection, self.archive)

    @property
    def follower(self) -> ArchiveFollower:
        """What brings the index level with the archive."""
        from retrieval.follow import ArchiveFollower

        return ArchiveFollower(self.index, self.archive)

    @property
    def substrings(self) -> SubstringFollower:
        """What brings the substring lane level with the index."""
        from retrieval.substrings import SubstringFollower

        self._need_writable()
        return SubstringFollower(self.substrings_path, self.index_path, self.index.forget_retired)

    @contextmanager
    def rebuilding(self) -> Iterator[Local]:
        """Open the same state with an empty index beside the present one; leaving puts it in its place."""
        from retrieval.index_schema import discard_database, replace_database

        self._need_writable()
        pairs = [
            (path.with_name(f"rebuild-{path.name}"), path)
            for path in (self.paths.substrings_db, self.paths.index_db)
        ]
        for fresh_path, _ in pairs:
            discard_database(fresh_path)
        fresh = _Rebuilding(self, *(fresh_path for fresh_path, _ in pairs))
        try:
            yield fresh
        except BaseException:
            # A disk that is full must not stay so by what was made in vain.
            fresh.close_index()
            for fresh_path, _ in pairs:
                discard_database(fresh_path)
            raise
        fresh.close_index()
        self.close_index()
        for fresh_path, path in pairs:
            replace_database(fresh_path, path)

    def close(self) -> None:
        """Close what was opened."""
        self.close_index()
        if "local_store" in self.__dict__:
            self.local_store.close()
        if "projector" in self.__dict__:
            self.projector.close()
        if "feeds" in self.__dict__:
            self.feeds.close()

    def _need_writable(self) -> None:
        if not self.writable:
            raise ReadOnlyState("this needs to write, and the state directory was opened for reading")


class _Rebuilding(Local):
    """A state directory whose derived files lie elsewhere for a while; stores are the other one's."""

    def __init__(self, whole: Local, substrings_path: Path, index_path: Path) -> None:
        super().__init__(whole.config, writable=True, served_by=whole.served_by)
        self._whole = whole
        self._substrings_path = substrings_path
        self._index_path = index_path
        self.__dict__["feeds"] = whole.feeds
        self.__dict__["projector"] = whole.projector
        self.__dict__["archive"] = whole.archive
        self.__dict__["local_store"] = whole.local_store

    @property
    def index_path(self) -> Path:
        """Where the new index is made."""
        return self._index_path

    @property
    def substrings_path(self) -> Path:
        """Where the new substring lane is made."""
        return self._substrings_path


def _tell_nobody() -> None:
    """Leave out what only a command or a node has somebody to tell."""


def open_local(settings: NodeConfig, *, writable: bool, served_by: str = "in_process") -> Local:
    """Open a state directory; a writer makes it with its private modes, sweeps it, and must hold its lock."""
    if writable:
        from node.restoring import finish
        from node.strays import sweep_strays

        settings.paths.create()
        finish(settings.paths, "interrupted")
        sweep_strays(settings.paths)
    return Local(settings, writable=writable, served_by=served_by)
