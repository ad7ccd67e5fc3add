"""An index that lacks a row is made anew from its table; damaged tables and doubled rows are left alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crdt.errors import Damaged
from crdt.manifest_log import FeedManifests
from crdt.manifests import Tombstone
from crdt.store_indexes import faults_of, fit_indexes
from tests.crdt.index_away import index_away
from tests.crdt.logs import open_feeds, open_log

ADD_TAIL = "INSERT INTO tails (sha256, hlc, body) VALUES (?, ?, x'00')"
REWRITE = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE sql LIKE ?"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a store in which something was said."""
    path = tmp_path / "canonical" / "feeds.db"
    with closing(open_log(path)) as log:
        say(log)
    return path


def say(log: FeedManifests) -> None:
    log.append([Tombstone(removed=["11" * 32], revived=[])])


def rewritten(path: Path, old: str, new: str) -> None:
    """Let the schema say something else of rows that stay as they are."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        assert connection.execute(REWRITE, (old, new, f"%{old}%")).rowcount > 0


def test_a_store_whose_indexes_fit_is_left_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    with closing(open_feeds(path)) as store:
        assert faults_of(store) == ("index", [])
        assert not fit_indexes(store)
    assert path.read_bytes() == before


def test_an_index_that_lacks_a_row_is_made_anew(path: Path) -> None:
    with index_away(path, "manifests"), closing(open_log(path)) as log:
        say(log)
    with closing(open_feeds(path)) as store:
        kind, found = faults_of(store)
        assert kind == "index"
        assert any("manifests" in what for what in found)
        assert fit_indexes(store)
        assert faults_of(store) == ("index", [])
        assert len(list(FeedManifests(store).since(0))) == 2
        say(FeedManifests(store))


def test_damaged_tables_are_not_taken_for_indexes(path: Path) -> None:
    rewritten(path, "hlc INTEGER", "hlc BLOB")
    with closing(open_feeds(path)) as store:
        assert faults_of(store)[0] == "store"
        assert not fit_indexes(store)
        assert faults_of(store)[0] == "store"


def test_a_row_that_is_there_twice_is_named_and_nothing_is_changed(path: Path) -> None:
    once, anyhow = "NOT NULL UNIQUE,\n    hlc", "NOT NULL,\n    hlc"
    with index_away(path, "sqlite_autoindex_tails_1"):
        rewritten(path, once, anyhow)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executemany(ADD_TAIL, [(b"same", 1), (b"same", 2)])
        rewritten(path, anyhow, once)
    with closing(open_feeds(path)) as store:
        before = faults_of(store)
        assert before[0] == "index"
        with pytest.raises(Damaged, match="twice") as raised:
            fit_indexes(store)
        assert "atrium restore" in str(raised.value.hint)
        assert faults_of(store) == before
        assert store.fault is None
