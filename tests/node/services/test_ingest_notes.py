"""The use-case that indexes notes: counts, filing, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import BadInput, NotFound
from node.services.ingest_notes import handle
from node.services.requests import NotesRequest
from tests.retrieval.archive_kit import Indexed, ignore


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    made = Indexed(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Pier\n\nthe pier")
    (tmp_path / "notes" / "b.md").write_text("the crane")
    return made


def ingest(indexed: Indexed, **more: object) -> dict[str, object]:
    request = NotesRequest(root=str(indexed.root / "notes"), **more)
    with indexed.opened(writable=True) as local:
        return handle(local, request, ignore)


def test_the_document_counts_notes_and_records(indexed: Indexed) -> None:
    first, second = ingest(indexed), ingest(indexed)
    assert [first[key] for key in ("notes", "records", "unchanged", "removed")] == [2, 2, 0, 0]
    assert [second[key] for key in ("notes", "records", "unchanged", "removed")] == [2, 0, 2, 0]


def test_a_deleted_note_leaves(indexed: Indexed) -> None:
    ingest(indexed)
    (indexed.root / "notes" / "b.md").unlink()
    assert ingest(indexed, partial=True)["removed"] == 0
    assert ingest(indexed)["removed"] == 1


def test_the_tree_is_remembered_as_it_was_asked_for(indexed: Indexed) -> None:
    ingest(indexed, provider="wiki", exclude=["old"])
    with indexed.opened() as local:
        (root,) = local.local_store.note_roots()
    assert (root.provider, root.exclude, root.third_party) == ("wiki", ("old",), False)


def test_an_absent_tree_is_refused_and_not_remembered(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local:
        with pytest.raises(NotFound):
            handle(local, NotesRequest(root=str(indexed.root / "absent")), ignore)
        assert local.local_store.note_roots() == []


def test_a_provider_without_a_name_is_refused(indexed: Indexed) -> None:
    with pytest.raises(BadInput):
        ingest(indexed, provider="")
