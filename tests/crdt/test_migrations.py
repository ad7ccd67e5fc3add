"""Versions of the store: made once and whole, opened without the library that makes them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations
from crdt.errors import Unavailable
from crdt.sqlite import open_writer
from crdt.store import open_store
from tests.kit import CHECKOUT

TABLES = "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE '%sqlite_%'"
OPEN = """
import sys
from pathlib import Path
from crdt.store import open_store
open_store(Path(sys.argv[1]), writable=True).close()
print("sqlite_utils" in sys.modules)
"""


def test_a_new_store_has_the_strict_tables_and_their_version(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        migrations.migrate(connection)
        assert migrations.version_of(connection) == migrations.VERSION
        found = dict(connection.execute(TABLES).fetchall())
    assert found == dict.fromkeys(("feeds", "entries", "pending", "tails", "wanted"), 1)


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        migrations.migrate(connection)
        connection.execute("INSERT INTO tails (sha256, hlc, body) VALUES (x'', 1, x'')")
        before = connection.execute("SELECT * FROM sqlite_schema").fetchall()
        migrations.migrate(connection)
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == before
        assert connection.execute("SELECT count(*) FROM tails").fetchone() == (1,)


def test_a_migration_that_fails_leaves_an_empty_store_that_the_next_one_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "_CREATE_TAILS", "CREATE TABLE tails (no such syntax")
            with pytest.raises(sqlite3.OperationalError):
                migrations.migrate(connection)
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == []
        assert migrations.version_of(connection) == 0
        migrations.migrate(connection)
        assert migrations.version_of(connection) == migrations.VERSION


def test_only_the_first_opening_imports_the_library_that_migrates(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(tmp_path / "feeds.db")]
    said = [
        subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=30).stdout
        for _ in range(2)
    ]
    assert said == ["True\n", "False\n"]


def test_a_store_of_a_newer_program_is_refused_to_readers_and_writers(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    open_store(path, writable=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    for writable in (True, False):
        with pytest.raises(Unavailable, match=r"version 3, this program knows 2") as caught:
            open_store(path, writable=writable)
        assert caught.value.hint == "update this program"
