"""The one writer of the store: jobs from any thread, committed in groups, acknowledged after COMMIT.

While one commit waits for the disk the next jobs queue up, and go together.  A job that fails is taken back
alone; a fault of the disk fails the whole group, and nothing of it is tried again: after a failed fsync the
kernel may have dropped what it should have written, and the next fsync would say that all is well.  The
connection is opened anew, and what the log beside the file holds is folded into the file, whose own fsync
then counts.  Until that succeeds the store is read-only, and tries again at most once a second.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar, cast

from crdt.errors import AtriumError, Damaged, DiskFull, ReadOnlyState, Unavailable
from crdt.feed_tables import NAME
from crdt.sqlite import BUSY_TIMEOUT_MS, faults, transaction

GROUP_ENTRIES_MAX = 64
QUEUE_MAX = 1_024
ENQUEUE_S_MAX = 30.0
ACKNOWLEDGE_S_MAX = 120.0
LINGER_S = 0.002
"""How long a group waits for as many jobs as the group before it had; a lone writer never waits."""
RETRY_S = 1.0
IDLE_S = 5.0
"""After so long without a job the log beside the file is emptied: it keeps what rows no longer say."""
_CLOSE_S_MAX = 60.0
_OF_THE_DISK = (sqlite3.Error, OSError)
_MADE_OF_THEM = (Unavailable, DiskFull, ReadOnlyState, Damaged)
"""What `faults` makes of faults of the disk."""

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


class _Submission:
    """A job on its way to the disk."""

    def __init__(self, job: Job[object], entries: int) -> None:
        self.entries = entries
        self.future: Future[object] = Future()
        self._job = job
        self._result: object = None
        self._error: Exception | None = None

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Do the job within the group's transaction; what it raises for itself is taken back alone."""
        connection.execute("SAVEPOINT job")
        try:
            self._result = self._job(connection)
        except Exception as error:
            if _is_of_the_disk(error):
                raise
            connection.execute("ROLLBACK TO job")
            self._error = error
        connection.execute("RELEASE job")

    def settle(self) -> None:
        """Acknowledge."""
        if self._error is None:
            self.future.set_result(self._result)
        else:
            self.future.set_exception(self._error)


class GroupWriter:
    """A thread that owns the store's writing connection; `reopen` makes another after a fault."""

    def __init__(self, connection: sqlite3.Connection, reopen: Callable[[], sqlite3.Connection]) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._reopen = reopen
        self._queue: queue.Queue[_Submission | None] = queue.Queue(QUEUE_MAX)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._fault: AtriumError | None = None
        self._tried_s = 0.0
        self._expected = 1
        self._is_folded = True

    @property
    def fault(self) -> AtriumError | None:
        """Why nothing can be written at this moment; None while all is well."""
        return self._fault

    def submit(self, job: Job[T], entries: int = 1) -> Future[T]:
        """Queue a job; the future resolves after COMMIT.  `entries` counts towards a full group."""
        submission = _Submission(job, entries)
        with self._starting:
            if self._is_closed:
                raise Unavailable(f"{NAME} is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="feed-writer", daemon=True)
                self._thread.start()
        try:
            self._queue.put(submission, timeout=ENQUEUE_S_MAX)
        except queue.Full:
            raise Unavailable("too many writes wait for the disk", hint="try again") from None
        return cast("Future[T]", submission.future)

    def run(self, job: Job[T], entries: int = 1) -> T:
        """Do a job and give its result after COMMIT; raises `Unavailable` when the disk takes too long."""
        try:
            return self.submit(job, entries).result(ACKNOWLEDGE_S_MAX)
        except TimeoutError:
            raise Unavailable("the disk did not confirm a write in time", hint="try again") from None

    def close(self) -> bool:
        """Finish what is queued and close the connection; tell whether all of it was well."""
        with self._starting:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None, timeout=ENQUEUE_S_MAX)
            thread.join(_CLOSE_S_MAX)
            if thread.is_alive():
                return False
        if self._connection is None:
            return False
        with faults(NAME):
            self._connection.close()
        self._connection = None
        return self._fault is None

    def _work(self) -> None:
        is_open = True
        while is_open:
            group, is_open = self._next_group()
            if group:
                self._commit(group)

    def _next_group(self) -> tuple[list[_Submission], bool]:
        """Wait for a job and take what else is there; False with it once the store closes."""
        group: list[_Submission] = []
        entries = 0
        deadline_s = None
        while entries < GROUP_ENTRIES_MAX:
            try:
                submission = self._next(deadline_s, is_awaited=len(group) < self._expected)
            except queue.Empty:
                break
            if submission is None:
                return group, False
            group.append(submission)
            entries += submission.entries
            deadline_s = deadline_s or time.monotonic() + LINGER_S
        self._expected = len(group)
        return group, True

    def _next(self, deadline_s: float | None, *, is_awaited: bool) -> _Submission | None:
        if deadline_s is None:
            return self._next_after_idling()
        left_s = deadline_s - time.monotonic()
        if not is_awaited or left_s <= 0:
            return self._queue.get_nowait()
        return self._queue.get(timeout=left_s)

    def _next_after_idling(self) -> _Submission | None:
        while not self._is_folded:
            try:
                return self._queue.get(timeout=IDLE_S)
            except queue.Empty:
                self._fold()
        return self._queue.get()

    def _fold(self) -> None:
        """Empty the log beside the file unless somebody reads it, for which nobody is kept waiting."""
        self._is_folded = True
        connection = self._connection
        if connection is None:
            return
        try:
            with faults(NAME):
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        except AtriumError as error:
            self._note(error)

    def _commit(self, submissions: list[_Submission]) -> None:
        group = [item for item in submissions if item.future.set_running_or_notify_cancel()]
        try:
            with faults(NAME), transaction(self._usable()) as connection:
                for submission in group:
                    submission.attempt(connection)
        except Exception as error:
            self._note(error)
            for submission in group:
                submission.future.set_exception(error)
        else:
            self._is_folded = False
            for submission in group:
                submission.settle()

    def _usable(self) -> sqlite3.Connection:
        """Give the connection; after a fault a new one, at most once a second."""
        if self._fault is None and self._connection is not None:
            return self._connection
        now_s = time.monotonic()
        if self._fault is not None and now_s < self._tried_s + RETRY_S:
            raise _again(self._fault)
        self._tried_s = now_s
        self._drop()
        self._connection = fresh = self._reopen()
        (is_busy, *_) = fresh.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            raise Unavailable(f"{NAME} is read by another process", hint="try again")
        self._fault = None
        return fresh

    def _note(self, error: Exception) -> None:
        """Remember a fault of the disk; that another writer holds the lock is none."""
        cause = error.__cause__
        is_busy = str(getattr(cause, "sqlite_errorname", "")).startswith("SQLITE_BUSY")
        if is_busy and self._fault is None:
            return
        if self._fault is None:
            self._tried_s = time.monotonic()
        self._fault = error if isinstance(error, AtriumError) else Unavailable(f"{NAME}: {error}")
        self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _is_of_the_disk(error: Exception) -> bool:
    """Tell a fault of the disk from what a job says for itself, such as that something is not here yet."""
    is_made = type(error) in _MADE_OF_THEM and isinstance(error.__cause__, _OF_THE_DISK)
    return is_made or isinstance(error, _OF_THE_DISK)


def _again(fault: AtriumError) -> AtriumError:
    """Say the same fault once more, to another caller."""
    return type(fault)(fault.detail, hint=fault.hint)
