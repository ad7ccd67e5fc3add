"""Whatever happened to the derived and local files, the next writer finds its way back to the archive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crdt.errors import Unavailable
from node.composition import Local
from node.local_store import NoteRoot
from node.services import rebuild
from node.services.level import bring_level, index_note_roots
from node.services.requests import RebuildRequest
from tests.retrieval.archive_kit import Indexed, body, ignore


def append(indexed: Indexed, name: str) -> None:
    """Archive one conversation, durably and nothing more."""
    with indexed.opened(writable=True) as local:
        local.archive.append([body(name, [f"the {name} is open"])], seal=True)


def level(indexed: Indexed) -> dict[str, int]:
    """Bring the state level and count its records by source."""
    with indexed.opened(writable=True) as local:
        bring_level(local, ignore)
        with local.reader() as reader:
            return reader.by_source()


def with_notes(indexed: Indexed) -> None:
    """Name a tree of notes and index it."""
    (indexed.root / "notes").mkdir()
    (indexed.root / "notes" / "a.md").write_text("# Pier\n\nthe harbourmaster")
    with indexed.opened(writable=True) as local:
        local.local_store.set_note_root(
            NoteRoot(path=str(indexed.root / "notes"), provider="brain", exclude=(), third_party=False)
        )
        bring_level(local, ignore)


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    made = Indexed(tmp_path)
    append(made, "pier")
    assert level(made) == {"claude-code": 1}
    return made


def test_an_index_that_was_deleted_comes_back_with_its_notes(indexed: Indexed) -> None:
    with_notes(indexed)
    shutil.rmtree(indexed.state / "derived")
    assert level(indexed) == {"brain": 1, "claude-code": 1}


def test_an_index_deleted_under_an_open_writer_is_made_anew(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local:
        bring_level(local, ignore)
        shutil.rmtree(indexed.state / "derived")
        bring_level(local, ignore)
        with local.reader() as reader:
            assert reader.by_source() == {"claude-code": 1}


@pytest.mark.parametrize("damage", [b"garbage" * 2_000, b""], ids=["garbage", "empty"])
def test_a_damaged_index_is_made_anew(indexed: Indexed, damage: bytes) -> None:
    (indexed.state / "derived" / "index.db").write_bytes(damage)
    assert level(indexed) == {"claude-code": 1}


def test_a_truncated_index_is_made_anew(indexed: Indexed) -> None:
    path = indexed.state / "derived" / "index.db"
    path.write_bytes(path.read_bytes()[:20_000])
    append(indexed, "crane")
    assert level(indexed) == {"claude-code": 2}


def put_back(indexed: Indexed) -> None:
    """Go on after a backup was taken, then put the backup back."""
    shutil.copytree(indexed.state / "canonical", indexed.root / "backup")
    append(indexed, "lighthouse")
    level(indexed)
    shutil.rmtree(indexed.state / "canonical")
    shutil.copytree(indexed.root / "backup", indexed.state / "canonical")


def test_after_a_backup_was_put_back_the_index_says_what_the_archive_has(indexed: Indexed) -> None:
    put_back(indexed)
    append(indexed, "crane")
    assert level(indexed) == {"claude-code": 2}
    assert (indexed.state / "derived" / "set-aside-index.db").exists()


def test_after_a_backup_was_put_back_what_was_read_is_read_again(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local:
        local.local_store.add_ingested([], 1)
        local.local_store.set_mark(local.archive.log)
    put_back(indexed)
    with indexed.opened(writable=True) as local:
        assert not local.local_store.fits(local.archive.log)
        bring_level(local, ignore)
        assert local.local_store.fits(local.archive.log)


def test_a_rebuild_keeps_an_index_that_knows_more_than_the_archive(indexed: Indexed) -> None:
    put_back(indexed)
    with indexed.opened(writable=True) as local, pytest.raises(Unavailable):
        rebuild.handle(local, RebuildRequest(), ignore)
    with indexed.reader() as reader:
        assert reader.by_source() == {"claude-code": 2}


def test_a_damaged_segment_costs_its_own_conversations_only(indexed: Indexed) -> None:
    append(indexed, "crane")
    damaged = min((indexed.state / "canonical" / "segments").glob("??/*.zst"))
    damaged.write_bytes(b"garbage")
    with indexed.opened(writable=True) as local:
        assert rebuild.handle(local, RebuildRequest(), ignore)["damaged_segments"] == 1
    with indexed.reader() as reader:
        assert reader.by_source() == {"claude-code": 1}


def test_a_tree_of_notes_that_is_gone_is_counted(indexed: Indexed) -> None:
    with_notes(indexed)
    shutil.rmtree(indexed.root / "notes")
    with indexed.opened(writable=True) as local:
        assert index_note_roots(local, ignore) == (0, 1)


def test_level_is_level(indexed: Indexed) -> None:
    def again(local: Local) -> int:
        return bring_level(local, ignore).written

    with indexed.opened(writable=True) as local:
        assert again(local) == 0
