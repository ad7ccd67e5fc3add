"""Let a use-case die at its n-th step towards the disk, as a process that is killed there does.

A forked child counts fsyncs, links, renames and removals of files and the ends of SQLite transactions, and
leaves at once, without any cleaning up, before or after the n-th of them.  `killed_within` kills at a moment
by the clock instead, which may fall into the middle of a call.
"""

from __future__ import annotations

import itertools
import os
import select
import signal
import sqlite3
import warnings
from collections.abc import Callable

KILLED = 9
STEPS_MAX = 2_000
_STATEMENTS = ("BEGIN", "COMMIT", "PRAGMA USER_VERSION =", "PRAGMA JOURNAL_MODE =")
_CALLS = ("fsync", "link", "replace", "unlink")


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Run the work in a child that dies at a step; tell whether it did, or False where it ended before."""
    with warnings.catch_warnings():
        # Newer Pythons warn of forking beside other threads; this child takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            _arm(step)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), f"the work itself failed before step {step}"
    return code == KILLED


def killed_within(delay_s: float, work: Callable[[], object]) -> bool:
    """Run the work in a child that is killed after so long; False where it had ended before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    ended = os.pidfd_open(child)
    try:
        select.select([ended], [], [], delay_s)
    finally:
        os.close(ended)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), "the work itself failed"
    return code != 0


def _arm(fatal: int) -> None:
    steps = itertools.count(1)

    def step() -> None:
        if next(steps) == fatal:
            os._exit(KILLED)

    for name in _CALLS:
        setattr(os, name, _stepping(getattr(os, name), step))
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    class Mortal(sqlite3.Connection):
        """A connection whose transactions are steps."""

        def execute(self, statement: str, *more: object) -> sqlite3.Cursor:  # type: ignore[override]
            """Run a statement, with a step before and after it where it moves the disk."""
            counts = statement.lstrip().upper().startswith(_STATEMENTS)
            if counts:
                step()
            found = super().execute(statement, *more)  # type: ignore[arg-type]
            if counts:
                step()
            return found

    sqlite3.connect = lambda *given, **named: connect(*given, **{**named, "factory": Mortal})


def _stepping(call: Callable[..., object], step: Callable[[], None]) -> Callable[..., object]:
    def stepped(*given: object, **named: object) -> object:
        step()
        found = call(*given, **named)
        step()
        return found

    return stepped
