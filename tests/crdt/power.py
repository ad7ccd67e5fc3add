"""What the disk may hold after the power fails, for a database written by the store's own code.

A VFS of SQLite records each write, truncation, sync and deletion.  After a power failure everything before a
file's last sync is there; of what came later any part may be, in any order, a write cut at any sector.
Moments of acknowledgement are marked in the same record, so that each state knows what had to survive.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR_BYTES = 512
VFS_NAME = "recorded"


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes on their way to a file."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut to a size."""

    file: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything written to a file so far is durable."""

    file: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A file removed."""

    file: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Somebody was told that these are stored."""

    hashes: tuple[bytes, ...]


Step = Write | Truncate | Sync | Delete | Acknowledged


@dataclass(slots=True)
class Record:
    """The steps of one run, and what the files held before it."""

    before: dict[str, bytes]
    steps: list[Step] = field(default_factory=list)

    def acknowledge(self, hashes: Iterable[bytes]) -> None:
        """Mark that a write was confirmed."""
        self.steps.append(Acknowledged(tuple(hashes)))


class _File(apsw.VFSFile):
    def __init__(self, record: Record, name: Any, flags: Any) -> None:
        self._record = record
        self._name = Path(name if isinstance(name, str) else name.filename()).name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._record.steps.append(Write(self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        self._record.steps.append(Truncate(self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._record.steps.append(Sync(self._name))


class _Vfs(apsw.VFS):
    def __init__(self, record: Record) -> None:
        self._record = record
        super().__init__(VFS_NAME, "", iVersion=1)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        # A file without a name is temporary: nothing of it is wanted after a failure.
        return _File(self._record, name, flags) if name else apsw.VFSFile("", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        self._record.steps.append(Delete(Path(filename).name))
        super().xDelete(filename, syncdir)


class RecordedConnection:
    """An apsw connection in the shape of `sqlite3.Connection`, as far as the store's writer uses it.

    Locking is exclusive, since the recording VFS has no shared memory; pragmas are those of `open_writer`.
    """

    def __init__(self, path: Path, record: Record, *, synchronous: str = "FULL") -> None:
        self._vfs = _Vfs(record)
        self._connection = apsw.Connection(str(path), vfs=VFS_NAME)
        for pragma in (
            "locking_mode = EXCLUSIVE", "journal_mode = WAL", f"synchronous = {synchronous}",
            "foreign_keys = ON", "secure_delete = ON", "wal_autocheckpoint = 24",
        ):  # fmt: skip
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> _Cursor:
        return _Cursor(self._connection.execute(statement, tuple(parameters)), self._connection)

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def close(self) -> None:
        self._connection.close()
        self._vfs.unregister()


class _Cursor:
    def __init__(self, cursor: Any, connection: apsw.Connection) -> None:
        self._cursor = cursor
        self.lastrowid = connection.last_insert_rowid()

    def fetchone(self) -> Any:
        return self._cursor.fetchone()

    def fetchall(self) -> Any:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)


@dataclass(slots=True)
class State:
    """The files after one power failure, and the hashes that had been acknowledged before it."""

    files: dict[str, bytes]
    acknowledged: set[bytes]

    def put(self, folder: Path) -> None:
        """Write the files to an empty directory."""
        for name, data in self.files.items():
            (folder / name).write_bytes(data)


def states(record: Record, count: int, seed: int) -> Iterator[State]:
    """Make so many states: power fails at random steps, with random parts of what was not synced."""
    generator = random.Random(seed)  # noqa: S311 - a replayable choice
    for _ in range(count):
        yield _state(record, generator.randrange(1, len(record.steps) + 1), generator)


def _state(record: Record, end: int, generator: random.Random) -> State:
    steps = record.steps[:end]
    last_sync = {step.file: at for at, step in enumerate(steps) if isinstance(step, Sync)}
    files = {name: bytearray(data) for name, data in record.before.items()}
    acknowledged: set[bytes] = set()
    # A failure often keeps everything or nothing of what was on its way; the mean is as likely as either.
    share = generator.choice((0.0, 0.5, 1.0, generator.random()))
    for at, step in enumerate(steps):
        if isinstance(step, Acknowledged):
            acknowledged.update(step.hashes)
        elif isinstance(step, Write | Truncate):
            _apply(files, step, generator, 1.0 if at < last_sync.get(step.file, -1) else share)
        elif isinstance(step, Delete):
            files.pop(step.file, None)
    return State({name: bytes(data) for name, data in files.items()}, acknowledged)


def _apply(
    files: dict[str, bytearray], step: Write | Truncate, generator: random.Random, share: float
) -> None:
    content = files.setdefault(step.file, bytearray())
    if isinstance(step, Truncate):
        if generator.random() < share:
            del content[step.size_bytes :]
        return
    for start in range(0, len(step.data), SECTOR_BYTES):
        if generator.random() < share:
            part = step.data[start : start + SECTOR_BYTES]
            begin = step.offset + start
            content.extend(bytes(max(0, begin + len(part) - len(content))))
            content[begin : begin + len(part)] = part
