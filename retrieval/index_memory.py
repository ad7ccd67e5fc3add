"""The rows of shared memory in the index: a conversation of its own and one record for each piece."""

from __future__ import annotations

from collections.abc import Iterator

from retrieval.index_writer import POPULATION_MEMORY, Home, IndexWriter
from retrieval.memory_rows import Memory

_FIND = """
SELECT id, conversation_id, title, author, workspace FROM conversations
WHERE source_id = ? AND population = 2
"""
_ADD = """
INSERT INTO conversations (conversation_id, population, source, source_id, title, workspace, automation,
    captured, last_key, last_id, next_index, removed_hlc, author)
VALUES (?, 2, ?, ?, ?, ?, 0, 0, '', '', 0, 0, ?)
"""
_UPDATE = "UPDATE conversations SET title = ?, author = ?, workspace = ? WHERE id = ?"
_DELETE = "DELETE FROM conversations WHERE id = ?"
_EVERY = """
SELECT DISTINCT source_id FROM conversations WHERE population = 2 AND source_id > ? ORDER BY source_id LIMIT ?
"""


class MemoryRows:
    """Pieces of memory by the ids of their records in the feeds, within the index writer's transactions."""

    def __init__(self, index: IndexWriter) -> None:
        self._index = index

    def keep(self, record: str, memory: Memory | None) -> int:
        """Make the index hold exactly this of a record; return how many index records came or went."""
        changed = 0
        kept = None
        wanted = bytes.fromhex(memory.conversation_id) if memory else b""
        for row, identity, *filed in self._index.connection.execute(_FIND, (record,)).fetchall():
            if identity == wanted:
                kept = (row, tuple(filed))
            else:
                changed += self._remove(row)
        if memory is None:
            return changed
        workspace = self._index.workspace(memory.workspace)
        if kept is None:
            return changed + self._add(memory, workspace)
        row, filed_before = kept
        filing = (memory.title, memory.author, workspace)
        if filed_before != filing:
            self._index.connection.execute(_UPDATE, (*filing, row))
        home = Home(conversation=row, population=POPULATION_MEMORY, workspace=workspace)
        return changed + self._index.replace(home, [memory.draft])

    def every(self, batch: int) -> Iterator[list[str]]:
        """Give the ids of all records that the index has, in batches; what is given may be taken out."""
        after = ""
        while rows := self._index.connection.execute(_EVERY, (after, batch)).fetchall():
            yield [record for (record,) in rows]
            after = rows[-1][0]

    def _add(self, memory: Memory, workspace: int | None) -> int:
        identity = bytes.fromhex(memory.conversation_id)
        filed = (identity, memory.source, memory.source_id, memory.title, workspace, memory.author)
        row = int(self._index.connection.execute(_ADD, filed).lastrowid or 0)
        home = Home(conversation=row, population=POPULATION_MEMORY, workspace=workspace)
        return len(self._index.add(home, [memory.draft]))

    def _remove(self, row: int) -> int:
        rows = self._index.rows(row)
        self._index.delete(rows, rows)
        self._index.connection.execute(_DELETE, (row,))
        return len(rows)
