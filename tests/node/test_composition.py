"""One state directory, put together: who may make what."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import IndexUnavailable, ReadOnlyState
from crdt.ids import conversation_id
from crdt.manifests import Tombstone
from tests.retrieval.archive_kit import SOURCE, Indexed, body


def test_a_reader_of_nothing_creates_nothing(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path)
    with indexed.opened() as local:
        with pytest.raises(IndexUnavailable), local.reader():
            pass
        with pytest.raises(IndexUnavailable):
            _ = local.archive
        assert local.local_store.note_roots() == []
    assert not indexed.state.exists()


def test_a_reader_gets_no_writer(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))
    with indexed.opened() as local:
        with pytest.raises(ReadOnlyState):
            _ = local.index
        with pytest.raises(ReadOnlyState):
            _ = local.substrings


def test_a_rebuild_that_fails_leaves_the_old_index(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))

    def fail() -> None:
        with indexed.opened(writable=True) as local, local.rebuilding() as fresh:
            fresh.follower.catch_up()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not list((indexed.state / "derived").glob("rebuild-*"))
    with indexed.reader() as reader:
        assert reader.by_source() == {"claude-code": 1}


def test_a_rebuild_takes_the_place_of_the_old_index(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))
    with indexed.opened(writable=True) as local:
        before = local.paths.index_db.stat().st_ino
        with local.rebuilding() as fresh:
            fresh.follower.catch_up()
            fresh.substrings.catch_up()
        assert local.paths.index_db.stat().st_ino != before
        assert not list(local.paths.derived.glob("rebuild-*"))
        with local.reader() as reader:
            assert reader.by_source() == {"claude-code": 1}
            assert reader.has_substring_lane


def test_texts_of_deleted_records_go_once_the_letters_forgot_them(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))
    with indexed.opened(writable=True) as local:
        local.archive.commit([], tombstone=Tombstone(removed=[conversation_id(SOURCE, "pier")]))
        local.follower.catch_up()
        retired = "SELECT text FROM retired"
        assert local.index.connection.execute(retired).fetchall() == [("the pier",)]
        local.substrings.catch_up()
        assert local.index.connection.execute(retired).fetchall() == [("",)]


def test_the_catalog_of_a_reader_sees_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))
    with indexed.opened(writable=True) as local, local.reader() as reader:
        seen, written = local.catalog(reader), local.catalog()
        with local.index.transaction():
            local.index.connection.execute("DELETE FROM conversations")
            assert written.find(conversation_id(SOURCE, "pier")) is None
            assert seen.find(conversation_id(SOURCE, "pier")) is not None


def test_what_was_opened_is_closed(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]))
    with indexed.opened(writable=True) as local:
        local.follower.catch_up()
    assert not (indexed.state / "derived" / "index.db-wal").exists()
    assert not (indexed.state / "canonical" / "feeds.db-wal").exists()
