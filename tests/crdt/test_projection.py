"""The projection follows the feeds: whole, in any order, through crashes, and made anew where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.projection import Projector
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, reader_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "projection.db"


def test_what_was_written_is_there_once(path: Path) -> None:
    ann = Author("ann")
    made = [ann.memory(f"text {number}", tags=["a"]) for number in range(3)]
    feeds = MemoryFeeds(ann.entries)
    projector = Projector(path, feeds)
    assert projector.catch_up() == 3
    assert projector.catch_up() == 0
    with reader_of(path, feeds) as reader:
        assert [reader.get(one.id).state.text for one in made] == ["text 0", "text 1", "text 2"]
        assert reader.watermark() == feeds.head()
    projector.close()


def test_a_projection_deleted_under_an_open_writer_is_made_anew(path: Path) -> None:
    ann = Author("ann")
    made = ann.memory("text")
    feeds = MemoryFeeds(ann.entries)
    projector = Projector(path, feeds)
    projector.catch_up()
    path.unlink()
    assert projector.catch_up() == 1
    with reader_of(path, feeds) as reader:
        assert reader.get(made.id).state.text == "text"
    projector.close()
