"""Fragments that moved while nobody kept the index level are found where they lie now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt.archive import Archive
from crdt.manifests import Tombstone
from crdt.segments import SegmentDirectory, build
from retrieval.follow import ArchiveFollower
from retrieval.index_catalog import Catalog
from retrieval.index_relocation import relocate
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from tests.crdt.memory_log import MemoryLog
from tests.crdt.samples import CONVERSATION, body, event, fragment

TIME = "2026-01-05T09:00:00.000Z"


class Followed:
    """An archive and an index that follows it."""

    def __init__(self, root: Path) -> None:
        (root / "segments").mkdir()
        self.archive = Archive(MemoryLog(), SegmentDirectory(root / "segments"))
        self.index = IndexWriter(open_index_writer(root / "index.db"))
        self.follower = ArchiveFollower(self.index, self.archive)

    def relocate(self) -> set[int]:
        """Move, as a transaction of its own."""
        with self.index.transaction():
            return relocate(self.index.connection, self.archive, self.archive.current())

    def texts(self) -> list[str]:
        """List what is indexed."""
        rows = self.index.connection.execute("SELECT text FROM texts ORDER BY text")
        return [text for (text,) in rows]

    def fragments(self) -> list[str]:
        """List the fragments of the one conversation, each read from where the catalog says that it is."""
        catalog = Catalog(self.index.connection, self.archive)
        row = catalog.find(CONVERSATION)
        return [item.sha256 for item in catalog.fragments(row)] if row else []


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    made = Followed(tmp_path)
    with closing(made.index.connection):
        yield made


FIRST = body(fragment(event("a", 0, "tide", timestamp=TIME)))
SECOND = body(fragment(event("b", 1, "storm", timestamp=TIME)))
REDACTED = body(fragment(event("a", 0, "[REDACTED:token]", timestamp=TIME), redactor=2))


def test_nothing_moves_where_everything_lies_where_it_lay(followed: Followed) -> None:
    followed.archive.append([FIRST], seal=False)
    followed.archive.append([SECOND], seal=True)
    followed.follower.catch_up()
    before = followed.index.connection.total_changes
    assert followed.relocate() == set()
    assert followed.index.connection.total_changes == before + 1, "only the writer's own counter"


def test_what_was_sealed_is_found_in_its_segment(followed: Followed) -> None:
    followed.archive.append([FIRST], seal=False)
    followed.archive.append([SECOND], seal=False)
    followed.follower.catch_up()
    followed.archive.seal()
    assert followed.relocate() == set()
    assert sorted(followed.fragments()) == sorted([FIRST.sha256, SECOND.sha256])


def test_a_fragment_of_which_no_generation_knows_is_dropped_and_its_conversation_named(
    followed: Followed,
) -> None:
    followed.archive.append([FIRST, SECOND], seal=True)
    followed.follower.catch_up()
    followed.archive.supersede(list(followed.archive.current()), [(build([SECOND, REDACTED]), {})], "redact")
    assert len(followed.relocate()) == 1
    assert followed.fragments() == [SECOND.sha256]


def test_a_tombstone_of_something_sealed_since_is_followed(followed: Followed) -> None:
    followed.archive.append([FIRST], seal=False)
    followed.follower.catch_up()
    followed.archive.commit([], [], Tombstone(removed=[CONVERSATION]))
    followed.archive.seal()
    followed.follower.catch_up()
    assert followed.texts() == []


def test_a_redaction_whose_process_was_killed_before_the_index_is_followed(followed: Followed) -> None:
    followed.archive.append([FIRST], seal=False)
    followed.archive.append([SECOND], seal=False)
    followed.follower.catch_up()
    followed.archive.seal()
    followed.archive.supersede(list(followed.archive.current()), [(build([SECOND, REDACTED]), {})], "redact")
    followed.follower.catch_up()
    assert followed.texts() == ["[REDACTED:token]", "storm"]
    assert sorted(followed.fragments()) == sorted([SECOND.sha256, REDACTED.sha256])


@pytest.mark.parametrize("revived", [False, True])
def test_a_tombstone_counts_also_where_its_conversation_was_sealed_after_it(
    followed: Followed, revived: bool
) -> None:
    followed.archive.append([FIRST], seal=False)
    followed.archive.commit([], [], Tombstone(removed=[CONVERSATION]))
    if revived:
        followed.archive.commit([], [], Tombstone(revived=[CONVERSATION]))
    followed.archive.seal()
    followed.follower.catch_up()
    assert followed.texts() == (["tide"] if revived else [])
