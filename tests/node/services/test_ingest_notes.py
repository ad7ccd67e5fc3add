"""The use-case that indexes notes: counts, filing, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import BadInput, NotFound
from node.services import note_roots
from node.services.ingest_notes import handle
from node.services.requests import NotesRequest
from retrieval import note_index
from tests.node.filled import tree
from tests.node.little_room import stopped_by_little_room
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


def hits(indexed: Indexed) -> list[tuple[str, str, str]]:
    """List role, provider and text of all records."""
    with indexed.reader() as reader:
        return sorted((hit.role, hit.provider, hit.text) for hit in reader.by_prefix(""))


def test_an_unchanged_tree_writes_nothing_but_the_stamp(indexed: Indexed) -> None:
    ingest(indexed)
    before = tree(indexed.state)
    ingest(indexed)
    after = tree(indexed.state)
    assert {**after, "last-refresh": b""} == {**before, "last-refresh": b""}


def test_another_filing_files_everything_anew(indexed: Indexed) -> None:
    ingest(indexed)
    assert [(role, provider) for role, provider, _ in hits(indexed)] == [("note", "brain")] * 2
    assert ingest(indexed, provider="wiki", third_party=True)["unchanged"] == 0
    assert [(role, provider) for role, provider, _ in hits(indexed)] == [("source", "wiki")] * 2
    ingest(indexed)
    assert [(role, provider) for role, provider, _ in hits(indexed)] == [("note", "brain")] * 2


def test_the_sweep_of_one_tree_leaves_another_alone(indexed: Indexed) -> None:
    ingest(indexed)
    (indexed.root / "other").mkdir()
    (indexed.root / "other" / "a.md").write_text("the mill")
    with indexed.opened(writable=True) as local:
        handle(local, NotesRequest(root=str(indexed.root / "other")), ignore)
    (indexed.root / "notes" / "a.md").unlink()
    assert ingest(indexed)["removed"] == 1
    assert [text for _, _, text in hits(indexed)] == ["the crane", "the mill"]


def test_a_note_that_can_t_be_read_is_named_and_stays(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(indexed)
    opened = Path.open

    def refused(path: Path, mode: str = "r", encoding: str | None = None) -> object:
        if path.name == "b.md":
            raise PermissionError(13, "Permission denied")
        return opened(path, mode, encoding=encoding)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refused)
        document = ingest(indexed)
    assert (document["skipped"], document["unreadable"]) == ({"unreadable note": 1}, ["b.md"])
    assert document["removed"] == 0
    assert len(hits(indexed)) == 2


def test_secrets_of_notes_stay_outside(indexed: Indexed) -> None:
    (indexed.root / "notes" / "c.md").write_text("password: hunter2hunter2")
    ingest(indexed)
    assert "password: [REDACTED:secret]" in [text for _, _, text in hits(indexed)]
    assert not [name for name, data in tree(indexed.state).items() if b"hunter2hunter2" in data]


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


def test_little_room_ends_it_between_notes_and_the_next_run_goes_on(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_roots, "_PROGRESS_NOTES", 1)
    monkeypatch.setattr(note_index, "_BATCH_NOTES", 1)
    for looks in (0, 2):
        with stopped_by_little_room(looks):
            ingest(indexed)
    document = ingest(indexed)
    assert [document[key] for key in ("notes", "records", "unchanged")] == [2, 1, 1]
