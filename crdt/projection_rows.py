"""Writes records into the projection: each statement that changes a row of one, over one connection.

Transactions are the caller's.  Numbers of spaces, authors and rows mean nothing outside this file and
differ from node to node.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from crdt.edges import EDGE
from crdt.operations import Value
from crdt.projection_ledger import Key
from crdt.records import RecordState, encode_state

_CHANGE_SEQ = "SELECT value FROM meta WHERE key = 'change_seq'"
_SET_CHANGE_SEQ = "UPDATE meta SET value = ? WHERE key = 'change_seq'"
_AUTHOR = "SELECT id FROM authors WHERE author = ?"
_ADD_AUTHOR = "INSERT INTO authors (author) VALUES (?)"
_FIND = """
SELECT r.row, r.state_sha256, t.state FROM records r LEFT JOIN states t ON t.row = r.row
WHERE r.id = ? AND r.space = ?
"""
_ADD_OP = "INSERT OR IGNORE INTO ops (record, entry, author) VALUES (?, ?, ?)"
_PLACES = "SELECT record, entry FROM ops WHERE record IN (SELECT value FROM json_each(?)) ORDER BY 1, 2"
_PUT_RECORD = """
INSERT INTO records (
    space, id, type, kind, project, scope, workspace, agent, author, confidence, created_hlc, updated_hlc,
    expires_ms, version, deleted, conflicted, change_seq, state_sha256
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id, space) DO UPDATE SET
    type = excluded.type, kind = excluded.kind, project = excluded.project, scope = excluded.scope,
    workspace = excluded.workspace, agent = excluded.agent, author = excluded.author,
    confidence = excluded.confidence, created_hlc = excluded.created_hlc, updated_hlc = excluded.updated_hlc,
    expires_ms = excluded.expires_ms, version = excluded.version, deleted = excluded.deleted,
    conflicted = excluded.conflicted, change_seq = excluded.change_seq, state_sha256 = excluded.state_sha256
"""
_ADD_EMPTY = """
INSERT INTO records (
    space, id, type, agent, author, created_hlc, updated_hlc, version, deleted, conflicted, change_seq
) VALUES (?, ?, ?, '', 0, 0, 0, 0, 0, 0, 0)
"""
_EMPTY = """
UPDATE records SET kind = NULL, project = NULL, scope = NULL, workspace = NULL, confidence = NULL,
    expires_ms = NULL, version = 0, deleted = 0, conflicted = 0, change_seq = ?, state_sha256 = NULL
WHERE row = ?
"""
_PUT_STATE = "INSERT OR REPLACE INTO states (row, state) VALUES (?, ?)"
_DROP_STATE = "DELETE FROM states WHERE row = ?"
_DROP_TAGS = "DELETE FROM tags WHERE record = ?"
_ADD_TAG = "INSERT INTO tags (tag, updated_hlc, record) VALUES (?, ?, ?)"
_DROP_EDGE = "DELETE FROM edges WHERE record = ?"
_ADD_EDGE = "INSERT INTO edges (record, relation, source, target) VALUES (?, ?, ?, ?)"


class Found(msgspec.Struct, frozen=True):
    """A row that is there; `state` is None where nothing about the record is admitted."""

    row: int
    state_sha256: bytes | None
    state: bytes | None


class Reduced(msgspec.Struct, frozen=True, kw_only=True):
    """What a record has become; `operations` are those that are new, by place and author.

    `type` is what an operation said it is, for a record without a state.
    """

    key: Key
    type: str
    found: Found | None
    state: RecordState | None
    operations: Sequence[tuple[int, bytes]] = ()


@dataclass(slots=True)
class _Beside:
    """What goes into the other tables, gathered to be written at once."""

    states: list[tuple[int, bytes]] = field(default_factory=list)
    tags: list[tuple[str, int, int]] = field(default_factory=list)
    edges: list[tuple[int, str, str, str]] = field(default_factory=list)
    operations: list[tuple[int, int, int]] = field(default_factory=list)

    def spread(self, row: int, state: RecordState) -> None:
        """Lay out what lists look up by a table of its own; tombstones keep their tags, edges end."""
        self.tags += [(tag, state.updated_hlc, row) for tag in state.tags]
        if state.type == EDGE.name and not state.deleted:
            relation, source, target = (_text(state.fields.get(name)) for name in ("relation", "from", "to"))
            self.edges.append((row, relation, source, target))


class Rows:
    """The rows of records, for the one who writes them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._database = connection
        self._authors: dict[bytes, int] = {}

    def forget(self) -> None:
        """Drop what was remembered from a transaction that was rolled back."""
        self._authors.clear()

    def find(self, keys: Iterable[Key]) -> dict[Key, Found]:
        """Look records up."""
        rows = ((key, self._database.execute(_FIND, (key.id, key.space)).fetchone()) for key in keys)
        return {key: Found(*row) for key, row in rows if row is not None}

    def places(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """Give the places in the feeds of all operations on some records, by row."""
        places: dict[int, list[int]] = {row: [] for row in rows}
        for row, place in self._database.execute(_PLACES, (json.dumps(rows),)):
            places[row].append(place)
        return places

    def put(self, reduced: Iterable[Reduced]) -> int:
        """Write what records have become; each that differs gets the next change_seq.  Count those."""
        first = change_seq = int(self._database.execute(_CHANGE_SEQ).fetchone()[0])
        beside = _Beside()
        for item in reduced:
            row, has_changed = self._put_one(item, change_seq + 1, beside)
            change_seq += has_changed
            beside.operations += [(row, place, self._author(author)) for place, author in item.operations]
        self._database.executemany(_PUT_STATE, beside.states)
        self._database.executemany(_ADD_TAG, beside.tags)
        self._database.executemany(_ADD_EDGE, beside.edges)
        self._database.executemany(_ADD_OP, beside.operations)
        self._database.execute(_SET_CHANGE_SEQ, (change_seq,))
        return change_seq - first

    def _put_one(self, item: Reduced, change_seq: int, beside: _Beside) -> tuple[int, bool]:
        if item.state is None:
            return self._put_absence(item, change_seq)
        data = encode_state(item.state)
        sha256 = hashlib.sha256(data).digest()
        if item.found is not None and item.found.state_sha256 == sha256:
            return item.found.row, False
        columns = self._columns(item.key, item.state)
        added = self._database.execute(_PUT_RECORD, (*columns, change_seq, sha256))
        row = int(added.lastrowid or 0)
        if item.found is not None:
            row = item.found.row
            self._clear(row)
        beside.states.append((row, data))
        beside.spread(row, item.state)
        return row, True

    def _put_absence(self, item: Reduced, change_seq: int) -> tuple[int, bool]:
        if item.found is None:
            added = self._database.execute(_ADD_EMPTY, (item.key.space, item.key.id, item.type))
            return int(added.lastrowid or 0), False
        row, was = item.found.row, item.found.state_sha256
        if was is not None:
            self._database.execute(_EMPTY, (change_seq, row))
            self._database.execute(_DROP_STATE, (row,))
            self._clear(row)
        return row, was is not None

    def _columns(self, key: Key, state: RecordState) -> tuple[object, ...]:
        value = state.fields.get
        return (
            key.space, key.id, state.type, value("kind"), value("project"), value("scope"),
            value("workspace"), state.agent, self._author(state.creator), value("confidence"),
            state.created_hlc, state.updated_hlc, value("expires_at"), state.version,
            state.deleted, bool(state.conflicts),
        )  # fmt: skip

    def _clear(self, row: int) -> None:
        self._database.execute(_DROP_TAGS, (row,))
        self._database.execute(_DROP_EDGE, (row,))

    def _author(self, author: bytes) -> int:
        number = self._authors.get(author)
        if number is None:
            row = self._database.execute(_AUTHOR, (author,)).fetchone()
            found = row[0] if row else self._database.execute(_ADD_AUTHOR, (author,)).lastrowid
            number = self._authors[author] = int(found or 0)
        return number


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""
