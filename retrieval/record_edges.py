"""Which edges between records count: the one place that decides, for the index and for who reads records.

Whoever may write to any space can say that any record takes the place of any other, by an edge.  It counts
only in the space of the older record, or where this node itself has said it: a member of a team's space hides
nothing of somebody's home.  What is not shared memory, as a message of a conversation, belongs to the home.
An edge from a record that is not here hides nothing; a chain leads across one that was deleted.

An edge can be here before its records, so that a change of a record has the edges to it judged again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from crdt.edges import SUPERSEDES
from crdt.ids import conversation_id, event_id, record_id
from crdt.projection_reader import Change, Edge, ProjectionReader, RecordView
from retrieval.index_writer import IndexWriter
from retrieval.memory_rows import EVENT, FILINGS, SOURCES
from retrieval.superseded import newest_of

RULE = 1
"""Raised where the rule changes: edges that are kept by an earlier one are judged again."""
_ID_CHARS = 64
_FILED = """
SELECT c.source_id FROM records r JOIN conversations c ON c.id = r.conversation
WHERE r.record_id = ? AND c.population = 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Whose index it is: the node's key and its home, both empty before its first write."""

    author: bytes
    home: bytes


class RecordEdges:
    """Keeps in the index exactly the edges that count, within its writer's transactions."""

    def __init__(self, index: IndexWriter, reader: ProjectionReader, here: Here) -> None:
        self._index, self._reader, self._here = index, reader, here

    @property
    def rule(self) -> str:
        """Name what the edges are judged by."""
        return f"{RULE} {self._here.author.hex()} {self._here.home.hex()}"

    def apply(self, changes: Sequence[Change], views: Iterable[RecordView]) -> None:
        """Judge the edges among some changes, and those to records among them; the rows are level before."""
        found = {(view.space, view.id): view for view in views}
        for change in changes:
            self._judge(change.space, change.id, found.get((change.space, change.id)))
        ends = [name for change in changes for name in _index_ids(change.id)]
        edges = [edge.id for edge in self._reader.edges_to(ends, SUPERSEDES)]
        for view in self._reader.with_ids(list(dict.fromkeys(edges))) if edges else ():
            self._judge(view.space, view.id, view)

    def _judge(self, space: bytes, edge: str, view: RecordView | None) -> None:
        ends = ends_of(view) if view else None
        if view is not None and ends is not None and self._counts(view, ends[1]):
            self._index.superseded.put(space, edge, *ends)
        else:
            self._index.superseded.drop(space, edge)

    def _counts(self, edge: RecordView, older: bytes) -> bool:
        filed = self._index.connection.execute(_FILED, (older,)).fetchall()
        views = self._reader.with_ids([name for (name,) in filed]) if filed else []
        spaces = {view.space for view in views if view.type in FILINGS and not view.state.deleted}
        return counts(self._reader, self._here, edge, spaces)


class Newest:
    """Tells from the projection alone what stands in the place of which records of the index."""

    def __init__(self, reader: ProjectionReader, here: Here) -> None:
        self._reader, self._here = reader, here

    def of(self, records: Iterable[str]) -> dict[str, str]:
        """Tell which of these records, and of those behind them, are superseded, and by which one."""
        waiting = list(records)
        seen, edges = set(waiting), dict[tuple[bytes, str], Edge]()
        while waiting and (found := self._reader.edges_to(waiting, SUPERSEDES)):
            edges |= {(edge.space, edge.id): edge for edge in found}
            waiting = list({edge.source for edge in found} - seen)
            seen.update(waiting)
        if not edges:
            return {}
        views = self._reader.with_ids(list({name for _, name in edges}))
        ends = [ends for view in views if (ends := self._counting(view)) is not None]
        newest = newest_of(ends, {bytes.fromhex(name) for name in seen & self._spaces.keys()})
        return {old.hex(): new.hex() for old, new in newest.items()}

    def _counting(self, edge: RecordView) -> tuple[bytes, bytes] | None:
        ends = ends_of(edge)
        if ends is None:
            return None
        spaces = self._spaces.get(ends[1].hex(), set())
        return ends if counts(self._reader, self._here, edge, spaces) else None

    @cached_property
    def _spaces(self) -> dict[str, set[bytes]]:
        """Name all records of the index that the projection has, and their spaces: 5 us each."""
        spaces: dict[str, set[bytes]] = {}
        for kind, name, space in self._reader.names(tuple(FILINGS)):
            spaces.setdefault(_index_name(FILINGS[kind].source, name), set()).add(space)
        return spaces


def counts(reader: ProjectionReader, here: Here, edge: RecordView, spaces: Collection[bytes]) -> bool:
    """Tell whether an edge counts; `spaces` are those that have its older record, none for other records."""
    if edge.space in (spaces or {here.home}) or edge.state.creator == here.author:
        return True
    # This node may have said it too, after another.
    return any(said.author == here.author for said in reader.operations(edge))


def ends_of(view: RecordView) -> tuple[bytes, bytes] | None:
    """Read the two index records of an edge, the newer first; None for any other record."""
    fields = view.state.fields
    if view.state.deleted or view.type != "edge" or fields.get("relation") != SUPERSEDES:
        return None
    newer, older = _index_id(fields.get("from")), _index_id(fields.get("to"))
    return None if newer is None or older is None else (newer, older)


def _index_ids(record: str) -> list[str]:
    """Name the index records that a record can be, of whatever type it is or was."""
    return [_index_name(source, record) for source in SOURCES]


def _index_name(source: str, record: str) -> str:
    conversation = conversation_id(source, record)
    return record_id(conversation, event_id(conversation, EVENT))


def _index_id(value: object) -> bytes | None:
    if not isinstance(value, str) or len(value) != _ID_CHARS:
        return None
    try:
        return bytes.fromhex(value)
    except ValueError:
        return None
