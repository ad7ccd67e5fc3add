"""An index of a database that misses what is written meanwhile, as a damaged one does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

TAKE_OUT = "DELETE FROM sqlite_schema WHERE name = ?"
PUT_BACK = "INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)"


@contextmanager
def index_away(path: Path, name: str) -> Iterator[None]:
    """Hide an index from whoever opens the database within the block."""
    row = _changed(path, "SELECT * FROM sqlite_schema WHERE name = ?", name)
    _changed(path, TAKE_OUT, name)
    yield
    _changed(path, PUT_BACK, *row)


def _changed(path: Path, statement: str, *values: object) -> tuple[object, ...]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        found: tuple[object, ...] | None = connection.execute(statement, values).fetchone()
        return found or ()
