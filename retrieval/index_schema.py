"""The tables of `derived/index.db` and how it is opened.

    fragments      where every fragment of the archive lies, by conversation      (the catalog)
    streams        how far each source file of a conversation is indexed, and the time carried to its end
    conversations  one row each, with what appending to it needs
    buried         tombstones of conversations, with or without a row
    absent         manifests whose bytes had not come, or were damaged, when they were applied
    heard          clocks of fragments that were named before they came
    silent         events without a record, by the first 8 bytes of the id that it would have
    records        one row a message, note chunk or piece of shared memory, narrow; texts lie beside it
    supersedes     edges between records; what they amount to is kept in `records.superseded_by`
    words          FTS5 over own text and neighbours, without content of its own
    retired        rows that the substring lane must still forget
    hits           (a view) a record whole, as answers show it

Row ids of records only rise and are never used again, so that a follower knows what it has seen.  The
file is made under another name and moved into place whole: a reader never meets half a schema.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from crdt.errors import IndexUnavailable
from crdt.sqlite import faults, open_reader, open_writer

VERSION = 3
NAME = "derived/index.db"
MEMORY_WATERMARK = "memory_change"
MEMORY_GENERATION = "memory_generation"
"""Values of `meta`: up to which change the index is level with shared memory, and of which projection."""
UNREAD = "unread_manifests"
"""Value of `meta`: how many manifests of the archive could not be read when the index last tried."""

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT",
    "CREATE TABLE workspaces (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT",
    """CREATE TABLE fragments (
        sha256 BLOB PRIMARY KEY, conversation INTEGER NOT NULL, hlc INTEGER NOT NULL,
        redactor INTEGER NOT NULL,
        segment BLOB, frame_offset INTEGER NOT NULL, frame_bytes INTEGER NOT NULL, skip INTEGER NOT NULL,
        size INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX fragments_by_conversation ON fragments (conversation)",
    """CREATE TABLE streams (
        conversation INTEGER NOT NULL, path TEXT NOT NULL, last_seq INTEGER NOT NULL, carried TEXT NOT NULL,
        PRIMARY KEY (conversation, path)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE buried (
        conversation_id BLOB NOT NULL PRIMARY KEY, hlc INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE TABLE absent (seq INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE heard (sha256 BLOB NOT NULL PRIMARY KEY, hlc INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE silent (key INTEGER PRIMARY KEY) STRICT",
    """CREATE TABLE conversations (
        id INTEGER PRIMARY KEY, conversation_id BLOB NOT NULL UNIQUE, population INTEGER NOT NULL,
        source TEXT NOT NULL, source_id TEXT NOT NULL, title TEXT NOT NULL, workspace INTEGER, parent_id TEXT,
        automation INTEGER NOT NULL, captured INTEGER NOT NULL, last_key TEXT NOT NULL, last_id TEXT NOT NULL,
        next_index INTEGER NOT NULL, tail1 INTEGER, tail2 INTEGER, removed_hlc INTEGER NOT NULL,
        note_root INTEGER, note_path TEXT, note_names TEXT, author TEXT
    ) STRICT""",
    "CREATE INDEX conversations_by_root ON conversations (note_root, note_path) WHERE note_root IS NOT NULL",
    "CREATE INDEX conversations_of_memory ON conversations (source_id) WHERE population = 2",
    """CREATE TABLE note_roots (id INTEGER PRIMARY KEY, root_id BLOB NOT NULL UNIQUE) STRICT""",
    """CREATE TABLE records (
        id INTEGER PRIMARY KEY, record_id BLOB NOT NULL UNIQUE, conversation INTEGER NOT NULL,
        population INTEGER NOT NULL, workspace INTEGER, role TEXT NOT NULL, event_id TEXT NOT NULL,
        content_sha256 BLOB NOT NULL, source_sha256 BLOB NOT NULL, authored_at TEXT,
        event_index INTEGER NOT NULL,
        before1 INTEGER, before2 INTEGER, headings TEXT,
        project TEXT, expires_ms INTEGER, superseded_by BLOB
    ) STRICT""",
    "CREATE INDEX records_by_conversation ON records (conversation, event_index)",
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
    """CREATE VIEW hits AS
    SELECT r.id, r.record_id, t.text, r.role, c.source, c.conversation_id, c.title, r.event_index,
           r.source_sha256, r.authored_at, w.path AS workspace, c.note_root, c.note_path, r.conversation,
           c.author, r.superseded_by, r.expires_ms
    FROM records r JOIN texts t ON t.id = r.id JOIN conversations c ON c.id = r.conversation
    LEFT JOIN workspaces w ON w.id = r.workspace""",
    """CREATE TABLE supersedes (
        space BLOB NOT NULL, edge TEXT NOT NULL, newer BLOB NOT NULL, older BLOB NOT NULL,
        PRIMARY KEY (space, edge)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX supersedes_by_newer ON supersedes (newer, older)",
    "CREATE INDEX supersedes_by_older ON supersedes (older, newer)",
    "CREATE TABLE retired (id INTEGER PRIMARY KEY, record INTEGER NOT NULL, text TEXT NOT NULL) STRICT",
    """CREATE VIRTUAL TABLE words USING fts5 (
        own, near, content = '', tokenize = 'unicode61 remove_diacritics 2'
    )""",
)


def open_index_writer(path: Path) -> sqlite3.Connection:
    """Open the index for its writer; one that is absent or of another version is made anew, empty."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_database(path, create_tables, VERSION)
    connection = open_writer(path, durable=False)
    if _version(connection) == VERSION:
        return connection
    connection.close()
    discard_database(path)
    create_database(path, create_tables, VERSION)
    return open_writer(path, durable=False)


def open_index_reader(path: Path) -> sqlite3.Connection:
    """Open the index for reading; raises `IndexUnavailable` where it is absent or of another version."""
    try:
        with faults(NAME):
            connection = open_reader(path)
    except FileNotFoundError:
        raise IndexUnavailable("there is no index yet") from None
    if (found := _version(connection)) != VERSION:
        connection.close()
        raise IndexUnavailable(f"the index is of version {found}, this program reads {VERSION}")
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the empty tables of the index."""
    # Imported here, since with the hashes that it brings along it is a cost that a search need not pay.
    import secrets

    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO meta (key, value) VALUES ('generation', ?)", (secrets.token_hex(8),))


def create_database(path: Path, tables: Callable[[sqlite3.Connection], None], version: int) -> None:
    """Make a database under another name and move it into place whole; an existing one stays."""
    if path.exists():
        return
    temporary = path.with_name(f"{path.name}.new-{os.getpid()}")
    with faults(f"{path.parent.name}/{path.name}"):
        temporary.unlink(missing_ok=True)
        try:
            _fill(temporary, tables, version)
            temporary.replace(path)
        except BaseException:
            for suffix in ("", "-journal"):
                temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
            raise


def _fill(path: Path, tables: Callable[[sqlite3.Connection], None], version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        tables(connection)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    path.chmod(0o600)


def discard_database(path: Path) -> None:
    """Remove a derived database with its log."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def replace_database(fresh: Path, path: Path) -> None:
    """Put a finished, closed database in another's place.

    The old one's log goes first: beside a new file it would be replayed into it.  Readers that have the old
    files open keep them until they close.
    """
    with faults(path.name):
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        fresh.replace(path)


def _version(connection: sqlite3.Connection) -> int:
    with faults(NAME):
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
