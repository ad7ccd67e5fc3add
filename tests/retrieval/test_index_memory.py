"""Rows of shared memory: exactly what a record is by now, and no row twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from crdt.ids import content_sha256, conversation_id, event_id, record_id
from retrieval.index_memory import MemoryRows
from retrieval.index_rows import Draft
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.memory_rows import Memory

KEPT = """
SELECT c.source, c.source_id, c.title, c.author, w.path, r.project, r.expires_ms, r.id, t.text
FROM conversations c JOIN records r ON r.conversation = c.id JOIN texts t ON t.id = r.id
LEFT JOIN workspaces w ON w.id = r.workspace AND w.id = c.workspace ORDER BY c.source_id
"""


@pytest.fixture
def index(tmp_path) -> Iterator[IndexWriter]:
    made = IndexWriter(open_index_writer(tmp_path / "index.db"))
    yield made
    made.connection.close()


def memory(text: str = "a text", source: str = "memory", record: str = "r1", **parts: object) -> Memory:
    """Make a piece of memory."""
    conversation = conversation_id(source, record)
    event = event_id(conversation, "1")
    draft = Draft(
        record_id=bytes.fromhex(record_id(conversation, event)), event_id=event, role="memory", text=text,
        authored_at=None, content_sha256=bytes.fromhex(content_sha256("memory", text, None)),
        source_sha256=b"s" * 32, event_index=0, headings="about", project="yard", expires_ms=None,
    )  # fmt: skip
    made = Memory(
        conversation_id=conversation, source=source, source_id=record, title="A title", author="local@desk",
        workspace=None, draft=draft,
    )  # fmt: skip
    return replace(made, **parts)  # type: ignore[arg-type]


def keep(index: IndexWriter, wanted: Memory | None, record: str = "r1") -> int:
    """Keep a piece in a transaction of its own."""
    with index.transaction():
        return MemoryRows(index).keep(record, wanted)


def kept(index: IndexWriter) -> list[tuple[object, ...]]:
    return index.connection.execute(KEPT).fetchall()


def test_a_piece_is_kept_once(index):
    assert keep(index, memory()) == 1
    assert keep(index, memory()) == 0
    assert kept(index) == [("memory", "r1", "A title", "local@desk", None, "yard", None, 1, "a text")]


def test_another_filing_moves_no_row(index):
    keep(index, memory())
    moved = memory(title="Another", author="local@studio", workspace="[HOME]/yard")
    moved = replace(moved, draft=replace(moved.draft, project=None, expires_ms=9))
    assert keep(index, moved) == 0
    assert kept(index) == [
        ("memory", "r1", "Another", "local@studio", "[HOME]/yard", None, 9, 1, "a text"),
    ]


def test_another_text_is_another_row(index):
    keep(index, memory())
    assert keep(index, memory("another text")) == 1
    ((*_, row, text),) = kept(index)
    assert (row, text) == (2, "another text")


def test_what_is_gone_leaves_nothing(index):
    keep(index, memory())
    keep(index, memory(record="r2"), "r2")
    assert keep(index, None) == 1
    assert keep(index, None) == 0
    assert [row[1] for row in kept(index)] == ["r2"]
    assert index.connection.execute("SELECT count(*) FROM conversations").fetchone() == (1,)


def test_a_record_that_is_of_another_type_by_now_is_kept_as_that(index):
    keep(index, memory())
    assert keep(index, memory(source="decision")) == 2
    assert [row[0] for row in kept(index)] == ["decision"]


def test_every_record_is_named_while_some_are_taken_out(index):
    for number in range(5):
        keep(index, memory(record=f"r{number}"), f"r{number}")
    seen = []
    for records in MemoryRows(index).every(2):
        seen += records
        for record in records:
            keep(index, None, record)
    assert seen == ["r0", "r1", "r2", "r3", "r4"]
