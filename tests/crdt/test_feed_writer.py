"""The writer: groups, jobs that fail alone, faults of the disk, bounds."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from crdt import feed_writer
from crdt.errors import BadInput, BlobAbsent, Unavailable
from crdt.feed_writer import GROUP_ENTRIES_MAX, GroupWriter
from crdt.sqlite import faults, open_writer
from tests.crdt.faulty import Disk, faulty
from tests.kit import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "feeds.db"
    with closing(open_writer(path, durable=True)) as connection:
        connection.execute("CREATE TABLE said (what TEXT UNIQUE)")
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[GroupWriter]:
    opened = GroupWriter(open_writer(path, durable=True), partial(open_writer, path, durable=True))
    yield opened
    opened.close()


def say(what: str, connection: sqlite3.Connection) -> str:
    connection.execute("INSERT INTO said VALUES (?)", (what,))
    return what


def refuse(connection: sqlite3.Connection) -> None:
    say("half", connection)
    raise BadInput("no")


def said(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT what FROM said")}


class Held:
    """A job that holds the writer until it is let go, so that others queue up behind it."""

    def __init__(self, writer: GroupWriter) -> None:
        self._begun, self._go = threading.Event(), threading.Event()
        self.future = writer.submit(self._wait)
        assert self._begun.wait(10)

    def _wait(self, _connection: sqlite3.Connection) -> None:
        self._begun.set()
        assert self._go.wait(10)

    def let_go(self) -> None:
        self._go.set()


def commits(path: Path) -> int:
    """Count the commits that the log beside the file has."""
    log = path.with_name(path.name + "-wal").read_bytes()
    frame = 24 + 4096
    return sum(log[at + 4 : at + 8] != bytes(4) for at in range(32, len(log), frame))


def test_what_queued_up_goes_in_one_transaction(writer: GroupWriter, path: Path) -> None:
    held = Held(writer)
    futures = [writer.submit(partial(say, str(number))) for number in range(GROUP_ENTRIES_MAX)]
    held.let_go()
    assert [future.result(10) for future in futures] == [str(number) for number in range(GROUP_ENTRIES_MAX)]
    assert commits(path) == 1
    assert said(path) == {str(number) for number in range(GROUP_ENTRIES_MAX)}


def test_a_group_ends_where_it_is_full(writer: GroupWriter, path: Path) -> None:
    held = Held(writer)
    futures = [writer.submit(partial(say, str(number)), entries=GROUP_ENTRIES_MAX) for number in range(3)]
    held.let_go()
    for future in futures:
        future.result(10)
    assert commits(path) == 3


def test_a_job_that_fails_is_taken_back_alone(writer: GroupWriter, path: Path) -> None:
    held = Held(writer)
    futures: list[Future[object]] = [
        writer.submit(partial(say, "before")), writer.submit(refuse), writer.submit(partial(say, "after"))
    ]  # fmt: skip
    held.let_go()
    assert futures[0].result(10) == "before"
    with pytest.raises(BadInput):
        futures[1].result(10)
    assert futures[2].result(10) == "after"
    assert said(path) == {"before", "after"}
    assert writer.fault is None


@pytest.mark.parametrize("kind", [Unavailable, BlobAbsent])
def test_what_is_not_here_yet_for_one_job_fails_no_other(
    writer: GroupWriter, path: Path, kind: type[Unavailable]
) -> None:
    def wait_for_more(connection: sqlite3.Connection) -> None:
        say("half", connection)
        raise kind("not yet")

    held = Held(writer)
    failing, after = writer.submit(wait_for_more), writer.submit(partial(say, "after"))
    held.let_go()
    with pytest.raises(kind, match="not yet"):
        failing.result(10)
    assert after.result(10) == "after"
    assert said(path) == {"after"}
    assert writer.fault is None


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), sqlite3.OperationalError("disk I/O error")])
def test_a_fault_of_the_disk_that_a_job_names_is_the_whole_group_s(
    writer: GroupWriter, path: Path, error: Exception
) -> None:
    def meet(_: sqlite3.Connection) -> None:
        with faults("canonical/feeds.db"):
            raise error

    held = Held(writer)
    before, failing = writer.submit(partial(say, "before")), writer.submit(meet)
    held.let_go()
    for future in (failing, before):
        with pytest.raises(Unavailable, match="canonical/feeds"):
            future.result(10)
    assert said(path) == set()


def test_an_error_of_our_own_making_ends_neither_the_thread_nor_the_group(writer: GroupWriter) -> None:
    with pytest.raises(ZeroDivisionError):
        writer.run(lambda _: 1 // 0)
    assert writer.run(partial(say, "after")) == "after"


def test_a_job_that_nobody_waits_for_any_more_is_not_done(writer: GroupWriter, path: Path) -> None:
    held = Held(writer)
    given_up = writer.submit(partial(say, "given up"))
    assert given_up.cancel()
    held.let_go()
    assert writer.run(partial(say, "after")) == "after"
    assert said(path) == {"after"}


def test_after_a_failed_fsync_nothing_of_the_group_is_confirmed_and_the_file_is_opened_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_writer, "RETRY_S", 0.0)
    disk = Disk()
    opened: list[str] = []

    def reopen() -> sqlite3.Connection:
        opened.append("again")
        return faulty(path, disk)

    writer = GroupWriter(faulty(path, disk), reopen)
    writer.run(partial(say, "confirmed"))
    held = Held(writer)
    lost = [writer.submit(partial(say, f"lost {number}")) for number in range(2)]
    disk.failing, before = 1, disk.syncs
    held.let_go()
    held.future.result(10)
    for future in lost:
        with pytest.raises(Unavailable, match="canonical/feeds"):
            future.result(10)
    assert disk.syncs == before + 1, "the fsync that failed is not tried again"
    assert isinstance(writer.fault, Unavailable)
    assert opened == []
    assert writer.run(partial(say, "next")) == "next"
    assert opened == ["again"]
    assert writer.fault is None
    writer.close()
    assert said(path) >= {"confirmed", "next"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_while_a_fault_lasts_it_is_told_at_once_and_the_disk_left_alone(path: Path) -> None:
    disk = Disk(failing=10_000)
    writer = GroupWriter(faulty(path, disk), partial(faulty, path, disk))
    with pytest.raises(Unavailable):
        writer.run(partial(say, "x"))
    tried = disk.syncs
    for _ in range(50):
        with pytest.raises(Unavailable):
            writer.run(partial(say, "x"))
    assert disk.syncs <= tried + 2, "once a second at most"
    disk.failing = 0
    wait_until(partial(is_done, writer), "it recovers by itself", timeout_s=10)
    writer.close()


def is_done(writer: GroupWriter) -> bool:
    with suppress(Unavailable):
        return writer.run(partial(say, "y")) == "y"
    return False


def test_the_queue_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_writer, "QUEUE_MAX", 2)
    monkeypatch.setattr(feed_writer, "ENQUEUE_S_MAX", 0.01)
    writer = GroupWriter(open_writer(path, durable=True), partial(open_writer, path, durable=True))
    held = Held(writer)
    kept = [writer.submit(partial(say, str(number))) for number in range(2)]
    with pytest.raises(Unavailable, match="too many"):
        writer.submit(partial(say, "one too many"))
    held.let_go()
    assert [future.result(10) for future in kept] == ["0", "1"]
    monkeypatch.setattr(feed_writer, "ENQUEUE_S_MAX", 10.0)
    assert writer.close()


def test_closing_finishes_what_is_queued_and_takes_no_more(writer: GroupWriter, path: Path) -> None:
    futures = [writer.submit(partial(say, str(number))) for number in range(200)]
    assert writer.close()
    assert all(future.done() for future in futures)
    assert len(said(path)) == 200
    with pytest.raises(Unavailable, match="closed"):
        writer.submit(partial(say, "late"))


def test_many_threads_write_and_each_gets_its_own_answer(writer: GroupWriter, path: Path) -> None:
    answers: dict[str, str] = {}

    def work(name: str) -> None:
        for number in range(40):
            answers[f"{name} {number}"] = writer.run(partial(say, f"{name} {number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 320
    assert all(key == value for key, value in answers.items())
    assert said(path) == set(answers)


def test_the_log_beside_the_file_is_emptied_when_nothing_happens(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_writer, "IDLE_S", 0.05)
    with closing(open_writer(path, durable=True)) as beside:
        writer = GroupWriter(open_writer(path, durable=True), partial(open_writer, path, durable=True))
        log = path.with_name(path.name + "-wal")
        writer.run(partial(say, "x"))
        wait_until(lambda: log.stat().st_size == 0, "the log is emptied")
        beside.execute("BEGIN")
        assert beside.execute("SELECT count(*) FROM said").fetchone() == (1,)
        writer.run(partial(say, "while it is read"))
        assert writer.run(partial(say, "nobody waits for the reader")) == "nobody waits for the reader"
        assert log.stat().st_size > 0
        assert writer.fault is None
        writer.close()
