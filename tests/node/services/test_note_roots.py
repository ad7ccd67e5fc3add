"""One tree of notes is written into the index as it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.composition import Local
from node.local_store import NoteRoot
from node.services.note_roots import index_root
from retrieval.notes import walk_notes
from tests.retrieval.archive_kit import Indexed, ignore


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("the pier opens at password: hunter2hunter2")
    (folder / "b.md").write_text("the crane is red")
    return folder


def write(local: Local, notes: Path, *, third_party: bool = False, partial: bool = False) -> tuple[int, int]:
    """Index the tree; returns notes written and removed."""
    root = NoteRoot(path=str(notes), provider="brain", exclude=(), third_party=third_party)
    report = index_root(local, root, walk_notes(notes, ()), ignore, partial=partial)
    return report.notes, report.removed


def test_texts_are_redacted_on_their_way_in(tmp_path: Path, notes: Path) -> None:
    indexed = Indexed(tmp_path)
    with indexed.opened(writable=True) as local:
        assert write(local, notes) == (2, 0)
    stored = b"".join(path.read_bytes() for path in (indexed.state / "derived").iterdir())
    assert b"hunter2" not in stored


def test_a_note_that_is_gone_leaves_unless_the_run_is_partial(tmp_path: Path, notes: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        write(local, notes)
        (notes / "b.md").unlink()
        assert write(local, notes, partial=True) == (0, 0)
        assert write(local, notes) == (0, 1)


def test_third_parties_texts_have_a_role_of_their_own(tmp_path: Path, notes: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        write(local, notes)
        assert write(local, notes, third_party=True) == (2, 0)
        roles = local.index.connection.execute("SELECT DISTINCT role FROM records").fetchall()
    assert roles == [("source",)]
