"""Reads `derived/projection.db`: one record, lists, changes, history, digest.

A reader takes no lock and writes nothing; it sees what was committed when a statement began.  Open one for
a request and close it: after a rebuild the file is another, which an open reader does not see.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from crdt.clock import milliseconds_of
from crdt.confidence import CONFIDENCE_ASSUMED, effective_confidence
from crdt.errors import BadInput, Damaged, NotFound
from crdt.operations import Stamped, Value
from crdt.projection_digest import ProjectionCounts, ProjectionDigest, counts_of, digest_of
from crdt.projection_feeds import FeedReader, valid
from crdt.projection_filters import Cursor, Order, RecordFilter, decode_cursor, encode_cursor, query_of
from crdt.projection_follow import LOOKUP_PLACES
from crdt.projection_history import Version, counted, state_at
from crdt.projection_schema import NAME, open_projection_reader
from crdt.records import RecordState, decode_state
from crdt.sqlite import MENDS, faults

PREFIX_CHARS_MIN = 4
CHANGES_MAX = 1_000
LIMIT = 50
_CANDIDATES_MAX = 5
_LAST_CHARACTER = "\U0010ffff"
_SELECT = """
SELECT r.row, r.change_seq, s.space, s.kind, s.label, t.state
FROM records r JOIN spaces s ON s.id = r.space JOIN states t ON t.row = r.row WHERE {which}
"""
_BY_ROWS = _SELECT.format(which="r.row IN (SELECT value FROM json_each(?))")
_BY_IDS = _SELECT.format(which="r.id IN (SELECT value FROM json_each(?))")
_WITH_ID = """
SELECT r.row, r.id, r.type, s.space, s.label FROM records r JOIN spaces s ON s.id = r.space
WHERE r.id {range} AND r.version > 0 AND (?3 IS NULL OR s.space = ?3)
AND (?4 = '[]' OR r.type IN (SELECT value FROM json_each(?4))) ORDER BY r.id, s.space LIMIT ?5
"""
_EXACT = _WITH_ID.format(range="= ?1 AND ?2 IS NOT NULL")
_PREFIXED = _WITH_ID.format(range=">= ?1 AND r.id < ?2")
# That places are above 0 is said again, since SQLite uses a partial index only where it can see that it may;
# behind the place, since of two lower bounds it walks from the first.
_CHANGES = """
SELECT r.change_seq, s.space, r.type, r.id, r.version = 0, r.row
FROM records r JOIN spaces s ON s.id = r.space
WHERE r.change_seq > ? AND r.change_seq > 0 ORDER BY r.change_seq LIMIT ?
"""
_EDGES = """
SELECT s.space, r.id, e.source, e.relation, e.target, r.created_hlc
FROM edges e JOIN records r ON r.row = e.record JOIN spaces s ON s.id = r.space
WHERE e.{end} IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR e.relation = ?2)
ORDER BY r.created_hlc, r.id, s.space
"""
_EDGES_FROM = _EDGES.format(end="source")
_EDGES_TO = _EDGES.format(end="target")
_WORKSPACES = """
WITH RECURSIVE found (path) AS (
    SELECT min(workspace) FROM records WHERE workspace IS NOT NULL
    UNION ALL
    SELECT (SELECT min(r.workspace) FROM records r WHERE r.workspace > found.path) FROM found
    WHERE found.path IS NOT NULL
)
SELECT path FROM found WHERE path IS NOT NULL
"""
_NAMES = """
SELECT r.type, r.id, s.space FROM records r JOIN spaces s ON s.id = r.space
WHERE r.type IN (SELECT value FROM json_each(?)) AND r.version > 0 AND NOT r.deleted
"""
_PLACES = "SELECT entry FROM ops WHERE record = ? ORDER BY entry"
_META = "SELECT value FROM meta WHERE key = ?"


class RecordView(msgspec.Struct, frozen=True, kw_only=True):
    """A record with where it is kept; `row` and `change_seq` mean nothing on another node."""

    row: int
    change_seq: int
    space: bytes
    space_kind: str
    space_label: str
    state: RecordState

    @property
    def id(self) -> str:
        """The record's id."""
        return self.state.id

    @property
    def type(self) -> str:
        """The record's type."""
        return self.state.type

    @property
    def created_ms(self) -> int:
        """When it was created, in milliseconds since 1970."""
        return milliseconds_of(self.state.created_hlc)

    @property
    def updated_ms(self) -> int:
        """When it last changed, in milliseconds since 1970."""
        return milliseconds_of(self.state.updated_hlc)

    def field(self, name: str) -> Value:
        """Give a field, None where it is not set."""
        return self.state.fields.get(name)

    def effective_confidence(self, now_ms: int, heat: float = 0.0) -> float:
        """Tell how sure one may be of it at an instant."""
        asserted, kind = self.field("confidence"), self.field("kind")
        return effective_confidence(
            asserted if isinstance(asserted, int | float) else CONFIDENCE_ASSUMED,
            kind if isinstance(kind, str) else None,
            self.updated_ms,
            now_ms,
            heat,
        )


class Page(msgspec.Struct, frozen=True):
    """A part of a list; `cursor` leads to the next part, None at the end."""

    records: list[RecordView]
    cursor: str | None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A record that changed; of each record only the newest change is known.

    `is_gone` says that nothing is left of it, not even a tombstone: none of its operations counts any more.
    """

    change_seq: int
    space: bytes
    type: str
    id: str
    is_gone: bool
    row: int


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A live edge between two records."""

    space: bytes
    id: str
    source: str
    relation: str
    target: str
    created_hlc: int


class ProjectionReader:
    """A read-only view of the projection; `close` it.  One thread at a time."""

    def __init__(self, connection: sqlite3.Connection, feeds: FeedReader) -> None:
        self._connection = connection
        self._feeds = feeds
        connection.create_function("effective_confidence", 4, _effective_confidence, deterministic=True)

    def get(self, id_or_prefix: str, *, space: bytes | None = None, types: Sequence[str] = ()) -> RecordView:
        """Find a record by its id or the beginning of it, at least 4 characters; tombstones are found too.

        Raises `NotFound`, and `BadInput` where several records begin so, naming them.
        """
        among = (space, json.dumps(list(types)), _CANDIDATES_MAX + 1)
        with faults(NAME):
            rows = self._connection.execute(_EXACT, (id_or_prefix, "", *among)).fetchall()
            if not rows and len(id_or_prefix) >= PREFIX_CHARS_MIN:
                end = id_or_prefix + _LAST_CHARACTER
                rows = self._connection.execute(_PREFIXED, (id_or_prefix, end, *among)).fetchall()
        if not rows:
            raise _not_found(id_or_prefix)
        if len(rows) > 1:
            raise _ambiguous(id_or_prefix, [tuple(row[1:]) for row in rows])
        return self.views([rows[0][0]])[0]

    def list_records(
        self,
        wanted: RecordFilter,
        *,
        order: Order = Order.NEWEST,
        limit: int = LIMIT,
        cursor: str | None = None,
    ) -> Page:
        """List records; raises `BadInput` for a cursor of another list and a limit that is not 1 to 500."""
        generation = self.generation()
        after = None if cursor is None else decode_cursor(cursor, order, generation)
        query = query_of(wanted, order, limit, after)
        with faults(NAME):
            rows = self._connection.execute(query.statement, query.values).fetchall()
        views = {view.row: view for view in self.views([row[0] for row in rows])}
        last = None
        if len(rows) == limit:
            row, hlc, name, change_seq = rows[-1]
            last = Cursor(order, generation, hlc, name, row, change_seq)
        records = [views[row[0]] for row in rows if row[0] in views]
        return Page(records, None if last is None else encode_cursor(last))

    def views(self, rows: Sequence[int]) -> list[RecordView]:
        """Bring records whole by their rows, in any order; one that is gone is left out."""
        with faults(NAME):
            found = self._connection.execute(_BY_ROWS, (json.dumps(rows),)).fetchall()
        return [_view(row) for row in found]

    def with_ids(self, ids: Sequence[str]) -> list[RecordView]:
        """Bring every record that has one of these ids, in whatever space, in any order; tombstones too."""
        with faults(NAME):
            found = self._connection.execute(_BY_IDS, (json.dumps(list(ids)),)).fetchall()
        return [_view(row) for row in found]

    def changes(self, after: int, limit: int = LIMIT) -> list[Change]:
        """Give what changed behind a place, oldest first, at most 1,000; each consumer keeps its own place.

        Places are those of one `generation`: of another one a consumer begins at 0.
        """
        with faults(NAME):
            rows = self._connection.execute(_CHANGES, (after, min(limit, CHANGES_MAX))).fetchall()
        return [
            Change(change_seq=seq, space=space, type=kind, id=name, is_gone=bool(is_gone), row=row)
            for seq, space, kind, name, is_gone, row in rows
        ]

    def workspaces(self) -> list[str]:
        """List the workspaces that records belong to, in order; one step of an index each."""
        with faults(NAME):
            return [path for (path,) in self._connection.execute(_WORKSPACES)]

    def names(self, types: Sequence[str]) -> list[tuple[str, str, bytes]]:
        """Name every live record of some types, in any order: type, id, space."""
        with faults(NAME):
            return self._connection.execute(_NAMES, (json.dumps(list(types)),)).fetchall()

    def edges_from(self, ids: Sequence[str], relation: str | None = None) -> list[Edge]:
        """Give the edges that begin at some records, oldest first."""
        return self._edges(_EDGES_FROM, ids, relation)

    def edges_to(self, ids: Sequence[str], relation: str | None = None) -> list[Edge]:
        """Give the edges that end at some records, oldest first."""
        return self._edges(_EDGES_TO, ids, relation)

    def operations(self, view: RecordView) -> list[Stamped]:
        """Read all operations on a record back from the feeds, but void ones; not all of them need count."""
        return list(self._operations(view))

    def history(self, view: RecordView) -> list[Version]:
        """Give every operation that counts, oldest first, with its version number."""
        roster = self._feeds.roster(view.space)
        return counted(self._operations(view), roster)

    def state_at(self, view: RecordView, number: int) -> RecordState:
        """Give what a record was at a version; raises `NotFound` for a version that it never had."""
        roster = self._feeds.roster(view.space)
        return state_at(counted(self._operations(view), roster), number, roster)

    def digest(self) -> ProjectionDigest:
        """Digest what nodes can compare: equal entries, equal digests."""
        with faults(NAME):
            return digest_of(self._connection)

    def counts(self) -> ProjectionCounts:
        """Count records by type, and operations."""
        with faults(NAME):
            return counts_of(self._connection)

    def head(self) -> int:
        """Tell the place of the newest change, 0 for none."""
        return int(self._meta("change_seq"))

    def watermark(self) -> int:
        """Tell the place in the feeds that the projection is level with."""
        return int(self._meta("watermark"))

    def generation(self) -> str:
        """Name this making of the projection: places of changes are true within one."""
        return str(self._meta("generation"))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _meta(self, key: str) -> int | str:
        with faults(NAME):
            found: int | str = self._connection.execute(_META, (key,)).fetchone()[0]
        return found

    def _operations(self, view: RecordView) -> Iterator[Stamped]:
        with faults(NAME):
            places = [place for (place,) in self._connection.execute(_PLACES, (view.row,))]
        for start in range(0, len(places), LOOKUP_PLACES):
            some = places[start : start + LOOKUP_PLACES]
            yield from valid(self._feeds.by_ids(some), self._feeds.voids(some))

    def _edges(self, statement: str, ids: Sequence[str], relation: str | None) -> list[Edge]:
        with faults(NAME):
            rows = self._connection.execute(statement, (json.dumps(list(ids)), relation)).fetchall()
        return [
            Edge(space=space, id=name, source=source, relation=kind, target=target, created_hlc=clock)
            for space, name, source, kind, target, clock in rows
        ]


def open_reader_of_projection(path: Path, feeds: FeedReader) -> ProjectionReader:
    """Open the projection; raises `Unavailable` where it is absent or of another version."""
    return ProjectionReader(open_projection_reader(path), feeds)


def _view(row: tuple[int, int, bytes, str, str, bytes]) -> RecordView:
    number, change_seq, space, kind, label, data = row
    try:
        state = decode_state(data)
    except msgspec.MsgspecError as error:
        raise Damaged(f"a record of {NAME} can't be read ({error})", hint=MENDS["derived"]) from error
    return RecordView(
        row=number, change_seq=change_seq, space=space, space_kind=kind, space_label=label, state=state
    )


def _effective_confidence(confidence: float, kind: str | None, updated_hlc: int, now_ms: int) -> float:
    return effective_confidence(confidence, kind, milliseconds_of(updated_hlc), now_ms)


def _not_found(wanted: str) -> NotFound:
    if len(wanted) < PREFIX_CHARS_MIN:
        hint = f"the beginning of an id needs at least {PREFIX_CHARS_MIN} characters"
    else:
        hint = "run `atrium memory list` to see the ids"
    return NotFound(f"no record `{wanted}` here", hint=hint)


def _ambiguous(wanted: str, candidates: Sequence[tuple[str, str, bytes, str]]) -> BadInput:
    shown = [
        f"{name} ({kind} in {label or space.hex()[:8]})"
        for name, kind, space, label in candidates[:_CANDIDATES_MAX]
    ]
    more = " and others" if len(candidates) > _CANDIDATES_MAX else ""
    return BadInput(f"`{wanted}` could be {', '.join(shown)}{more}", hint="give more of the id")
