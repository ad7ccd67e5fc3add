"""A connection of SQLite whose disk fails when a test says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import apsw

VFS_NAME = "faulty"


@dataclass(slots=True)
class Disk:
    """What the disk does: `syncs` counts the attempts, `failing` how many of the next ones fail."""

    syncs: int = 0
    failing: int = 0


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: Any) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.syncs += 1
        if self._disk.failing:
            self._disk.failing -= 1
            raise apsw.IOError("the disk said EIO")
        super().xSync(flags)


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(VFS_NAME, "", iVersion=1)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _File(self._disk, name, flags) if name else apsw.VFSFile("", name, flags)


class FaultyConnection:
    """An apsw connection in the shape of `sqlite3.Connection`, as far as the store's writer uses it."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._vfs = _Vfs(disk)
        self._connection = apsw.Connection(str(path), vfs=VFS_NAME)
        # In the store another connection reads, so that closing this one does not touch the log.
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> _Cursor:
        with _as_sqlite3():
            return _Cursor(self._connection.execute(statement, tuple(parameters)), self._connection)

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with _as_sqlite3():
            self._connection.executemany(statement, rows)

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def close(self) -> None:
        self._connection.close(True)
        self._vfs.unregister()


class _Cursor:
    def __init__(self, cursor: Any, connection: apsw.Connection) -> None:
        self._rows = list(cursor)
        self.lastrowid = connection.last_insert_rowid()
        self.rowcount = connection.changes()

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> Any:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


@contextmanager
def _as_sqlite3() -> Iterator[None]:
    try:
        yield
    except apsw.IOError as error:
        raised = sqlite3.OperationalError(str(error))
        raised.sqlite_errorname = "SQLITE_IOERR_FSYNC"
        raise raised from error


def faulty(path: Path, disk: Disk) -> sqlite3.Connection:
    """Open a database on such a disk."""
    return cast("sqlite3.Connection", FaultyConnection(path, disk))
