"""The index follows shared memory: what changed in the projection is written once, in order, by batches.

Only the newest change of a record is ever known, and what is written is what the record is by now, so that
applying a change twice, or late, does no harm.  The watermark belongs to one making of the projection: of
another one everything is applied again, which leaves rows that say the same as they are, and then whatever
the new projection does not have is taken out.  Each batch and its watermark are one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from crdt.projection_reader import Change, ProjectionReader, RecordView
from retrieval.index_memory import MemoryRows
from retrieval.index_schema import MEMORY_GENERATION, MEMORY_WATERMARK
from retrieval.index_writer import IndexWriter
from retrieval.memory_rows import Memory, memory_of
from retrieval.record_edges import Here, RecordEdges, ends_of

BATCH_RECORDS = 500
"""So many changes are one transaction."""
LOOKUP_RECORDS = 50
"""So many records are in memory at once; the text of one can have 256 KiB."""
_NAMES = "memory_names"
_SWEEP_DUE = "memory_sweep_due"
_EDGE_RULE = "memory_edge_rule"

T = TypeVar("T")
NameOf = Callable[[bytes, bytes], str]
"""What the node of a key is called in a space: (space, key) to a name for people."""


class RecordFollower:
    """Applies the projection's changes to the index."""

    def __init__(self, index: IndexWriter, reader: ProjectionReader, here: Here, name_of: NameOf) -> None:
        self._index = index
        self._reader = reader
        self._name_of = name_of
        self._rows = MemoryRows(index)
        self._edges = RecordEdges(index, reader, here)
        self._names: dict[str, str] = {}

    def watermark(self) -> int:
        """Tell the last change that the index has applied of the present projection."""
        is_same = self._index.meta(MEMORY_GENERATION) == self._reader.generation()
        return int(self._index.meta(MEMORY_WATERMARK) or 0) if is_same else 0

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Apply every change there is by now; return how many index records came or went.

        `progress` gets (applied, total) changes.
        """
        self._begin()
        start, head = self.watermark(), self._reader.head()
        written, after = 0, start
        while after < head and (changes := self._reader.changes(after, BATCH_RECORDS)):
            after = changes[-1].change_seq
            with self._index.transaction():
                written += self._apply(changes)
                self._index.set_meta(_NAMES, json.dumps(self._names))
                self._index.set_meta(MEMORY_WATERMARK, after)
            if progress:
                progress(after - start, max(head, after) - start)
        return written + self._sweep()

    def _begin(self) -> None:
        """Start over where the projection, a node's name or what edges are judged by has changed."""
        self._names = json.loads(str(self._index.meta(_NAMES) or "{}"))
        generation, followed = self._reader.generation(), self._index.meta(MEMORY_GENERATION)
        # A power failure can take the newest changes from the projection and leave the index that has them.
        is_ahead = self.watermark() > self._reader.head()
        is_other = followed != generation or is_ahead
        is_judged = self._index.meta(_EDGE_RULE) == self._edges.rule
        is_same = is_judged and not is_other
        if is_same and all(self._called(key) == name for key, name in self._names.items()):
            return
        with self._index.transaction():
            self._names = {}
            self._index.set_meta(MEMORY_WATERMARK, 0)
            self._index.set_meta(MEMORY_GENERATION, generation)
            self._index.set_meta(_EDGE_RULE, self._edges.rule)
            if is_other and followed is not None:
                self._index.set_meta(_SWEEP_DUE, 1)

    def _apply(self, changes: Sequence[Change]) -> int:
        return sum(map(self._apply_few, _parts(changes)))

    def _apply_few(self, changes: Sequence[Change]) -> int:
        views = self._reader.with_ids([change.id for change in changes])
        by_id: dict[str, list[RecordView]] = {}
        for view in views:
            by_id.setdefault(view.id, []).append(view)
        records = dict.fromkeys(change.id for change in changes)
        written = sum(self._rows.keep(record, self._memory(by_id.get(record, ()))) for record in records)
        # An id that was an edge may be something else by now, and the other way round: what founds a record
        # can arrive after what somebody said about it.
        self._edges.apply(changes, views)
        return written

    def _memory(self, views: Iterable[RecordView]) -> Memory | None:
        """Make what the index keeps of a record; of the same record in several spaces the oldest."""
        for view in sorted(views, key=lambda view: (view.state.created_hlc, view.space)):
            memory = memory_of(view.state, self._author(view))
            if memory is not None:
                return memory
        return None

    def _author(self, view: RecordView) -> str:
        """Say whose words are served, as `agent@node`.

        Where another node edited them the node stands alone, since which of its agents did is not known here.
        Of what was imported nobody signed who said it first, so that the node that says so is named too.
        """
        state = view.state
        author = state.text_author or state.creator
        key = (view.space + author).hex()
        name = self._names.get(key) or self._called(key)
        self._names[key] = name
        if author != state.creator:
            return name
        return f"{state.by} via {name}" if state.by else f"{state.agent}@{name}"

    def _called(self, key: str) -> str:
        named = bytes.fromhex(key)
        return self._name_of(named[:32], named[32:])

    def _sweep(self) -> int:
        """Take out what this projection does not have, where the index followed another one before."""
        if not self._index.meta(_SWEEP_DUE):
            return 0
        removed = 0
        for records in self._rows.every(BATCH_RECORDS):
            present = {view.id for part in _parts(records) for view in self._reader.with_ids(part)}
            with self._index.transaction():
                removed += sum(self._rows.keep(record, None) for record in records if record not in present)
        with self._index.transaction():
            self._sweep_edges()
            self._index.set_meta(_SWEEP_DUE, 0)
        return removed

    def _sweep_edges(self) -> None:
        edges = self._index.superseded.every()
        found = (view for part in _parts(edges) for view in self._reader.with_ids([edge for _, edge in part]))
        present = {(view.space, view.id) for view in found if ends_of(view)}
        for space, edge in edges:
            if (space, edge) not in present:
                self._index.superseded.drop(space, edge)


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + LOOKUP_RECORDS] for start in range(0, len(items), LOOKUP_RECORDS))
