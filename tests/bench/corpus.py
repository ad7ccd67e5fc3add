"""What the benches share: a home with transcripts, a process of its own for each figure, and a table.

A home is what a corpus tool wrote: transcripts in `.claude/projects` and `.codex/sessions`, with
`needles.jsonl` (`{conversation, word, sentence}`, said once) and `secrets.txt` (one a line) beside them.

Figures are CPU seconds of a process of their own, since the machine may be busy: wall time depends on its
neighbours, CPU time much less.  The load is printed beside them, and a floor measured in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, TypeVar

from node.config import NodeConfig, load, transcript_roots
from tests.kit import CHECKOUT

T = TypeVar("T")
MB = 1e6
_FIGURES = "took "
_LAUNCH = f"""
import os, sys, time
began = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
figures = time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss, status
print("{_FIGURES}[%f, %f, %d, %d]" % figures)
"""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A home with transcripts, and what was planted in it."""

    home: Path

    @property
    def roots(self) -> dict[str, list[str]]:
        """The directories to capture, by provider."""
        return {name: roots for name, roots in transcript_roots(self.home, {}).items() if name != "opencode"}

    @property
    def files(self) -> list[Path]:
        """The transcripts, sorted."""
        roots = (Path(root) for roots in self.roots.values() for root in roots)
        return sorted(path for root in roots for path in root.rglob("*.jsonl"))

    @property
    def megabytes(self) -> float:
        """Their size."""
        return sum(path.stat().st_size for path in self.files) / MB

    @property
    def needles(self) -> list[dict[str, str]]:
        """What was said once."""
        lines = (self.home / "needles.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def secrets(self) -> list[str]:
        """What must not be anywhere after a capture."""
        return (self.home / "secrets.txt").read_text("utf-8").split()


def corpus_of_arguments() -> Corpus:
    """Take the home from the command line, or end with a word on what it is."""
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "needles.jsonl").is_file():
        sys.exit(f"usage: {Path(sys.argv[0]).stem} HOME, a home with transcripts, needles.jsonl, secrets.txt")
    return Corpus(Path(sys.argv[1]).resolve())


def environment(home: Path, state: Path) -> dict[str, str]:
    """Name all variables that a child sees.  Byte code is cached, as it is for users."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    own = {"HOME": str(home), "ATRIUM_STATE": str(state), "PYTHONPATH": str(CHECKOUT), "LANG": "C.UTF-8"}
    return {**kept, **own}


def enter(home: Path, state: Path) -> NodeConfig:
    """Live in a home with a state directory from now on, in a process that ends afterwards."""
    os.environ.clear()
    os.environ.update(environment(home, state))
    return load()


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """What a piece of work took, and gave."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    """Its process's peak."""
    value: T


def apart(work: Callable[..., T], *arguments: object) -> Measured[T]:
    """Run a function of a module in a fresh process."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, work, arguments).result()


def _measure(work: Callable[..., T], arguments: Sequence[object]) -> Measured[T]:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    value = work(*arguments)
    return Measured(time.perf_counter() - wall_s, time.process_time() - cpu_s, _peak_rss_mb(), value)


def _peak_rss_mb() -> float:
    """Read the peak of this process's memory; `getrusage` would give its parent's where that is larger."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def whole(
    command: Sequence[str],
    variables: Mapping[str, str],
    directory: Path,
    *,
    stdin: str = "",
    with_errors: bool = False,
) -> Measured[str]:
    """Run a whole process; the value is what it printed.  Raises where it fails.

    It is started by a small process: of one that this large one starts, the system would say that it is
    at least as large.
    """
    errors = subprocess.STDOUT if with_errors else subprocess.DEVNULL
    launched = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCH, *command],
        env=dict(variables),
        cwd=directory,
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=errors,
        check=True,
    )
    printed, _, last = launched.stdout.decode().rstrip("\n").rpartition(_FIGURES)
    wall_s, cpu_s, rss_kib, status = json.loads(last)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return Measured(wall_s, cpu_s, rss_kib / 1024, printed)


def atrium(*words: str) -> list[str]:
    """Spell a command of the product, as a user's shell starts it."""
    script = Path(sys.executable).with_name("atrium")
    return [sys.executable, *([str(script)] if script.is_file() else ["-m", "cli.main"]), *words]


def title(text: str) -> None:
    """Print what follows, and how busy the machine is."""
    load_1, load_5, _ = os.getloadavg()
    print(f"\n{text}\nload {load_1:.1f} now, {load_5:.1f} over 5 minutes, {os.cpu_count()} cores", flush=True)


def row(label: str, measured: Measured[T] | None, *notes: str) -> None:
    """Print one line of the table."""
    figures = " " * 33
    if measured is not None:
        figures = f"{measured.wall_s:8.2f} s {measured.cpu_s:8.2f} CPU-s {measured.rss_mb:5.0f} MB"
    print(f"{label:34} {figures}   {'   '.join(notes)}".rstrip(), flush=True)
