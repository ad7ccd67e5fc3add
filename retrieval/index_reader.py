"""One reader of the index: lays out a scope, runs a lane, brings hits whole, counts and digests.

A reader takes no lock and writes nothing.  It sees one consistent state per statement; several readers run
beside the writer.  A record that is expired by the reader's clock is brought by nothing that looks for
records; only what counts them all still counts it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from crdt.clock import wall_ms
from crdt.sqlite import faults, uri
from retrieval.index_schema import NAME, open_index_reader
from retrieval.index_scope import create_scope, lay_out, prepare
from retrieval.models import Candidate, Deadline, Filter, Hit, LaneAnswer
from retrieval.query import Query
from retrieval.scope import Aliases
from retrieval.substrings import search_substrings
from retrieval.words import search_words

_SELECT_HITS = """
SELECT id, record_id, text, role, source, conversation_id, title, event_index, source_sha256, authored_at,
       workspace, note_root, note_path, author, superseded_by
FROM hits WHERE (expires_ms IS NULL OR expires_ms > now_ms()) AND {which}
"""
_HITS_BY_ROW = _SELECT_HITS.format(which="id IN (SELECT value FROM json_each(?))")
_HITS_BY_PREFIX = _SELECT_HITS.format(
    which="""id IN
    (SELECT id FROM records WHERE record_id >= ? AND record_id < ? ORDER BY record_id LIMIT 3)
ORDER BY record_id"""
)
_HITS_OF_CONVERSATION = _SELECT_HITS.format(
    which="conversation = (SELECT conversation FROM records WHERE id = ?) ORDER BY event_index"
)
_HITS_AROUND = _SELECT_HITS.format(
    which="""id IN (
    SELECT id FROM (SELECT id FROM records WHERE conversation = ?1 AND event_index <= ?2
                    ORDER BY event_index DESC LIMIT ?3 + 1)
    UNION ALL
    SELECT id FROM (SELECT id FROM records WHERE conversation = ?1 AND event_index > ?2
                    ORDER BY event_index LIMIT ?3))
ORDER BY event_index"""
)
_PLACE = "SELECT conversation, event_index FROM records WHERE id = ?"
_COUNT_OF_CONVERSATION = """
SELECT count(*) FROM records WHERE conversation = (SELECT conversation FROM records WHERE id = ?)
"""
_ANY_RECORD = "SELECT EXISTS (SELECT 1 FROM records)"
_ANY_NOTE = "SELECT EXISTS (SELECT 1 FROM conversations WHERE note_root IS NOT NULL)"
_ANY_MEMORY = "SELECT EXISTS (SELECT 1 FROM conversations WHERE population = 2)"
_HITS_OF_NOTE = _SELECT_HITS.format(which="note_root = ? AND note_path = ? ORDER BY event_index LIMIT ?")
_NOTE_NAMES = "SELECT note_path, note_names FROM conversations WHERE note_root = ? AND removed_hlc = 0"
_DIGEST = "SELECT record_id, content_sha256 FROM records WHERE population = 0 ORDER BY record_id"
# Notes are few: finding them by a scan and sorting them costs 0.2 s of a million records, and a walk in the
# order of the ids, which looks up every record, 3 s.
_NOTES_DIGEST = """
SELECT record_id, content_sha256 FROM records NOT INDEXED WHERE population = 1 ORDER BY record_id
"""
_BY_SOURCE = """
SELECT c.source, sum(r.n) FROM (SELECT conversation, count(*) AS n FROM records GROUP BY conversation) r
JOIN conversations c ON c.id = r.conversation GROUP BY c.source ORDER BY c.source
"""
_META = "SELECT value FROM meta WHERE key = ?"
_CATALOG = """
SELECT id, conversation_id, source FROM conversations
WHERE population = 0 AND (removed_hlc = 0 OR ?) ORDER BY conversation_id
"""
_CONVERSATION = "SELECT id, removed_hlc, captured FROM conversations WHERE conversation_id = ?"
_ATTACHED = "SELECT 1 FROM pragma_database_list WHERE name = 'lane'"
_HEX_CHARS = 64
NOTE_RECORDS_MAX = 4_200
"""Records of one note that are read: those of the largest note that is indexed, 8 MiB in pieces of 2,000."""


class IndexReader:
    """A read-only view of the index; `close` it."""

    def __init__(
        self, connection: sqlite3.Connection, aliases: Aliases, now_ms: Callable[[], int] = wall_ms
    ) -> None:
        self.connection = connection
        self.aliases = aliases
        self._laid_out: str | None = None
        prepare(connection, now_ms)

    @property
    def has_substring_lane(self) -> bool:
        """Tell whether letters are looked up in an index; without one every text is scanned."""
        with faults(NAME):
            return any(row[1] == "lane" for row in self.connection.execute("PRAGMA database_list"))

    def words(self, query: Query, wanted: Filter, limit: int, deadline: Deadline) -> LaneAnswer:
        """Search the words lane."""
        self._lay_out(wanted.workspace)
        return search_words(self.connection, query, wanted, limit, deadline)

    def substrings(self, text: str, wanted: Filter, limit: int, deadline: Deadline) -> LaneAnswer:
        """Search the substring lane."""
        self._lay_out(wanted.workspace)
        with faults(NAME):
            return search_substrings(self.connection, text, wanted, limit, deadline)

    def hits(self, candidates: Sequence[Candidate], lane: str) -> list[Hit]:
        """Bring candidates whole, in their order; one that left the index meanwhile is left out."""
        scores = {candidate.row: candidate.score for candidate in candidates}
        with faults(NAME):
            rows = self.connection.execute(_HITS_BY_ROW, (json.dumps(list(scores)),)).fetchall()
        found = {row[0]: self._hit(row, scores[row[0]], lane) for row in rows}
        return [found[row] for row in scores if row in found]

    def by_prefix(self, prefix: str) -> list[Hit]:
        """Find records by the beginning of their id, in hex; at most three, to tell that it is ambiguous."""
        low = bytes.fromhex(prefix.ljust(_HEX_CHARS, "0"))
        high = bytes.fromhex(prefix.ljust(_HEX_CHARS, "f")) + b"\0"
        with faults(NAME):
            rows = self.connection.execute(_HITS_BY_PREFIX, (low, high)).fetchall()
        return [self._hit(row, 0.0, "") for row in rows]

    def conversation_of(self, row: int) -> list[Hit]:
        """Bring every record of the conversation of a record, in order."""
        with faults(NAME):
            rows = self.connection.execute(_HITS_OF_CONVERSATION, (row,)).fetchall()
        return [self._hit(found, 0.0, "") for found in rows]

    def around(self, row: int, turns: int) -> list[Hit]:
        """Bring a record with at most so many before it and after it in its conversation, in order."""
        with faults(NAME):
            place = self.connection.execute(_PLACE, (row,)).fetchone()
            if place is None:
                return []
            rows = self.connection.execute(_HITS_AROUND, (*place, turns)).fetchall()
        return [self._hit(found, 0.0, "") for found in rows]

    def count_of_conversation(self, row: int) -> int:
        """Count the records of the conversation of a record."""
        with faults(NAME):
            return int(self.connection.execute(_COUNT_OF_CONVERSATION, (row,)).fetchone()[0])

    def is_empty(self) -> bool:
        """Tell whether there is no record at all."""
        with faults(NAME):
            return not self.connection.execute(_ANY_RECORD).fetchone()[0]

    def has_notes(self) -> bool:
        """Tell whether any note is indexed."""
        with faults(NAME):
            return bool(self.connection.execute(_ANY_NOTE).fetchone()[0])

    def has_memory(self) -> bool:
        """Tell whether any piece of shared memory is indexed."""
        with faults(NAME):
            return bool(self.connection.execute(_ANY_MEMORY).fetchone()[0])

    def note(self, root: int, path: str, limit: int = NOTE_RECORDS_MAX) -> list[Hit]:
        """Bring the first records of a note in order; none when it is not indexed."""
        with faults(NAME):
            rows = self.connection.execute(_HITS_OF_NOTE, (root, path, limit)).fetchall()
        return [self._hit(row, 0.0, "linked") for row in rows]

    def note_names(self, root: int) -> dict[str, list[str]]:
        """List the notes of a root: path to its title and aliases."""
        with faults(NAME):
            rows = self.connection.execute(_NOTE_NAMES, (root,)).fetchall()
        return {path: json.loads(names) for path, names in rows}

    def digest(self, *, notes: bool = False) -> str:
        """Hash the sorted (record id, content hash) pairs of the canonical populations, or of the notes."""
        # Imported here, since an ordinary search hashes nothing.
        import hashlib

        hashed = hashlib.sha256()
        with faults(NAME):
            for record_id, content in self.connection.execute(_NOTES_DIGEST if notes else _DIGEST):
                hashed.update(record_id)
                hashed.update(content)
        return hashed.hexdigest()

    def by_source(self) -> dict[str, int]:
        """Count the records of each source."""
        with faults(NAME):
            return dict(self.connection.execute(_BY_SOURCE).fetchall())

    def meta(self, key: str) -> int | str | None:
        """Read one of the index's own values."""
        with faults(NAME):
            row = self.connection.execute(_META, (key,)).fetchone()
        return row[0] if row else None

    def conversations(self, *, removed: bool = False) -> Iterator[tuple[int, str, str]]:
        """List conversations of the archive by id: (row, id, source); `removed` adds tombstoned ones."""
        with faults(NAME):
            rows = self.connection.execute(_CATALOG, (removed,)).fetchall()
        return ((row, identity.hex(), source) for row, identity, source in rows)

    def conversation(self, conversation_id: str) -> tuple[int, bool, bool] | None:
        """Find a conversation: (row, whether it is tombstoned, whether it was captured)."""
        with faults(NAME):
            row = self.connection.execute(_CONVERSATION, (bytes.fromhex(conversation_id),)).fetchone()
        return (row[0], bool(row[1]), bool(row[2])) if row else None

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _lay_out(self, workspace: str | None) -> None:
        """Make the temporary tables hold this scope, where there is one."""
        if workspace is None or workspace == self._laid_out:
            return
        with faults(NAME):
            if self._laid_out is None:
                create_scope(self.connection)
            lay_out(self.connection, self.aliases, workspace)
        self._laid_out = workspace

    def _hit(self, row: tuple[object, ...], score: float, lane: str) -> Hit:
        (identity, record, text, role, source, conversation, title, index, revision, at, path, root, note,
         author, newest) = row  # fmt: skip
        workspace = self.aliases.resolve(str(path), str(at) if at else None) if path else None
        return Hit(
            row=int(str(identity)), record_id=_hex(record), text=str(text), score=score, lane=lane,
            role=str(role), provider=str(source), conversation_id=_hex(conversation), title=str(title),
            event_index=int(str(index)), source_sha256=_hex(revision), authored_at=str(at) if at else None,
            workspace=workspace, note_root=int(str(root)) if root is not None else None,
            note_path=str(note) if note is not None else None,
            author=str(author) if author is not None else None,
            superseded_by=_hex(newest) if newest is not None else None,
        )  # fmt: skip


def open_reader(
    index_path: Path, substrings_path: Path, aliases: Aliases, now_ms: Callable[[], int] = wall_ms
) -> IndexReader:
    """Open the index with the substring lane beside it where there is one.

    Raises `IndexUnavailable` where there is no index.
    """
    connection = open_index_reader(index_path)
    if substrings_path.exists():
        _attach(connection, substrings_path)
    return IndexReader(connection, aliases, now_ms)


def _attach(connection: sqlite3.Connection, path: Path) -> None:
    """Attach the substring lane; without it, or with one of another index, its search scans instead.

    Beside a read-only directory SQLite can't make its -shm file: nobody writes there, so the file is opened
    as immutable then.  A lane that can't be read at all is the doctor's business, not that of an answer.
    """
    for mode in ("ro", "immutable"):
        try:
            connection.execute("ATTACH DATABASE ? AS lane", (uri(path, mode),))
            is_ours = _generation(connection, "main") == _generation(connection, "lane")
        except sqlite3.DatabaseError:
            is_ours = False
        if is_ours:
            return
        if connection.execute(_ATTACHED).fetchone():
            connection.execute("DETACH DATABASE lane")


def _generation(connection: sqlite3.Connection, schema: str) -> object:
    statement = {
        "main": "SELECT value FROM main.meta WHERE key = 'generation'",
        "lane": "SELECT value FROM lane.meta WHERE key = 'generation'",
    }[schema]
    return connection.execute(statement).fetchone()


def _hex(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
