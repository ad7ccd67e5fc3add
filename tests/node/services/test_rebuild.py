"""The rebuild use-case: everything derived comes back as it was."""

from __future__ import annotations

from pathlib import Path

from node.local_store import NoteRoot
from node.services.level import bring_level
from node.services.rebuild import handle
from node.services.requests import RebuildRequest
from tests.retrieval.archive_kit import Indexed, body, ignore


def rebuild(indexed: Indexed) -> dict[str, object]:
    with indexed.opened(writable=True) as local:
        return handle(local, RebuildRequest(), ignore)


def test_records_digests_and_notes_come_back(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("the pier")
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier", "is open"]), body("crane", ["the crane"]))
    with indexed.opened(writable=True) as local:
        root = NoteRoot(path=str(tmp_path / "notes"), provider="brain", exclude=(), third_party=False)
        local.local_store.set_note_root(root)
        bring_level(local, ignore)
    with indexed.reader() as reader:
        before = (reader.digest(), reader.digest(notes=True), reader.by_source())
    document = rebuild(indexed)
    with indexed.reader() as reader:
        assert (reader.digest(), reader.digest(notes=True), reader.by_source()) == before
        assert document["digest"] == reader.digest()
    assert (document["notes_roots"], document["missing_roots"], document["damaged_segments"]) == (1, 0, 0)


def test_a_state_without_anything_is_rebuilt_to_nothing(tmp_path: Path) -> None:
    assert rebuild(Indexed(tmp_path))["records"] == 0


def test_fragments_that_wait_are_indexed_too(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]), seal=False)
    assert rebuild(indexed)["records"] == 1
