"""Rows of conversations: found whole, advanced by what is added, buried before they exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from crdt.ids import conversation_id
from crdt.union import NOWHERE
from retrieval.index_conversations import ConversationRows, Known
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.whole import Stream, Whole

CONVERSATION = conversation_id("codex", "s")
LAST = ("2026-03-01T08:00:00.000Z", 7, "e" * 64)


class Index:
    """An index and its rows of conversations."""

    def __init__(self, folder: Path) -> None:
        self.writer = IndexWriter(open_index_writer(folder / "index.db"))
        self.rows = ConversationRows(self.writer.connection)

    def found(self) -> Known:
        """Find the conversation."""
        known = self.rows.find(CONVERSATION)
        assert known is not None
        return known


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Give an empty index."""
    made = Index(tmp_path)
    with closing(made.writer.connection):
        yield made


def whole(**more: object) -> Whole:
    """Make a whole of nine events."""
    made = Whole(
        source="codex",
        title="The crane",
        workspace=None,
        parent_id="p",
        automation=True,
        events=[],
        last=LAST,
        streams={"one.jsonl": Stream(last_seq=7, carried=LAST[0])},
    )
    return replace(made, **more)  # type: ignore[arg-type]


def test_a_new_row_is_empty(index: Index) -> None:
    assert index.rows.find(CONVERSATION) is None
    row = index.rows.add(CONVERSATION, "codex", "s")
    assert index.rows.identity(row) == CONVERSATION
    assert index.found() == Known(
        id=row,
        conversation_id=CONVERSATION,
        source_id="s",
        title="",
        workspace=None,
        workspace_row=None,
        parent_id=None,
        automation=False,
        captured=False,
        last=NOWHERE,
        next_index=0,
        tails=(None, None),
        removed_hlc=0,
        buried_hlc=0,
    )


def test_what_a_conversation_is_comes_back_as_it_was_written(index: Index) -> None:
    index.rows.add(CONVERSATION, "codex", "s")
    workspace = index.writer.workspace("/srv/mill")
    known = replace(index.found(), captured=True, removed_hlc=5)
    index.rows.update(known, whole(), workspace, [9, 8])
    found = index.found()
    assert (found.title, found.parent_id, found.automation, found.captured) == ("The crane", "p", True, True)
    assert (found.workspace, found.workspace_row) == ("/srv/mill", workspace)
    assert (found.last, found.next_index, found.tails, found.removed_hlc) == (LAST, 0, (9, 8), 5)
    assert index.rows.stream(found.id, "one.jsonl") == Stream(last_seq=7, carried=LAST[0])


def test_files_that_serve_nothing_any_more_are_forgotten(index: Index) -> None:
    index.rows.add(CONVERSATION, "codex", "s")
    index.rows.update(index.found(), whole(), None, [])
    index.rows.update(index.found(), whole(streams={"two.jsonl": Stream(last_seq=1, carried="")}), None, [])
    assert index.rows.stream(index.found().id, "one.jsonl") is None
    assert index.rows.stream(index.found().id, "two.jsonl") == Stream(last_seq=1, carried="")


def test_an_advance_leaves_what_the_conversation_is(index: Index) -> None:
    index.rows.add(CONVERSATION, "codex", "s")
    index.rows.update(index.found(), whole(), None, [3])
    index.rows.advance(index.found(), ("later", 9, "id"), 4, [5, 3])
    found = index.found()
    assert (found.last, found.next_index, found.tails) == (("later", 9, "id"), 4, (5, 3))
    assert (found.title, found.automation) == ("The crane", True)


@pytest.mark.parametrize("last", [NOWHERE, ("", 0, ""), ("a\0b\0", 3, "id")])
def test_any_position_comes_back(index: Index, last: tuple[str, int, str]) -> None:
    index.rows.add(CONVERSATION, "codex", "s")
    index.rows.update(index.found(), whole(last=last), None, [])
    assert index.found().last == last


def test_a_tombstone_is_kept_with_and_without_a_row(index: Index) -> None:
    index.rows.bury([CONVERSATION], 5)
    index.rows.add(CONVERSATION, "codex", "s")
    assert (index.found().buried_hlc, index.found().removed_hlc) == (5, 0)
    index.rows.bury([CONVERSATION], 9)
    assert index.found().buried_hlc == 9
    index.rows.revive([CONVERSATION], 8)
    assert index.found().buried_hlc == 9
    index.rows.revive([CONVERSATION, conversation_id("codex", "nobody")], 10)
    assert index.found().buried_hlc == -10


def test_a_deleted_row_keeps_its_tombstone(index: Index) -> None:
    row = index.rows.add(CONVERSATION, "codex", "s")
    index.rows.update(index.found(), whole(), None, [])
    index.rows.bury([CONVERSATION], 5)
    index.rows.delete(row)
    assert index.rows.find(CONVERSATION) is None
    assert index.rows.stream(row, "one.jsonl") is None
    index.rows.add(CONVERSATION, "codex", "s")
    assert index.found().buried_hlc == 5
