"""The store's writer without its thread: it commits when told to, and power may fail in between."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from enum import StrEnum
from typing import Never, TypeVar, cast

from crdt.feed_writer import GroupWriter, Job, _Submission

T = TypeVar("T")


class PowerFailure(BaseException):
    """The machine is off; nothing may handle this but the simulator."""


class Moment(StrEnum):
    """When power fails."""

    BEFORE_COMMIT = "between append and commit"
    BEFORE_ACKNOWLEDGEMENT = "between commit and acknowledgement"


class StepWriter(GroupWriter):
    """Queues jobs, and commits them as one group at the next `step`; nothing but that differs."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, lambda: connection)
        self._jobs: list[_Submission] = []
        self.failure: Moment | None = None
        """When power fails during the next commit, if it does."""

    def submit(self, job: Job[T], entries: int = 1) -> Future[T]:
        """Queue a job."""
        submission = _Submission(job, entries)
        self._jobs.append(submission)
        return cast("Future[T]", submission.future)

    def run(self, job: Job[T], entries: int = 1) -> T:
        """Do a job together with those that wait, and give its result."""
        future = self.submit(job, entries)
        self.step()
        return future.result(0)

    def step(self) -> None:
        """Commit what waits; raises `PowerFailure` where it was planned, perhaps amid acknowledgements."""
        group, self._jobs = self._jobs, []
        failure, self.failure = self.failure, None
        if failure is Moment.BEFORE_COMMIT:
            group.append(_Submission(_fail, 0))
        elif failure is Moment.BEFORE_ACKNOWLEDGEMENT:
            group.insert(len(group) // 2, _Unacknowledged(_nothing, 0))
        if group:
            self._commit(group)


class _Unacknowledged(_Submission):
    """What fails once it is to be acknowledged."""

    def settle(self) -> None:
        raise PowerFailure


def _fail(_: sqlite3.Connection) -> Never:
    raise PowerFailure


def _nothing(_: sqlite3.Connection) -> None:
    """Do nothing; only the acknowledgement matters."""
