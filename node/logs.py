"""Write the node's log: JSON lines in a file of bounded size.

An event is a fixed sentence fragment in the past tense plus fields that are counts, names and instants,
never a payload, a key or a prompt.  Of an error only its class and its frames are written, since messages
of foreign libraries quote what they were given.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TextIO, cast

import structlog

from node.paths import FILE_MODE

FRAMES_MAX = 24
Logger = structlog.typing.FilteringBoundLogger


class BoundedFile:
    """A text file that starts anew beyond `size_bytes_max`; the one before is kept as `<name>.1`."""

    def __init__(self, path: Path, size_bytes_max: int) -> None:
        self._path = path
        self._size_bytes_max = size_bytes_max
        self._descriptor = _open(path)
        self._size_bytes = os.fstat(self._descriptor).st_size
        self._is_cut = False

    def write(self, text: str) -> int:
        """Append; a line is written by one call, so that two writers never share a line.

        Where the disk is full or can't be written, the line is lost, or its end: whoever logs has a node to
        keep running.  The next line is a whole one all the same.
        """
        data = text.encode("utf-8", "replace")
        with suppress(OSError):
            if self._size_bytes + len(data) > self._size_bytes_max:
                self._start_anew()
            data = b"\n" + data if self._is_cut else data
            written = os.write(self._descriptor, data)
            self._size_bytes += written
            self._is_cut = written < len(data)
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write reaches the kernel at once."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _start_anew(self) -> None:
        with suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        old, self._descriptor = self._descriptor, _open(self._path)
        self._size_bytes, self._is_cut = 0, False
        os.close(old)


def open_log(path: Path, level: str, size_bytes_max: int) -> Logger:
    """Open the log file and give the logger that writes to it."""
    file = BoundedFile(path, size_bytes_max)
    logger: Logger = structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", file)),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=False,
    )
    return logger


def frames(error: BaseException) -> list[str]:
    """List where an error came from, outermost call first, without any message or value."""
    stack = traceback.extract_tb(error.__traceback__)[-FRAMES_MAX:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in stack]


def _open(path: Path) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, FILE_MODE)
