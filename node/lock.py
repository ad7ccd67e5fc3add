"""Let one process at a time write to a state directory.

The lock is the kernel's, on an open file: it goes with the process, however that ends, and a file left
behind means nothing.  What the file says is for people only: who holds it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from crdt.errors import StateBusy
from node.paths import FILE_MODE, write_error

WAIT_S = 30.0
"""How long a one-shot writer waits for another to end."""
PAUSE_S_MIN = 0.01
PAUSE_S_MAX = 0.25
"""Between two tries; doubled each time, so that short writers follow each other closely."""
HOLDER_BYTES_MAX = 512

Clock = Callable[[], float]


class StateLock:
    """The right to write, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path, command: str, *, timeout_s: float = WAIT_S) -> StateLock:
        """Take the lock, waiting for at most `timeout_s`; `command` is what others are told.

        Raises `StateBusy` that names the holder, and `ReadOnlyState` where the file can't be made.
        """
        descriptor = _open(path)
        try:
            _wait(descriptor, time.monotonic() + timeout_s)
            _write_holder(descriptor, command)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock back."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def read_holder(path: Path) -> tuple[int, str] | None:
    """Give process id and command of who wrote into the lock file last, None when nobody holds it."""
    try:
        text = path.read_bytes()[:HOLDER_BYTES_MAX].decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    number, _, command = text.partition(" ")
    return (int(number), command.strip()) if number.isdecimal() else None


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, FILE_MODE)
    except OSError as error:
        raise write_error(error, path) from error


def _wait(descriptor: int, deadline: float) -> None:
    pause_s = PAUSE_S_MIN
    while not _try_lock(descriptor):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise _busy(descriptor)
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, PAUSE_S_MAX)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_holder(descriptor: int, command: str) -> None:
    line = f"{os.getpid()} {command}\n".encode("utf-8", "replace")
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, line[:HOLDER_BYTES_MAX], 0)
    except OSError as error:
        # On a full disk the lock holds without a name: `down` and `doctor --fix` have to work there.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise


def _busy(descriptor: int) -> StateBusy:
    number, _, command = os.pread(descriptor, HOLDER_BYTES_MAX, 0).decode("utf-8", "replace").partition(" ")
    who = f"`{command.strip()}` (process {number})" if command else "another process"
    return StateBusy(f"the state directory is in use by {who}")
