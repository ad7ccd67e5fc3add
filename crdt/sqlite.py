"""How every database of a state directory is opened, and what its faults mean.

Pragmas go in this order: busy_timeout first, since setting WAL mode takes a lock (43 of 100 concurrent
first opens failed the other way round), then WAL, then synchronous: FULL where the data is canonical,
NORMAL where it can be rebuilt.  A reader never creates a file but SQLite's own -shm, and answers from a
read-only directory too.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from crdt.errors import AtriumError, Damaged, DiskFull, ReadOnlyState, Unavailable

BUSY_TIMEOUT_MS = 5_000
_BUSY_PAUSE_S = 0.005
_PAGE_CACHE_KIB = 32 * 1024
MENDS = {
    "canonical": "keep a copy of the state directory, then put its `canonical` folder back from a backup",
    "derived": "run `atrium rebuild`",
    "local": "run `atrium doctor --fix`, which sets it aside; then index your notes again",
}
"""What mends a damaged database, by the directory of the state that it lies in."""


def uri(path: Path, mode: str) -> str:
    """Make the URI of a database file; `mode` is ro, rw, rwc or immutable."""
    parameters = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    return f"file:{quote(str(path))}?{parameters}"


def open_writer(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Open or create a database for its one writer; `durable` is for canonical data (synchronous=FULL).

    Transactions are explicit: BEGIN and COMMIT are the caller's.  Raises the tree's errors.
    """
    with faults(f"{path.parent.name}/{path.name}"):
        is_new = not path.exists()
        connection = sqlite3.connect(
            uri(path, "rwc"), uri=True, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            with _unreadable_complaints():
                _set_wal(connection)
            connection.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KIB}")
        except BaseException:
            connection.close()
            raise
        if is_new:
            path.chmod(0o600)
            fsync_directory(path.parent)
        return connection


def _set_wal(connection: sqlite3.Connection) -> None:
    """Turn on WAL.  SQLite itself does not wait where another connection turns it on at this moment."""
    deadline_s = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() >= deadline_s:
                raise
            time.sleep(_BUSY_PAUSE_S)
        else:
            return


def open_reader(path: Path) -> sqlite3.Connection:
    """Open an existing database for reading; `FileNotFoundError` where there is none.

    On a read-only directory or a full disk SQLite can't make its -shm file: without a log to read beside
    it, the file itself is the whole truth and is opened as immutable.
    """
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        return _probe(uri(path, "ro"))
    except sqlite3.OperationalError as error:
        log = path.with_name(path.name + "-wal")
        if _is_busy(error) or (log.exists() and log.stat().st_size):
            raise
        return _probe(uri(path, "immutable"))


def _probe(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA temp_store = MEMORY")
        with _unreadable_complaints():
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _unreadable_complaints() -> Iterator[None]:
    """Take SQLite's complaint about a schema, which quotes it, for what it is where that is no UTF-8."""
    try:
        yield
    except UnicodeDecodeError as error:
        complaint = sqlite3.DatabaseError("its schema is malformed")
        complaint.sqlite_errorname = "SQLITE_CORRUPT"
        raise complaint from error


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, durably, while others write to it; a target is replaced."""
    with faults(f"{target.parent.name}/{target.name}"):
        temporary = target.with_name(f"{target.name}.new")
        temporary.unlink(missing_ok=True)
        with closing(open_reader(source)) as origin, closing(sqlite3.connect(temporary)) as copy:
            temporary.chmod(0o600)
            origin.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        fsync_directory(target.parent)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run a block as one write transaction, rolled back whole when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def faults(what: str) -> Iterator[None]:
    """Turn faults of the disk and of SQLite into the tree's errors, naming what was written or read."""
    try:
        with sqlite_faults(what):
            yield
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise _of_disk(error, what) from error


@contextmanager
def sqlite_faults(what: str) -> Iterator[None]:
    """Turn faults of SQLite alone into the tree's errors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _translated(error, what) from error


def _name(error: sqlite3.DatabaseError) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return _name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_out_of_files() -> bool:
    """Ask the system what SQLite does not tell: whether it can't open because this process has too many."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _translated(error: sqlite3.DatabaseError, what: str) -> AtriumError:
    name = _name(error)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")):
        return DiskFull(f"no space left while writing {what}")
    if name.startswith("SQLITE_CANTOPEN") and _is_out_of_files():
        return Unavailable(f"{what}: too many open files", hint="raise the limit of open files (`ulimit -n`)")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return ReadOnlyState(f"{what} can't be written ({error})")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return Damaged(f"{what} is damaged ({error})", hint=MENDS.get(what.partition("/")[0]))
    if _is_busy(error):
        return Unavailable(f"{what} is busy", hint="run the same command again")
    return Unavailable(f"{what}: {error}")


def _of_disk(error: OSError, what: str) -> AtriumError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"no space left while writing {what}")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnlyState(f"{what} can't be written ({error.strerror})")
    return Unavailable(f"{what}: {error.strerror}")


def fsync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
