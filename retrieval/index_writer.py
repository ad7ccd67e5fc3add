"""Row operations of the index's one writer; what to write is decided by those who follow a source.

The words lane has no content of its own, so a row leaves it only by naming exactly what went in: the
record's text, and the neighbours' column made again from the rows that `before1` and `before2` name.
Rows are therefore deleted by whole conversations, before anything they lean on changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from crdt.archive import Stored
from crdt.sqlite import faults, transaction
from retrieval.index_rows import Draft, near_text, silent_key
from retrieval.index_schema import NAME
from retrieval.superseded import Supersessions

POPULATION_CONVERSATION = 0
POPULATION_NOTE = 1
POPULATION_MEMORY = 2

_GET_META = "SELECT value FROM meta WHERE key = ?"
_SET_META = (
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_MAX_RECORD = "SELECT coalesce(max(id), 0) FROM records"
_FIND_WORKSPACE = "SELECT id FROM workspaces WHERE path = ?"
_ADD_WORKSPACE = "INSERT INTO workspaces (path) VALUES (?)"
_ADD_RECORD = """
INSERT INTO records (id, record_id, conversation, population, workspace, role, event_id, content_sha256,
                     source_sha256, authored_at, event_index, before1, before2, headings, project, expires_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_TEXT = "INSERT INTO texts (id, text) VALUES (?, ?)"
_ADD_WORDS = "INSERT INTO words (rowid, own, near) VALUES (?, ?, ?)"
_FORGET_WORDS = "INSERT INTO words (words, rowid, own, near) VALUES ('delete', ?, ?, ?)"
_ROWS_OF = """
SELECT r.id, r.record_id, r.content_sha256, r.source_sha256, r.event_index, r.before1, r.before2,
    r.authored_at, r.workspace, t.text, r.headings, r.project, r.expires_ms
FROM records r JOIN texts t ON t.id = r.id WHERE r.conversation = ? ORDER BY r.event_index
"""
_DELETE_RECORD = "DELETE FROM records WHERE id = ?"
_DELETE_TEXT = "DELETE FROM texts WHERE id = ?"
_RETIRE = "INSERT INTO retired (record, text) VALUES (?, ?)"
_TEXT_OF = "SELECT text FROM texts WHERE id = ?"
_ADD_SILENT = "INSERT OR IGNORE INTO silent (key) VALUES (?)"
_ANY_RETIRED = "SELECT 1 FROM retired WHERE id <= ? AND text <> ''"
_FORGET_RETIRED = "DELETE FROM retired WHERE id <= ? AND id < (SELECT max(id) FROM retired)"
_EMPTY_RETIRED = "UPDATE retired SET text = '' WHERE id <= ?"
_MOVE_RECORD = """
UPDATE records SET source_sha256 = ?, event_index = ?, before1 = ?, before2 = ?, workspace = ?,
    project = ?, expires_ms = ? WHERE id = ?
"""
_ADD_FRAGMENT = """
INSERT INTO fragments (sha256, conversation, hlc, redactor, segment, frame_offset, frame_bytes, skip, size)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (sha256) DO UPDATE SET hlc = min(hlc, excluded.hlc), segment = excluded.segment,
    frame_offset = excluded.frame_offset, frame_bytes = excluded.frame_bytes, skip = excluded.skip,
    size = excluded.size
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Whose the records are: conversation row, population, and workspace row."""

    conversation: int
    population: int
    workspace: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record as it stands in the index."""

    id: int
    record_id: bytes
    content_sha256: bytes
    source_sha256: bytes
    event_index: int
    before: tuple[int | None, int | None]
    authored_at: str | None
    workspace: int | None
    text: str
    headings: str | None
    project: str | None
    expires_ms: int | None


class IndexWriter:
    """The writer's connection, and what it keeps in memory between transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.superseded = Supersessions(connection)
        self._workspaces: dict[str, int] = {}
        self._next_id = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write a block whole or not at all."""
        with faults(NAME):
            try:
                with transaction(self.connection):
                    self._next_id = max(
                        int(self.meta("next_record") or 1),
                        int(self.connection.execute(_MAX_RECORD).fetchone()[0]) + 1,
                    )
                    yield
                    self.superseded.settle()
                    self.set_meta("next_record", self._next_id)
            except BaseException:
                self._workspaces.clear()
                self.superseded.forget()
                raise

    def is_whole(self) -> bool:
        """Ask SQLite whether every page of the index can be read."""
        try:
            return bool(self.connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False

    def meta(self, key: str) -> int | str | None:
        """Read one of the index's own values."""
        row = self.connection.execute(_GET_META, (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: int | str) -> None:
        """Write one of the index's own values."""
        self.connection.execute(_SET_META, (key, value))

    def workspace(self, path: str | None) -> int | None:
        """Give the row of a workspace, made when it is new."""
        if path is None:
            return None
        if path not in self._workspaces:
            row = self.connection.execute(_FIND_WORKSPACE, (path,)).fetchone()
            made = row[0] if row else self.connection.execute(_ADD_WORKSPACE, (path,)).lastrowid
            self._workspaces[path] = int(made or 0)
        return self._workspaces[path]

    def place_fragments(self, conversation: int, fragments: Iterable[tuple[Stored, int]]) -> None:
        """Enter fragments into the catalog, or move known ones to where they lie now."""
        self.connection.executemany(
            _ADD_FRAGMENT, (_fragment_row(conversation, stored, redactor) for stored, redactor in fragments)
        )

    def add_silent(self, digests: Iterable[bytes]) -> None:
        """Note events that have no record, by the ids that their records would have."""
        self.connection.executemany(_ADD_SILENT, ((silent_key(digest),) for digest in digests))

    def forget_retired(self, up_to: int) -> None:
        """Drop the texts of deleted records that the substring lane has forgotten, in a transaction.

        The newest row stays, emptied, so that numbers only rise.
        """
        if self.connection.execute(_ANY_RETIRED, (up_to,)).fetchone() is None:
            return
        with self.transaction():
            self.connection.execute(_FORGET_RETIRED, (up_to,))
            self.connection.execute(_EMPTY_RETIRED, (up_to,))

    def text_of(self, row_id: int | None) -> str | None:
        """Read the text of a record by its row."""
        row = self.connection.execute(_TEXT_OF, (row_id,)).fetchone() if row_id is not None else None
        return row[0] if row else None

    def add(
        self, home: Home, drafts: Sequence[Draft], before: Sequence[tuple[int, str]] = ()
    ) -> list[tuple[int, str]]:
        """Insert records that follow `before` (row and text, the nearest last); return their rows and texts.

        Notes have no neighbours.
        """
        chain = list(before)
        first = len(chain)
        records, texts, words = [], [], []
        is_note = home.population == POPULATION_NOTE
        for draft in drafts:
            row_id = self._next_id
            self._next_id += 1
            near = [] if is_note else chain[-1:-3:-1]
            ids: list[int | None] = [neighbour for neighbour, _ in near]
            ids += [None] * (2 - len(ids))
            records.append(_record_row(row_id, home, draft, ids))
            texts.append((row_id, draft.text))
            words.append(
                (row_id, draft.text, near_text(draft.headings, draft.authored_at, [text for _, text in near]))
            )
            chain.append((row_id, draft.text))
        self.connection.executemany(_ADD_RECORD, records)
        self.connection.executemany(_ADD_TEXT, texts)
        self.connection.executemany(_ADD_WORDS, words)
        self.superseded.moved(draft.record_id for draft in drafts)
        return chain[first:]

    def rows(self, conversation: int) -> list[Row]:
        """Read the records of a conversation in order."""
        return [
            Row(
                id=row[0], record_id=row[1], content_sha256=row[2], source_sha256=row[3], event_index=row[4],
                before=(row[5], row[6]), authored_at=row[7], workspace=row[8], text=row[9],
                headings=row[10], project=row[11], expires_ms=row[12],
            )
            for row in self.connection.execute(_ROWS_OF, (conversation,))
        ]  # fmt: skip

    def delete(self, rows: Sequence[Row], doomed: Iterable[Row]) -> None:
        """Take records out of every lane; `rows` are all of their conversation, still as they went in."""
        texts = {row.id: row.text for row in rows}
        for row in doomed:
            near = [texts[neighbour] for neighbour in row.before if neighbour is not None]
            self.connection.execute(
                _FORGET_WORDS, (row.id, row.text, near_text(row.headings, row.authored_at, near))
            )
            self.connection.execute(_RETIRE, (row.id, row.text))
            self.connection.execute(_DELETE_RECORD, (row.id,))
            self.connection.execute(_DELETE_TEXT, (row.id,))
            self.superseded.moved((row.record_id,))

    def replace(self, home: Home, wanted: Sequence[Draft]) -> int:
        """Make a conversation's records exactly the wanted ones and return how many were written.

        A row stays when it says the same after the same two turns; only its place is noted then.
        """
        rows = self.rows(home.conversation)
        kept = _unchanged(rows, wanted, home.population)
        self.delete(rows, [row for row in rows if row.record_id not in kept])
        chain: list[tuple[int, str]] = []
        written = 0
        for draft in wanted:
            row = kept.get(draft.record_id)
            if row is None:
                chain += self.add(home, [draft], chain[-2:])
                written += 1
                continue
            before = [identity for identity, _ in chain[-1:-3:-1]] if home.population == 0 else []
            ids = [*before, None, None][:2]
            place = (
                draft.source_sha256, draft.event_index, *ids, home.workspace, draft.project, draft.expires_ms
            )  # fmt: skip
            if place != _place_of(row):
                self.connection.execute(_MOVE_RECORD, (*place, row.id))
            chain.append((row.id, row.text))
        return written


def _unchanged(rows: Sequence[Row], wanted: Sequence[Draft], population: int) -> dict[bytes, Row]:
    """Tell which rows say the same after the same two turns, by record id."""
    by_row = {row.id: row for row in rows}
    by_record = {row.record_id: row for row in rows}
    kept: dict[bytes, Row] = {}
    for index, draft in enumerate(wanted):
        row = by_record.get(draft.record_id)
        if row is None or (row.content_sha256, row.headings) != (draft.content_sha256, draft.headings):
            continue
        near = [] if population == POPULATION_NOTE else list(reversed(wanted[max(0, index - 2) : index]))
        had = [by_row[neighbour].content_sha256 for neighbour in row.before if neighbour is not None]
        if had == [neighbour.content_sha256 for neighbour in near]:
            kept[draft.record_id] = row
    return kept


def _place_of(row: Row) -> tuple[object, ...]:
    return (
        row.source_sha256, row.event_index, *row.before, row.workspace, row.project, row.expires_ms
    )  # fmt: skip


def _record_row(row_id: int, home: Home, draft: Draft, before: Sequence[int | None]) -> tuple[object, ...]:
    return (
        row_id, draft.record_id, home.conversation, home.population, home.workspace, draft.role,
        draft.event_id, draft.content_sha256, draft.source_sha256, draft.authored_at, draft.event_index,
        before[0], before[1], draft.headings, draft.project, draft.expires_ms,
    )  # fmt: skip


def _fragment_row(conversation: int, stored: Stored, redactor: int) -> tuple[object, ...]:
    place = stored.place
    where = (
        (bytes.fromhex(place.segment), place.frame_offset, place.frame_bytes, place.skip, place.size)
        if place
        else (None, 0, 0, 0, 0)
    )
    return (bytes.fromhex(stored.sha256), conversation, stored.hlc, redactor, *where)
