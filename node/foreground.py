"""Take the state for a node, then load what it needs: a second one is refused before it loads anything."""

from __future__ import annotations

from collections.abc import Callable

from crdt.errors import StateBusy
from node.config import NodeConfig
from node.lock import StateLock, read_holder
from node.paths import StatePaths
from node.state import refuse_doubtful

COMMAND = "atrium up"
"""What the lock file says while a node runs."""


def run(config: NodeConfig, announce: Callable[[int], None]) -> int:
    """Run a node until a signal or a call to stop; `announce` gets the local port once it answers.

    Raises `StateBusy` at once when another node holds the state, and `Unavailable` for a taken port.
    """
    refuse_doubtful(config.state)
    config.paths.create()
    with _lock(config.paths):
        from node.daemon import serve

        return serve(config, announce)


def _lock(paths: StatePaths) -> StateLock:
    """Take the state: at once or not at all from another node, after a wait from a command that will end."""
    try:
        return StateLock.acquire(paths.lock, COMMAND, timeout_s=0)
    except StateBusy:
        holder = read_holder(paths.lock)
        if holder is None or holder[1] == COMMAND:
            raise
    return StateLock.acquire(paths.lock, COMMAND)
