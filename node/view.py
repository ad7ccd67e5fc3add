"""Read a state directory beside whoever writes to it.

The writer's own connections belong to its thread, and another thread that used them would see what is not
committed yet.  Whoever counts, checks or reports therefore looks through connections of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from node.composition import Local


@contextmanager
def reading(local: Local) -> Iterator[Local]:
    """Open the same state directory for reading, for the length of a block; nothing is created."""
    view = Local(local.config, writable=False, served_by=local.served_by)
    view.keeper = local.keeper
    try:
        yield view
    finally:
        view.close()
