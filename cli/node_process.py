"""Start, find and stop the node of a state directory, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cli.client import connect, exchange
from crdt.errors import AtriumError, BadInput, NodeUnreachable, StateBusy, Unavailable
from node.lock import StateLock, read_holder
from node.paths import FILE_MODE, StatePaths

START_S_MAX = 30.0
"""The node opens its stores first, and a migration may be due."""
STOP_S_MAX = 10.0
"""The node itself ends within five seconds."""
PAUSE_S = 0.05
REPORT_BYTES_MAX = 64 << 10
DAEMON = "atrium up"
T = TypeVar("T")
ERRORS: dict[int, type[AtriumError]] = {2: BadInput, 75: StateBusy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A node that answers."""

    pid: int
    port: int

    @property
    def address(self) -> str:
        """Where a browser would look."""
        return f"http://127.0.0.1:{self.port}"


def find_running(paths: StatePaths) -> Running | None:
    """Ask for the node of this state directory; None when none answers."""
    connection = connect(paths)
    if connection is None:
        return None
    for health in exchange(connection, "GET", "/health"):
        pid, port = health.get("pid"), health.get("port")
        if isinstance(pid, int) and isinstance(port, int):
            return Running(pid=pid, port=port)
    raise NodeUnreachable("something else than a node answers on the node's socket")


def start(paths: StatePaths, options: Sequence[str]) -> Running:
    """Start the node detached from this terminal and wait until it answers.

    Raises what the node reported when it ended instead.  A second starter finds the first one's node.
    """
    descriptor = os.open(
        paths.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
    )
    with os.fdopen(descriptor, "ab") as log:
        before = log.tell()
        child = subprocess.Popen(
            [*_this_program(), "up", "--foreground", "--detached", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def look() -> Running | bool:
        # Status 75 says that another node has the state, which may be just about to answer.
        ended = child.poll() not in (None, StateBusy.exit_status)
        return find_running(paths) or ended

    found = _wait(look, START_S_MAX)
    if isinstance(found, Running):
        return found
    if child.poll() is None:
        _end(child)
        raise NodeUnreachable(f"the node did not answer within {START_S_MAX:.0f} s", hint=f"see {paths.log}")
    raise _reported(paths, before, child.returncode)


def stop(paths: StatePaths) -> bool:
    """Stop the node and wait for its end; False when none runs."""
    if not paths.lock.exists():
        return False
    connection = connect(paths)
    if connection is not None:
        list(exchange(connection, "POST", "/stop"))
    elif not _signal_silent_node(paths):
        return False
    if not _wait(lambda: not _is_held(paths), STOP_S_MAX):
        holder = read_holder(paths.lock)
        hint = f"end it with `kill -9 {holder[0]}`" if holder else "try again"
        raise Unavailable(f"the node did not end within {STOP_S_MAX:.0f} s", hint=hint)
    return True


def _reported(paths: StatePaths, before: int, status: int) -> AtriumError:
    """Make the error again that a node wrote into its log, after what was there before, and ended."""
    with paths.log.open("rb") as log:
        log.seek(before)
        lines = log.read(REPORT_BYTES_MAX).decode("utf-8", "replace").splitlines()
    said = [line.removeprefix("atrium: ") for line in lines if line.startswith("atrium: ")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    detail = said[-1] if said else f"the node ended with status {status}"
    return ERRORS.get(status, Unavailable)(detail, hint=hints[-1] if hints else f"see {paths.log}")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a node that never answered, so that it doesn't keep the state from the next try."""
    child.terminate()
    try:
        child.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _signal_silent_node(paths: StatePaths) -> bool:
    """Ask a node that holds the lock without answering to end; False when no node holds it."""
    if not _is_held(paths):
        return False
    holder = read_holder(paths.lock)
    if holder is None or holder[1] != DAEMON:
        return False
    os.kill(holder[0], signal.SIGTERM)
    return True


def _is_held(paths: StatePaths) -> bool:
    try:
        StateLock.acquire(paths.lock, "atrium down", timeout_s=0).release()
    except StateBusy:
        return True
    return False


def _wait(look: Callable[[], T], limit_s: float) -> T:
    """Look again and again until the result is true or the time is over; give the last result."""
    deadline = time.monotonic() + limit_s
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return found


def _this_program() -> list[str]:
    """Spell how this very program was started, so that the node is the same code."""
    if sys.argv[0].endswith(".py"):
        return [sys.executable, "-m", "cli.main"]
    return [sys.executable, sys.argv[0]]
