"""What belongs to this node alone and is not derived: `local/local.db`.

    cursors       how far each transcript was read
    ingested      lines of archive files that were taken in, by hash
    note_roots    trees of notes to index again after a rebuild
    accepted      directives of others that somebody made active here, by hash

Losing it costs work, never data: transcripts and archive files are read again and found to be known, and
directives are accepted again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from archivist.providers.base import Cursor
from crdt.manifests import ManifestLog
from crdt.sqlite import faults, open_reader, open_writer, transaction

_NAME = "local/local.db"
_VERSION = 3
_TABLES = (
    """CREATE TABLE IF NOT EXISTS cursors (
        provider TEXT NOT NULL, root TEXT NOT NULL, path TEXT NOT NULL, cursor BLOB NOT NULL,
        PRIMARY KEY (provider, root, path)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS ingested (
        sha256 BLOB NOT NULL PRIMARY KEY, conversation_id TEXT NOT NULL, source TEXT NOT NULL,
        redactor INTEGER NOT NULL
    ) STRICT""",
    "CREATE TABLE IF NOT EXISTS mark (seq INTEGER NOT NULL, hlc INTEGER NOT NULL) STRICT",
    """CREATE TABLE IF NOT EXISTS note_roots (
        path TEXT NOT NULL PRIMARY KEY, provider TEXT NOT NULL, exclude TEXT NOT NULL,
        third_party INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS accepted (
        space BLOB NOT NULL, id TEXT NOT NULL, text_sha256 BLOB NOT NULL, PRIMARY KEY (space, id)
    ) STRICT""",
)
_MARK = "SELECT seq, hlc FROM mark"
_CLEAR_MARK = "DELETE FROM mark"
_SET_MARK = "INSERT INTO mark (seq, hlc) VALUES (?, ?)"
_CURSORS = "SELECT path, cursor FROM cursors WHERE provider = ? AND root = ?"
_SET_CURSOR = """
INSERT INTO cursors (provider, root, path, cursor) VALUES (?, ?, ?, ?)
ON CONFLICT (provider, root, path) DO UPDATE SET cursor = excluded.cursor
"""
_FORGET_CURSORS = "DELETE FROM cursors"
_INGESTED = "SELECT sha256, conversation_id, source FROM ingested WHERE redactor = ?"
_ADD_INGESTED = """
INSERT INTO ingested (sha256, conversation_id, source, redactor) VALUES (?, ?, ?, ?)
ON CONFLICT (sha256) DO UPDATE SET redactor = excluded.redactor
"""
_FORGET_INGESTED = "DELETE FROM ingested"
_ROOTS = "SELECT path, provider, exclude, third_party FROM note_roots ORDER BY path"
_SET_ROOT = """
INSERT INTO note_roots (path, provider, exclude, third_party) VALUES (?, ?, ?, ?)
ON CONFLICT (path) DO UPDATE SET provider = excluded.provider, exclude = excluded.exclude,
    third_party = excluded.third_party
"""
_HAS_ACCEPTED = "SELECT 1 FROM sqlite_master WHERE name = 'accepted'"
_ACCEPTED = "SELECT 1 FROM accepted WHERE space = ? AND id = ? AND text_sha256 = ?"
_ACCEPT = """
INSERT INTO accepted (space, id, text_sha256) VALUES (?, ?, ?)
ON CONFLICT (space, id) DO UPDATE SET text_sha256 = excluded.text_sha256
"""
_CURSOR = msgspec.json.Decoder(Cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRoot:
    """A tree of notes, and how it was asked to be read."""

    path: str
    provider: str
    exclude: tuple[str, ...]
    third_party: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedLine:
    """A line of an archive file that was taken in."""

    sha256: bytes
    conversation_id: str
    source: str


class LocalStore:
    """The store; a reader of an absent file finds it empty."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self._connection = _open(path, writable=writable)

    def cursors(self, provider: str, root: str) -> dict[str, Cursor]:
        """List how far the transcripts below a root were read, by relative path."""
        with faults(_NAME):
            rows = self._connection.execute(_CURSORS, (provider, root)).fetchall()
        return {path: _CURSOR.decode(cursor) for path, cursor in rows}

    def set_cursors(self, provider: str, root: str, cursors: Mapping[str, Cursor]) -> None:
        """Note how far transcripts were read; what they gave must be durable by now."""
        rows = [(provider, root, path, msgspec.json.encode(cursor)) for path, cursor in cursors.items()]
        with faults(_NAME), transaction(self._connection):
            self._connection.executemany(_SET_CURSOR, rows)

    def ingested(self, redactor: int) -> dict[bytes, IngestedLine]:
        """List the lines that were taken in under this version of the redactor, by hash."""
        with faults(_NAME):
            rows = self._connection.execute(_INGESTED, (redactor,)).fetchall()
        return {
            sha: IngestedLine(sha256=sha, conversation_id=cid, source=source) for sha, cid, source in rows
        }

    def add_ingested(self, lines: Iterable[IngestedLine], redactor: int) -> None:
        """Note lines that were taken in."""
        rows = [(line.sha256, line.conversation_id, line.source, redactor) for line in lines]
        with faults(_NAME), transaction(self._connection):
            self._connection.executemany(_ADD_INGESTED, rows)

    def fits(self, log: ManifestLog) -> bool:
        """Tell whether the log still has the manifest that was newest when something was last read."""
        mark = self._mark()
        if mark is None or mark[0] == 0:
            return True
        logged = next(log.since(mark[0] - 1), None)
        return logged is not None and (logged.seq, logged.hlc) == mark

    def set_mark(self, log: ManifestLog) -> None:
        """Note the newest manifest of the log under which things are read, unless it is noted already."""
        head = log.head()
        newest = next(log.since(head - 1), None) if head else None
        mark = None if newest is None else (newest.seq, newest.hlc)
        if mark == self._mark():
            return
        with faults(_NAME), transaction(self._connection):
            self._connection.execute(_CLEAR_MARK)
            if mark is not None:
                self._connection.execute(_SET_MARK, mark)

    def forget_reading(self) -> None:
        """Forget what was read, so that everything is read again and compared."""
        with faults(_NAME), transaction(self._connection):
            self._connection.execute(_FORGET_CURSORS)
            self._connection.execute(_FORGET_INGESTED)

    def note_roots(self) -> list[NoteRoot]:
        """List the trees of notes that were ever indexed."""
        with faults(_NAME):
            rows = self._connection.execute(_ROOTS).fetchall()
        return [
            NoteRoot(path=path, provider=provider, exclude=tuple(exclude.split("\0")) if exclude else (),
                     third_party=bool(third_party))
            for path, provider, exclude, third_party in rows
        ]  # fmt: skip

    def set_note_root(self, root: NoteRoot) -> None:
        """Note a tree of notes and how to read it."""
        row = (root.path, root.provider, "\0".join(root.exclude), root.third_party)
        with faults(_NAME), transaction(self._connection):
            self._connection.execute(_SET_ROOT, row)

    def accepts(self, space: bytes, identity: str, sha256: bytes) -> bool:
        """Tell whether a record was accepted here as what has this hash."""
        with faults(_NAME):
            # A reader may find the tables of an earlier version, which no writer has opened since.
            if self._connection.execute(_HAS_ACCEPTED).fetchone() is None:
                return False
            return self._connection.execute(_ACCEPTED, (space, identity, sha256)).fetchone() is not None

    def accept(self, space: bytes, identity: str, sha256: bytes) -> None:
        """Accept a record as what has this hash, and as nothing earlier any more."""
        with faults(_NAME), transaction(self._connection):
            self._connection.execute(_ACCEPT, (space, identity, sha256))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _mark(self) -> tuple[int, int] | None:
        with faults(_NAME):
            mark: tuple[int, int] | None = self._connection.execute(_MARK).fetchone()
        return mark


def _open(path: Path, *, writable: bool) -> sqlite3.Connection:
    if not writable:
        return _open_for_reading(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = open_writer(path, durable=True)
    with faults(_NAME):
        if connection.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
            _create(connection)
    return connection


def _open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the store as it is, or an empty one where there is none or nothing was ever written to it."""
    if path.exists():
        with faults(_NAME):
            found = open_reader(path)
            if found.execute("PRAGMA user_version").fetchone()[0]:
                return found
            found.close()
    empty = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _create(empty)
    return empty


def _create(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
