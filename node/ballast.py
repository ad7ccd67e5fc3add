"""Space kept in reserve, so that a full disk leaves room for what is small, and a floor for what is not.

The reserve is a file of 64 MiB whose blocks are really taken.  It goes when the disk is full, so that the
store can fold its log and small writes go on, and comes back once there is room for it above the floor.  It
is the node's: one-shot commands neither make nor drop it.  The floor holds for everybody: below 256 MiB
nothing is taken in from transcripts, archives, notes and the files of other nodes, which come in any amount
and can come later.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from crdt.errors import DiskFull
from node.checks import disk_of
from node.checks_state import DISK_FULL_BYTES
from node.paths import FILE_MODE, StatePaths, write_error

SIZE_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 1 << 20


class Ballast:
    """The file; used by one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def is_kept(self) -> bool:
        """Tell whether the reserve is there, whole."""
        try:
            return self._path.stat().st_size == SIZE_BYTES
        except FileNotFoundError:
            return False

    def drop(self) -> bool:
        """Give the space back; tell whether there was any."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise write_error(error, self._path) from error
        return True

    def restore(self) -> bool:
        """Take the space where there is room for it above the floor; tell whether it was taken now."""
        if self.is_kept or disk_of(self._path.parent).free_bytes < DISK_FULL_BYTES + SIZE_BYTES:
            return False
        try:
            self._path.unlink(missing_ok=True)
            _fill(self._path)
        except OSError as error:
            # A part of the reserve is none, and in the way.  It is the first error that says why.
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            raise write_error(error, self._path) from error
        return True


def refuse_on_low_space(paths: StatePaths) -> None:
    """Raise `DiskFull` where less than the floor is left for the state directory, which exists."""
    if disk_of(paths.root).free_bytes < DISK_FULL_BYTES:
        floor_mib = DISK_FULL_BYTES >> 20
        raise DiskFull(f"less than {floor_mib} MiB of disk space is left, so nothing more is taken in")


def _fill(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, SIZE_BYTES)
            return
        for _ in range(SIZE_BYTES // _CHUNK_BYTES):
            os.write(descriptor, bytes(_CHUNK_BYTES))
    finally:
        os.close(descriptor)
