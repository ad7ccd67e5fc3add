"""Helpers of all tests: a private world in which the real command runs, and one bounded wait.

A `World` is a directory with a home, a state directory and a place to stand.  The command sees these and
none of the caller's own agents, settings or state.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
POLL_S = 0.02
INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""What a child needs of the caller's environment.  All else stays out, so that ATRIUM_*, XDG_*, CODEX_HOME,
CLAUDE_CONFIG_DIR and whatever an agent will read next can't point a test at somebody's data."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What one finished run gave."""

    rc: int
    stdout: str
    stderr: str
    seconds: float

    def ok(self) -> Completed:
        """Give itself, after checking that the run succeeded."""
        assert self.rc == 0, str(self)
        return self

    def document(self) -> dict[str, object]:
        """Read the one JSON object on standard output."""
        found = json.loads(self.ok().stdout)
        assert isinstance(found, dict), str(self)
        return found

    def __str__(self) -> str:
        """Show all of it, for the message of a failed assertion."""
        said = f"{self.stdout[-4000:]}\n--- standard error\n{self.stderr[-4000:]}"
        return f"exit status {self.rc} after {self.seconds:.2f} s\n{said}"


class World:
    """A home, a state directory that does not exist yet, and a directory to stand in."""

    def __init__(self, base: Path) -> None:
        """Make a world below `base`, which must exist and is removed by whoever made it."""
        self.base = base
        self.home = base / "home"
        self.state = base / "state"
        self.work = base / "work"
        self.temporary = base / "tmp"
        for directory in (self.home, self.work, self.temporary):
            directory.mkdir(parents=True, exist_ok=True)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Name all the variables that a child sees."""
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        own = {
            "HOME": str(self.home),
            "ATRIUM_STATE": str(self.state),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
        }
        return {"LANG": "C.UTF-8", **kept, **own, **(more or {})}

    def command(self, *words: str) -> list[str]:
        """Spell the real command, as a process would be started."""
        return [sys.executable, "-m", "cli.main", *words]

    def run(
        self,
        *words: str,
        stdin: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Completed:
        """Run the command to its end.  Without `stdin` it reads an empty one."""
        started = time.monotonic()
        done = subprocess.run(
            self.command(*words),
            input=stdin or "",
            cwd=cwd or self.work,
            env=self.environment(env),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = 20) -> None:
    """Return as soon as the condition holds; fail with `what` when it does not in time.

    The only place in the tests that sleeps.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s in vain: {what}"
        time.sleep(POLL_S)
