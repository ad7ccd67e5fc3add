"""Leave the frames of an unexpected error where the person can find them."""

from __future__ import annotations

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from crdt.errors import AtriumError
from node.config import find_state, runtime_directory
from node.paths import FILE_MODE, StatePaths, ensure_private

LOG_BYTES_MAX = 1 << 20
"""Beyond it the file starts anew: it is for the last few errors, not for all that ever were."""


def leave_trace(error: BaseException) -> Path | None:
    """Append class and frames of an error to a private file; None where none can be written."""
    paths = StatePaths(find_state().path, runtime_directory())
    text = _describe(error).encode("utf-8", "replace")
    for path in (paths.error_log, paths.runtime / "errors.log"):
        try:
            if path.parent == paths.runtime:
                ensure_private(paths.runtime)
            _append(path, text)
        except (OSError, AtriumError):
            # A state directory that is absent or read-only is no place for it; try the next one.
            continue
        return path
    return None


def _append(path: Path, text: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        if os.fstat(descriptor).st_size > LOG_BYTES_MAX:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


def _describe(error: BaseException) -> str:
    frames = [
        f"  {frame.filename}:{frame.lineno} {frame.name}\n"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    command = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].isidentifier() else ""
    head = f"{datetime.now(UTC).isoformat(timespec='seconds')} {type(error).__name__} in atrium {command}\n"
    return head + "".join(frames)
