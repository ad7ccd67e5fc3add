"""What is asked of the index's health, over an index made by its real writer."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt.archive import Archive
from crdt.canonical import encode_canonical
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Tombstone
from crdt.segments import Body, SegmentDirectory, fragment_sha256
from retrieval import index_health
from retrieval.follow import ArchiveFollower
from retrieval.index_health import contents, engine, findings, health, one_state, revision
from retrieval.index_reader import IndexReader, open_reader
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.scope import Aliases
from retrieval.substrings import SubstringFollower
from tests.crdt.logs import open_log


class World:
    """An archive with its index."""

    def __init__(self, root: Path) -> None:
        """Make both, empty."""
        self.root = root
        (root / "segments").mkdir()
        self.archive = Archive(open_log(root / "feeds.db"), SegmentDirectory(root / "segments"))
        self.index = IndexWriter(open_index_writer(root / "index.db"))

    def take(self, name: str, *texts: str, timestamp: str | None = "2026-01-05T09:00:00Z") -> None:
        """Archive and index a conversation of these messages."""
        conversation = conversation_id("codex", name)
        events = [
            Event(
                id=event_id(conversation, text), kind=Kind.MESSAGE, role=Role.USER, text=text, seq=seq,
                timestamp=timestamp,
            )
            for seq, text in enumerate(texts)
        ]  # fmt: skip
        fragment = Fragment(
            conversation_id=conversation, source="codex", source_id=name, origin=Origin.CAPTURE,
            relative_path=name, redactor_version=1, events=events,
        )  # fmt: skip
        data = encode_canonical(fragment)
        self.archive.append([Body(sha256=fragment_sha256(data), data=data)], seal=False)
        self.follow()

    def follow(self) -> None:
        """Bring the index level."""
        ArchiveFollower(self.index, self.archive).catch_up()

    def bury(self, name: str) -> None:
        """Tombstone a conversation."""
        self.archive.commit([], tombstone=Tombstone(removed=[conversation_id("codex", name)]))
        self.follow()

    def reader(self) -> IndexReader:
        """Open a reader."""
        return open_reader(self.root / "index.db", self.root / "substrings.db", Aliases())

    def close(self) -> None:
        """Close both."""
        self.index.connection.close()
        self.archive.log.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[World]:
    """Give an empty archive and its index."""
    made = World(tmp_path)
    yield made
    made.close()


def test_an_empty_index_holds_nothing(index: World) -> None:
    with closing(index.reader()) as reader:
        found = contents(reader)
        assert (found.by_source, found.conversations, found.newest_authored_at) == ({}, 0, None)
        assert found.digest == found.notes_digest == hashlib.sha256().hexdigest()
        assert findings(reader) == []


def test_contents_are_counted(index: World) -> None:
    index.take("a", "one", "two")
    index.take("b", "three", timestamp="2026-02-01T00:00:00Z")
    index.take("c", "four", timestamp="zzz")
    index.take("d", "five", timestamp=None)
    with closing(index.reader()) as reader:
        found = contents(reader)
    assert found.by_source == {"codex": 5}
    assert found.conversations == 4
    assert found.newest_authored_at == "2026-02-01T00:00:00Z"


def test_tombstoned_conversations_do_not_count(index: World) -> None:
    index.take("a", "one")
    index.bury("a")
    with closing(index.reader()) as reader:
        assert contents(reader).conversations == 0


def test_parts_are_compared_by_counting(index: World) -> None:
    index.take("a", "one", "two")
    with closing(index.reader()) as reader:
        found = health(reader)
        assert (found.watermark, found.records, found.texts, found.substrings_left) == (3, 2, 2, 2)
    SubstringFollower(index.root / "substrings.db", index.root / "index.db").catch_up()
    with closing(index.reader()) as reader:
        assert health(reader).substrings_left == 0
    index.take("b", "three")
    with closing(index.reader()) as reader:
        assert health(reader).substrings_left == 1


def test_a_revision_is_the_same_for_every_reader_until_records_change(index: World) -> None:
    def now() -> object:
        with closing(index.reader()) as reader:
            return revision(reader)

    seen = [now()]
    index.take("a", "one")
    seen.append(now())
    assert now() == seen[-1]
    index.take("a", "one", "two")
    seen.append(now())
    index.bury("a")
    seen.append(now())
    assert len(set(map(str, seen))) == 4


def test_a_record_that_goes_changes_the_revision(index: World) -> None:
    index.take("a", "one")
    with closing(index.reader()) as reader:
        before = revision(reader)
        rows = index.index.rows(1)
        with index.index.transaction():
            index.index.delete(rows, rows)
        assert revision(reader) != before


def test_a_block_sees_one_state(index: World) -> None:
    index.take("a", "one")
    with closing(index.reader()) as reader:
        with one_state(reader):
            assert contents(reader).by_source == {"codex": 1}
            index.take("b", "two")
            assert contents(reader).by_source == {"codex": 1}
        assert contents(reader).by_source == {"codex": 2}


def test_a_block_that_fails_leaves_the_reader_usable(index: World) -> None:
    with closing(index.reader()) as reader:
        with pytest.raises(ZeroDivisionError), one_state(reader):
            raise ZeroDivisionError
        assert contents(reader).conversations == 0


def test_this_engine_has_what_the_lanes_need() -> None:
    assert engine().has_fts5
    assert engine().version == sqlite3.sqlite_version


def test_an_engine_without_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_health, "_TRY_FTS5", "CREATE VIRTUAL TABLE temp.probe USING fts99 (text)")
    assert not engine().has_fts5
