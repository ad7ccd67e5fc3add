"""Run use-cases off the event loop: reads and commits side by side, writes one after the other.

Archive and index are written in one thread, first come, first served.  Records are committed in threads of
their own, since each waits for the disk, and one flush serves all that wait.  Every queue is bounded: beyond
the bound a caller is told to come back, instead of waiting without end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from crdt.errors import Cancelled, Unavailable
from node.services.catalog import Document, UseCase
from node.services.requests import Request

if TYPE_CHECKING:
    from node.composition import Local

READERS = 4
READS_MAX = 128
WRITES_MAX = 64
COMMITTERS = 16
COMMITS_MAX = 256
"""Waiting and running, together."""

T = TypeVar("T")
Report = Callable[[Document], None]


class Lane:
    """Threads with a bounded queue in front of them."""

    def __init__(self, name: str, *, threads: int, waiting_max: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting_max = waiting_max
        self._taken = 0

    @property
    def taken(self) -> int:
        """How much waits and runs."""
        return self._taken

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Queue the work; raises `Unavailable` when there is no place."""
        with self._lock:
            if self._taken == self._waiting_max:
                raise Unavailable("the node has too much to do", hint="try again in a few seconds")
            self._taken += 1
        future = self._pool.submit(work)
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _done: Future[T]) -> None:
        with self._lock:
            self._taken -= 1

    async def close(self) -> None:
        """Drop what waits and return when what runs has ended."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._pool.shutdown, wait=True)


class Call:
    """One use-case on its way; `leave` says that nobody waits for the answer any more."""

    def __init__(self, report: Report, stopping: threading.Event) -> None:
        self._report = report
        self._stopping = stopping
        self._left = threading.Event()

    def leave(self) -> None:
        """Let the handler end at its next sign of progress, between two batches."""
        self._left.set()

    def progress(self, document: Document) -> None:
        """Pass a sign of progress on, or end the handler; called in the handler's thread."""
        if self._left.is_set():
            raise Cancelled("the asker is gone")
        if self._stopping.is_set():
            raise _stopping_error()
        self._report(document)


class Workers:
    """The threads of a node and what they work on, which is opened and closed in the writing thread."""

    def __init__(self) -> None:
        self._reads = Lane("read", threads=READERS, waiting_max=READS_MAX)
        self._writes = Lane("write", threads=1, waiting_max=WRITES_MAX)
        self._commits = Lane("commit", threads=COMMITTERS, waiting_max=COMMITS_MAX)
        self._stopping = threading.Event()

    def start_call(self, report: Report) -> Call:
        """Begin a call whose progress goes to `report`, in the handler's thread."""
        return Call(report, self._stopping)

    async def run(self, case: UseCase, work: Callable[[], Document]) -> Document:
        """Run work of a use-case in the lane that it belongs to."""
        lanes = {"read": self._reads, "write": self._writes, "commit": self._commits}
        return await self._in(lanes[case.lane], work)

    async def read(self, work: Callable[[], T]) -> T:
        """Run work that changes nothing."""
        return await self._in(self._reads, work)

    async def write(self, work: Callable[[], T]) -> T:
        """Run work in the writing thread, after everything that was queued before."""
        return await self._in(self._writes, work)

    def follow_soon(self, work: Callable[[], None]) -> FollowSoon:
        """Make what lets other threads have the index brought level by `work`."""
        return FollowSoon(self._writes, work)

    def stop(self) -> None:
        """Refuse new work and end what runs at its next sign of progress."""
        self._stopping.set()

    async def close(self, last: Callable[[], None]) -> None:
        """End the threads; `last` is run in the writing thread when all else has ended."""
        await self._reads.close()
        await self._commits.close()
        await asyncio.wrap_future(self._writes.submit(last))
        await self._writes.close()

    async def _in(self, lane: Lane, work: Callable[[], T]) -> T:
        if self._stopping.is_set():
            raise _stopping_error()
        future = lane.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if future.cancelled() and task is not None and not task.cancelling():
                # It still waited for its turn when the lane was closed.
                raise _stopping_error() from None
            raise


class FollowSoon:
    """Brings the index level in the writing thread, once for all who ask in the meantime."""

    def __init__(self, lane: Lane, work: Callable[[], None]) -> None:
        self._lane = lane
        self._work = work
        self._lock = threading.Lock()
        self._next: Future[None] | None = None
        self._is_near = True
        self._running = 0

    def __call__(self) -> Future[None] | None:
        """Queue a run that begins after now; None where other writing comes before it."""
        with self._lock:
            if self._next is None:
                self._is_near = self._lane.taken <= self._running
                self._next = self._lane.submit(self._run)
            return self._next if self._is_near else None

    def _run(self) -> None:
        with self._lock:
            # What is committed from here on may be missed by this run, and asks for another.
            self._next, self._running = None, 1
        try:
            self._work()
        finally:
            self._running = 0


def bind(case: UseCase, local: Local, request: Request, call: Call) -> Callable[[], Document]:
    """Make the work of one call: load the handler and ask it."""

    def work() -> Document:
        call.progress({})
        return case.call(local, request, call.progress)

    return work


def _stopping_error() -> Unavailable:
    return Unavailable("the node is stopping", hint="run the same command again in a moment")
