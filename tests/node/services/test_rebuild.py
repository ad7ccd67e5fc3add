"""The rebuild use-case: everything derived comes back as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from node.local_store import NoteRoot
from node.services.level import bring_level
from node.services.rebuild import handle
from node.services.requests import RebuildRequest
from tests.node.services.memory_kit import keeping
from tests.node.services.statement_kit import CRANE, NEWER, Yard
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


def test_shared_memory_comes_back_with_what_took_the_place_of_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    yard = Yard(tmp_path)
    old = yard.remember(CRANE)["record_id"]
    yard.remember(NEWER, old)
    with keeping(yard.state) as kept:
        kept.add("the crane is out of order", tags=["crane"])
        kept.call("memory.delete", ids=[kept.add("a passing thought about the crane")])
    with keeping(yard.state) as kept:
        before = kept.items_of_search("crane")
        document = kept.call("rebuild")
        assert kept.items_of_search("crane") == before
    assert document["records"] == len(before) == 3
    shutil.rmtree(yard.state / "derived")
    with keeping(yard.state) as kept:
        bring_level(kept.local, ignore)
        assert kept.items_of_search("crane") == before
