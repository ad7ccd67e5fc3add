"""The stamp of the last successful capture or ingest; a failed one never touches it."""

from __future__ import annotations

import os
import time

from crdt.sqlite import faults
from node.paths import StatePaths


def stamp_refresh(paths: StatePaths, now_s: float | None = None) -> None:
    """Write the present epoch second, whole or not at all."""
    temporary = paths.last_refresh.with_name(f"{paths.last_refresh.name}.new-{os.getpid()}")
    with faults("last-refresh"):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(str(int(time.time() if now_s is None else now_s)))
        temporary.replace(paths.last_refresh)
