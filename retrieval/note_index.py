"""Notes in the index: each note is a conversation of its own, its pieces the records.

A note's row keeps the redactor's version and the hash of its bytes in `last_key` and its role in `last_id`,
so that an unchanged note is known at a glance.  The sweep is per root: only notes that were indexed from this
root and are gone from it leave the index.  An unreadable note is not a deleted one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from crdt.ids import content_sha256, record_id
from retrieval.index_rows import Draft
from retrieval.index_writer import POPULATION_NOTE, Home, IndexWriter
from retrieval.notes import Note, Redact, chunk_event_id, note_conversation_id

_FIND_ROOT = "SELECT id FROM note_roots WHERE root_id = ?"
_ADD_ROOT = "INSERT INTO note_roots (root_id) VALUES (?)"
_NOTES = "SELECT note_path, id, note_names, source, last_key, last_id FROM conversations WHERE note_root = ?"
_ADD_NOTE = """
INSERT INTO conversations (conversation_id, population, source, source_id, title, automation, captured,
    last_key, last_id, next_index, removed_hlc, note_root, note_path, note_names)
VALUES (?, 1, '', ?, '', 0, 0, '', '', 0, 0, ?, ?, '')
"""
_UPDATE_NOTE = """
UPDATE conversations SET source = ?, title = ?, note_names = ?, last_key = ?, last_id = ? WHERE id = ?
"""
_OF_ANOTHER = "SELECT EXISTS (SELECT 1 FROM conversations WHERE population = 1 AND last_key NOT LIKE ?)"
_ROLE = "SELECT last_id FROM conversations WHERE id = ?"
_DELETE_NOTE = "DELETE FROM conversations WHERE id = ?"
_BATCH_NOTES = 200
_BATCH_CHARS = 8 << 20
"""What one transaction writes, whichever is reached first: a single note can have 8 MiB."""
_CHANGES = "note_changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRootRows:
    """A root in the index, and how its notes are filed: role note, or source for third parties' texts."""

    row: int
    root_id: str
    provider: str
    role: str


@dataclass(slots=True, kw_only=True)
class NoteReport:
    """What a run over one root did."""

    notes: int = 0
    records: int = 0
    unchanged: int = 0
    removed: int = 0


class NoteIndex:
    """Writes the notes of one root, in batches; each batch is a transaction.

    `redact` is for titles, names and pieces, since a title may be the name of a file.  Notes that were
    indexed under another `redactor_version` are indexed again.
    """

    def __init__(self, index: IndexWriter, redact: Redact, redactor_version: int = 0) -> None:
        self._index = index
        self._redact = redact
        self._redactor_version = redactor_version

    def root(self, root_id: str, provider: str, role: str) -> NoteRootRows:
        """Give a root's row, made when it is new."""
        connection = self._index.connection
        row = connection.execute(_FIND_ROOT, (bytes.fromhex(root_id),)).fetchone()
        if row is None:
            with self._index.transaction():
                row = (connection.execute(_ADD_ROOT, (bytes.fromhex(root_id),)).lastrowid,)
        return NoteRootRows(row=row[0], root_id=root_id, provider=provider, role=role)

    def put(self, root: NoteRootRows, notes: Iterable[Note]) -> NoteReport:
        """Index notes; one whose bytes and filing are the same is not touched."""
        known = {path: rest for path, *rest in self._index.connection.execute(_NOTES, (root.row,))}
        report = NoteReport()
        batch: list[tuple[Note, int | None]] = []
        chars = 0
        for note in notes:
            row, *filed = known.get(note.relative_path, (None,))
            if filed == [self._names(note), root.provider, self._revision(note), root.role]:
                report.unchanged += 1
                continue
            batch.append((note, row))
            chars += sum(len(chunk.text) for chunk in note.chunks)
            if len(batch) >= _BATCH_NOTES or chars >= _BATCH_CHARS:
                self._write(root, batch, report)
                batch, chars = [], 0
        self._write(root, batch, report)
        return report

    def sweep(self, root: NoteRootRows, present: Iterable[str], unreadable: Iterable[str] = ()) -> int:
        """Take the notes of a root that are gone out of the index; return how many there were.

        `unreadable` are files and directories (the root itself is empty text) about which nothing is known:
        what lies there stays.
        """
        keep = set(present)
        doubtful = list(unreadable)
        known = self._index.connection.execute(_NOTES, (root.row,)).fetchall()
        gone = [row for path, row, *_ in known if path not in keep and not _is_below(path, doubtful)]
        if gone:
            with self._index.transaction():
                for row in gone:
                    rows = self._index.rows(row)
                    self._index.delete(rows, rows)
                    self._index.connection.execute(_DELETE_NOTE, (row,))
                self._count_change()
        return len(gone)

    def _write(self, root: NoteRootRows, batch: list[tuple[Note, int | None]], report: NoteReport) -> None:
        if not batch:
            return
        with self._index.transaction():
            for note, row in batch:
                report.notes += 1
                report.records += self._write_note(root, note, row)
            self._count_change()

    def _write_note(self, root: NoteRootRows, note: Note, row: int | None) -> int:
        identity = note_conversation_id(root.root_id, note.relative_path)
        title = self._redact(note.title)[0]
        connection = self._index.connection
        is_new = row is None
        if row is None:
            place = (bytes.fromhex(identity), note.relative_path, root.row, note.relative_path)
            row = int(connection.execute(_ADD_NOTE, place).lastrowid or 0)
        filed = (root.provider, title, self._names(note), self._revision(note), root.role, row)
        if not is_new and self._role(row) != root.role:
            rows = self._index.rows(row)
            self._index.delete(rows, rows)
        connection.execute(_UPDATE_NOTE, filed)
        home = Home(conversation=row, population=POPULATION_NOTE, workspace=None)
        return self._index.replace(home, self._drafts(root, note, identity, title))

    def _drafts(self, root: NoteRootRows, note: Note, identity: str, title: str) -> list[Draft]:
        drafts = []
        for index, chunk in enumerate(note.chunks):
            event = chunk_event_id(chunk.heading_path, chunk.ordinal)
            text = self._redact(chunk.text)[0]
            if not text.strip():
                continue
            drafts.append(
                Draft(
                    record_id=bytes.fromhex(record_id(identity, event)),
                    event_id=event,
                    role=root.role,
                    text=text,
                    authored_at=None,
                    content_sha256=bytes.fromhex(content_sha256(root.role, text, None)),
                    source_sha256=bytes.fromhex(note.sha256),
                    event_index=index,
                    headings=f"{title}\n{self._redact(chunk.heading_path)[0]}",
                )
            )
        return drafts

    def _names(self, note: Note) -> str:
        names = [self._redact(name)[0] for name in (note.title, *note.aliases)]
        return json.dumps(names, ensure_ascii=False)

    def _revision(self, note: Note) -> str:
        return f"{self._redactor_version} {note.sha256}"

    def _role(self, row: int) -> str:
        return str(self._index.connection.execute(_ROLE, (row,)).fetchone()[0])

    def _count_change(self) -> None:
        self._index.set_meta(_CHANGES, int(self._index.meta(_CHANGES) or 0) + 1)


def has_notes_of_another(index: IndexWriter, redactor_version: int) -> bool:
    """Tell whether notes are in the index as another version of the redactor left them."""
    found: int = index.connection.execute(_OF_ANOTHER, (f"{redactor_version} %",)).fetchone()[0]
    return bool(found)


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(not place or path == place or path.startswith(place + "/") for place in places)
