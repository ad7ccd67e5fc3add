"""How databases are opened, and which error of ours a fault is."""

from __future__ import annotations

import errno
import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from crdt import sqlite as opening
from crdt.errors import AtriumError, Damaged, DiskFull, ReadOnlyState, Unavailable
from crdt.sqlite import faults, open_reader, open_writer, transaction, uri


class Recorder(sqlite3.Connection):
    """A connection that remembers what it was told."""

    said: list[str]

    def execute(self, statement: str, *more: object) -> sqlite3.Cursor:  # type: ignore[override]
        """Note and run a statement."""
        self.__dict__.setdefault("said", []).append(statement)
        return super().execute(statement, *more)  # type: ignore[arg-type]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Recorder))


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("durable", "level"), [(True, "FULL"), (False, "NORMAL")])
def test_the_time_to_wait_is_set_before_wal_and_wal_before_synchronous(
    tmp_path: Path, durable: bool, level: str
) -> None:
    with closing(open_writer(tmp_path / "a.db", durable=durable)) as connection:
        assert isinstance(connection, Recorder)
        assert connection.said[:3] == [
            "PRAGMA busy_timeout = 5000",
            "PRAGMA journal_mode = WAL",
            f"PRAGMA synchronous = {level}",
        ]


def test_a_writer_waits_where_another_turns_wal_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    blocker = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    blocker.execute("CREATE TABLE t (a)")
    blocker.execute("BEGIN EXCLUSIVE")
    paused = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if blocker.in_transaction:
            blocker.execute("COMMIT")

    monkeypatch.setattr(opening, "BUSY_TIMEOUT_MS", 30)
    monkeypatch.setattr(opening.time, "sleep", pause)
    monkeypatch.setattr(opening.time, "monotonic", lambda: 0.0)
    with closing(open_writer(path, durable=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    blocker.close()
    assert paused


def test_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    monkeypatch.setattr(opening, "BUSY_TIMEOUT_MS", 20)
    with closing(sqlite3.connect(path, isolation_level=None)) as blocker:
        blocker.execute("CREATE TABLE t (a)")
        blocker.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match=r"a\.db is busy"):
            open_writer(path, durable=True)


def test_names_with_signs_of_uris_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#%20 b.db"
    open_writer(path, durable=False).close()
    assert path.exists()
    open_reader(path).close()
    assert uri(Path("/a b"), "ro") == "file:/a%20b?mode=ro"
    assert uri(Path("/a"), "immutable") == "file:/a?mode=ro&immutable=1"


def test_a_reader_creates_nothing_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_reader(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []
    open_writer(tmp_path / "a.db", durable=False).close()
    with closing(open_reader(tmp_path / "a.db")) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("CREATE TABLE t (a)")


def test_a_reader_that_finds_a_lock_does_not_read_past_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    monkeypatch.setattr(opening, "BUSY_TIMEOUT_MS", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as blocker:
        blocker.execute("CREATE TABLE t (a)")
        blocker.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            open_reader(path)


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_a_transaction_that_is_left_by_an_error_never_was(tmp_path: Path, error: BaseException) -> None:
    with closing(open_writer(tmp_path / "a.db", durable=True)) as connection:
        connection.execute("CREATE TABLE t (a)")
        with pytest.raises(type(error)):
            leave_transaction(connection, error)
        assert not connection.in_transaction
        with transaction(connection):
            connection.execute("INSERT INTO t VALUES (2)")
        assert connection.execute("SELECT a FROM t").fetchall() == [(2,)]


def leave_transaction(connection: sqlite3.Connection, error: BaseException) -> None:
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        raise error


def sqlite_error(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite_error("SQLITE_FULL"), DiskFull),
        (sqlite_error("SQLITE_IOERR_WRITE"), DiskFull),
        (sqlite_error("SQLITE_IOERR_SHMSIZE"), DiskFull),
        (sqlite_error("SQLITE_READONLY_DIRECTORY"), ReadOnlyState),
        (sqlite_error("SQLITE_CANTOPEN"), ReadOnlyState),
        (sqlite_error("SQLITE_CORRUPT_VTAB"), Damaged),
        (sqlite_error("SQLITE_NOTADB"), Damaged),
        (sqlite_error("SQLITE_BUSY_SNAPSHOT"), Unavailable),
        (sqlite_error("SQLITE_LOCKED"), Unavailable),
        (sqlite_error("SQLITE_IOERR_READ"), Unavailable),
        (sqlite3.OperationalError("made by the driver, without a name"), Unavailable),
        (OSError(errno.ENOSPC, "full"), DiskFull),
        (OSError(errno.EDQUOT, "quota"), DiskFull),
        (OSError(errno.EFBIG, "too large"), DiskFull),
        (PermissionError(errno.EACCES, "no"), ReadOnlyState),
        (OSError(errno.EROFS, "read-only"), ReadOnlyState),
        (OSError(errno.EIO, "i/o"), Unavailable),
    ],
    ids=lambda value: getattr(value, "sqlite_errorname", None) or str(value),
)
def test_each_fault_is_an_error_of_ours_that_names_the_file(
    error: Exception, kind: type[AtriumError]
) -> None:
    with pytest.raises(kind, match=r"canonical/feeds\.db") as caught, faults("canonical/feeds.db"):
        raise error
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error
    assert caught.value.hint


def test_a_schema_that_is_no_text_any_more_is_damage_to_readers_and_writers(tmp_path: Path) -> None:
    path = tmp_path / "canonical" / "feeds.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE tide (height INTEGER)")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE tide", b"CREATE TAB\xd4E t\xd4de"))
    for opened in (open_reader, partial(open_writer, durable=True)):
        with pytest.raises(Damaged, match="malformed"), faults("canonical/feeds.db"):
            opened(path)


def test_a_process_that_may_open_no_more_files_is_told_so() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(Unavailable, match="too many open files") as caught, faults("canonical/feeds.db"):
            raise sqlite_error("SQLITE_CANTOPEN")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert type(caught.value) is Unavailable
    assert "ulimit" in caught.value.hint


def test_a_fault_never_advises_to_delete() -> None:
    for name in ("SQLITE_BUSY", "SQLITE_IOERR_READ", "SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_FULL"):
        with pytest.raises(AtriumError) as caught, faults("canonical/feeds.db"):
            raise sqlite_error(name)
        said = f"{caught.value.detail} {caught.value.hint}".lower()
        assert not {"delete", "remove", "erase", "re-ingest", "rm"} & set(said.split())


def test_a_missing_file_is_left_to_whoever_asked() -> None:
    with pytest.raises(FileNotFoundError), faults("canonical/feeds.db"):
        raise FileNotFoundError("a.db")
