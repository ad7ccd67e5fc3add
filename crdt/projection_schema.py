"""The tables of `derived/projection.db` and how it is opened.

    meta       the watermark with hash and opening of its entry, the last change_seq, the generation, counts
    spaces     every space that has records, with its roster's kind and label
    standings  what each member of a space may, as of the reduction of the space's rows
    authors    keys of those who wrote
    records    one narrow row a record: what lists filter and order by
    states     the reduced records, whole, beside their rows
    ops        which entries of the feeds are about which record, refused and void ones included
    tags       live tags, with the clock that lists order by
    edges      both ends of live edges
    stale      rows to reduce again, because what their authors may has changed

A record without an admitted operation keeps its row, with version 0 and without a state: a roster entry
that arrives later may admit one, and consumers of changes hear that a record is gone.  Everything is
derived: the file is removed and made anew where it is of another version or damaged.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crdt.errors import Damaged, Unavailable
from crdt.sqlite import faults, open_reader, open_writer, transaction

VERSION = 1
NAME = "derived/projection.db"
LOG_PAGES = 4_000
"""The log is folded into the file every 16 MiB: each batch touches most pages of the indexes again, and with
SQLite's own 4 MiB they would be written twice a batch."""

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT",
    """CREATE TABLE spaces (
        id INTEGER PRIMARY KEY, space BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, label TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE standings (
        space INTEGER NOT NULL, author BLOB NOT NULL, standing BLOB NOT NULL, PRIMARY KEY (space, author)
    ) STRICT, WITHOUT ROWID""",
    "CREATE TABLE authors (id INTEGER PRIMARY KEY, author BLOB NOT NULL UNIQUE) STRICT",
    """CREATE TABLE records (
        row INTEGER PRIMARY KEY, space INTEGER NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, kind TEXT,
        project TEXT, scope TEXT, workspace TEXT, agent TEXT NOT NULL, author INTEGER NOT NULL,
        confidence REAL, created_hlc INTEGER NOT NULL, updated_hlc INTEGER NOT NULL, expires_ms INTEGER,
        version INTEGER NOT NULL, deleted INTEGER NOT NULL, conflicted INTEGER NOT NULL,
        change_seq INTEGER NOT NULL, state_sha256 BLOB
    ) STRICT""",
    "CREATE UNIQUE INDEX records_by_id ON records (id, space)",
    "CREATE UNIQUE INDEX records_by_change ON records (change_seq) WHERE change_seq > 0",
    "CREATE INDEX records_by_age ON records (updated_hlc)",
    "CREATE INDEX records_by_type ON records (type, updated_hlc)",
    "CREATE INDEX records_by_project ON records (project, type, updated_hlc) WHERE project IS NOT NULL",
    "CREATE INDEX records_by_workspace ON records (workspace, type, updated_hlc) WHERE workspace IS NOT NULL",
    "CREATE INDEX records_by_agent ON records (agent, type, updated_hlc)",
    "CREATE INDEX records_by_kind ON records (kind, updated_hlc) WHERE kind IS NOT NULL",
    "CREATE INDEX records_in_conflict ON records (updated_hlc) WHERE conflicted = 1",
    "CREATE TABLE states (row INTEGER PRIMARY KEY, state BLOB NOT NULL) STRICT",
    """CREATE TABLE ops (
        record INTEGER NOT NULL, entry INTEGER NOT NULL, author INTEGER NOT NULL, PRIMARY KEY (record, entry)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE tags (
        tag TEXT NOT NULL, updated_hlc INTEGER NOT NULL, record INTEGER NOT NULL,
        PRIMARY KEY (tag, updated_hlc, record)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX tags_by_record ON tags (record)",
    """CREATE TABLE edges (
        record INTEGER PRIMARY KEY, relation TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX edges_by_source ON edges (source, relation)",
    "CREATE INDEX edges_by_target ON edges (target, relation)",
    "CREATE TABLE stale (record INTEGER PRIMARY KEY) STRICT",
)
_PUT_META = "INSERT INTO meta (key, value) VALUES (?, ?)"
_FIRST = (
    ("watermark", 0),
    ("watermark_hash", b""),
    ("change_seq", 0),
    ("unreadable", 0),
)


def open_projection_writer(path: Path) -> sqlite3.Connection:
    """Open the projection for its one writer; one that is absent, damaged or of another version is made."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = _usable(path)
    if connection is None:
        discard_projection(path)
        connection = open_writer(path, durable=False)
    try:
        # What an author has erased may not stay readable in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        _create_once(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_projection_reader(path: Path) -> sqlite3.Connection:
    """Open the projection for reading; raises `Unavailable` where it is absent or of another version."""
    hint = "run `atrium rebuild`, which makes it from the feeds"
    try:
        with faults(NAME):
            connection = open_reader(path)
    except FileNotFoundError:
        raise Unavailable("shared memory is not laid out yet", hint=hint) from None
    version = _version(connection)
    if version != VERSION:
        connection.close()
        raise Unavailable(f"{NAME} is of version {version}, this program reads {VERSION}", hint=hint)
    return connection


def discard_projection(path: Path) -> None:
    """Remove the projection with its log; readers that have it open keep what they see until they close."""
    with faults(NAME):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def replace_projection(fresh: Path, path: Path) -> None:
    """Put a finished, closed projection in another's place; readers of the old one keep it until they close.

    The old one's log goes first: beside a new file it would be replayed into it.
    """
    with faults(NAME):
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        fresh.replace(path)


def _usable(path: Path) -> sqlite3.Connection | None:
    try:
        connection = open_writer(path, durable=False)
        version = _version(connection)
    except Damaged:
        return None
    if version in (0, VERSION):
        return connection
    connection.close()
    return None


def _create_once(connection: sqlite3.Connection) -> None:
    # Imported here, since with the hashes that it brings along it is a cost that readers need not pay.
    import secrets

    with transaction(connection):
        if _version(connection) == VERSION:
            return
        for statement in _TABLES:
            connection.execute(statement)
        # Places in a projection that was made anew say nothing about those in the one before it.
        connection.executemany(_PUT_META, (*_FIRST, ("generation", secrets.token_hex(8))))
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    try:
        with faults(NAME):
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except BaseException:
        connection.close()
        raise
