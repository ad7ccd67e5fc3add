"""The index's file is made whole, opened by version, and replaced whole."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from crdt.errors import IndexUnavailable
from retrieval import index_schema
from retrieval.index_schema import (
    VERSION,
    create_database,
    create_tables,
    discard_database,
    open_index_reader,
    open_index_writer,
    replace_database,
)

GENERATION = "SELECT value FROM meta WHERE key = 'generation'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name an index that does not exist."""
    return tmp_path / "derived" / "index.db"


def generation(path: Path) -> object:
    """Tell which making of the index this is."""
    with closing(open_index_reader(path)) as reader:
        return reader.execute(GENERATION).fetchone()[0]


def mark(path: Path, name: str) -> None:
    """Leave a mark in an index."""
    with closing(open_index_writer(path)) as writer:
        writer.execute("INSERT INTO workspaces (path) VALUES (?)", (name,))


def marks(path: Path) -> list[str]:
    """List the marks."""
    with closing(open_index_reader(path)) as reader:
        return [name for (name,) in reader.execute("SELECT path FROM workspaces")]


def test_a_writer_makes_the_index_private_and_in_wal_mode(path: Path) -> None:
    with closing(open_index_writer(path)) as writer:
        assert writer.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (1,)
        assert writer.execute("PRAGMA busy_timeout").fetchone()[0] > 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["index.db"]


def test_an_index_stays_what_it_is_when_it_is_opened_again(path: Path) -> None:
    mark(path, "/srv/mill")
    first = generation(path)
    open_index_writer(path).close()
    assert (generation(path), marks(path)) == (first, ["/srv/mill"])


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1, 0])
def test_an_index_of_another_version_is_refused_and_made_anew_by_a_writer(path: Path, version: int) -> None:
    mark(path, "/srv/mill")
    first = generation(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(IndexUnavailable, match=f"version {version}"):
        open_index_reader(path)
    open_index_writer(path).close()
    assert marks(path) == []
    assert generation(path) != first


def test_a_reader_of_nothing_makes_nothing(path: Path) -> None:
    with pytest.raises(IndexUnavailable, match="no index yet"):
        open_index_reader(path)
    assert not path.parent.exists()


def test_a_reader_writes_nothing(path: Path) -> None:
    open_index_writer(path).close()
    with closing(open_index_reader(path)) as reader, pytest.raises(sqlite3.OperationalError):
        reader.execute("DELETE FROM meta")


def test_half_a_schema_is_never_seen(path: Path) -> None:
    path.parent.mkdir()

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE meta (key TEXT)")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        create_database(path, half, VERSION)
    assert not path.exists()
    create_database(path, create_tables, VERSION)
    assert generation(path)


def test_a_database_that_can_not_be_filled_leaves_nothing(path: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        create_tables(connection)
        raise KeyboardInterrupt

    path.parent.mkdir()
    with pytest.raises(KeyboardInterrupt):
        create_database(path, fail, VERSION)
    assert list(path.parent.iterdir()) == []


def test_an_existing_database_is_not_made_again(path: Path) -> None:
    open_index_writer(path).close()
    first = generation(path)
    create_database(path, create_tables, VERSION)
    assert generation(path) == first


def test_a_database_is_discarded_with_its_log(path: Path) -> None:
    open_index_writer(path).close()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).write_bytes(b"left")
    discard_database(path)
    assert list(path.parent.iterdir()) == []
    discard_database(path)


def test_a_finished_database_takes_the_other_s_place_and_its_log_is_not_replayed(path: Path) -> None:
    fresh = path.with_name("fresh.db")
    mark(fresh, "/fresh")
    writer = open_index_writer(path)
    writer.execute("INSERT INTO workspaces (path) VALUES ('/old')")
    assert path.with_name("index.db-wal").stat().st_size > 0
    with closing(open_index_reader(path)) as reader:
        replace_database(fresh, path)
        rows = reader.execute("SELECT path FROM workspaces").fetchall()
        assert rows == [("/old",)], "who has it open keeps it"
    writer.close()
    assert marks(path) == ["/fresh"]
    assert not fresh.exists()


def test_the_view_of_hits_has_a_record_whole(path: Path) -> None:
    with closing(open_index_writer(path)) as writer:
        columns = [row[1] for row in writer.execute("PRAGMA table_info(hits)")]
    assert {"record_id", "text", "role", "title", "workspace", "note_path"} <= set(columns)
    assert index_schema.NAME == "derived/index.db"
