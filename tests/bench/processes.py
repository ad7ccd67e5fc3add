"""What benches of whole processes share: a running node, a table of many runs, and what a run imports."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from cli.client import ask, connect
from cli.node_process import find_running
from node.config import runtime_directory
from node.paths import StatePaths
from tests.bench.corpus import Measured, atrium, whole

PORT = "0"
BARE = (sys.executable, "-c", "pass")
LIBRARIES = (sys.executable, "-c", "import click, msgspec")
INTERPRETER = "site"
"""The last module that every Python imports by itself."""
SHOWN_MODULES = 12
IMPORT_RUNS = 3
_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_node(variables: Mapping[str, str], directory: Path) -> Iterator[int]:
    """Run a node of its own; its process id."""
    whole(atrium("up", "--port", PORT), variables, directory)
    try:
        yield find_node(variables)
    finally:
        whole(atrium("down"), variables, directory)


def paths_of(variables: Mapping[str, str]) -> StatePaths:
    """Give the paths of the state directory that a child with these variables has."""
    return StatePaths(Path(variables["ATRIUM_STATE"]), runtime_directory(variables))


def find_node(variables: Mapping[str, str]) -> int:
    """Give the process id of the running node."""
    running = find_running(paths_of(variables))
    assert running is not None
    return running.pid


def cpu_s(pid: int) -> float:
    """Read the CPU seconds that a process took until now."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _SECONDS


def peak_mb(pid: int) -> float:
    """Read the peak of a process's memory."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def percentile(figures: Sequence[float], share: float) -> float:
    """Give the figure below which such a share of them lies."""
    return sorted(figures)[int(share * (len(figures) - 1))]


def print_floors(variables: Mapping[str, str], directory: Path, runs: int) -> None:
    """Print what a bare interpreter costs, and the libraries that every command needs."""
    for label, command in (("floor: python", BARE), ("floor: import click, msgspec", LIBRARIES)):
        whole(command, variables, directory)
        print_runs(label, [whole(command, variables, directory) for _ in range(runs)], "")


def print_runs(label: str, runs: Sequence[Measured[str]], note: str) -> None:
    """Print in ms: p50 and p90 of wall time, p50 of CPU time; then the peak in MB."""
    wall_ms = [1000 * run.wall_s for run in runs]
    cpu_ms = statistics.median(1000 * run.cpu_s for run in runs)
    peak = max(run.rss_mb for run in runs)
    figures = f"{statistics.median(wall_ms):6.0f} {percentile(wall_ms, 0.9):6.0f} {cpu_ms:6.0f} {peak:6.0f}"
    print(f"{label:34} {figures}   {note}".rstrip(), flush=True)


def imported(
    words: Sequence[str], variables: Mapping[str, str], directory: Path, stdin: str = ""
) -> list[tuple[str, float]]:
    """Give the modules that a command imports beyond those of every Python, each with its own ms.

    The least of a few runs, since a module that waits for the machine looks dear.
    """
    command = [sys.executable, "-X", "importtime", *atrium(*words)[1:]]
    costs: dict[str, float] = {}
    for _ in range(IMPORT_RUNS):
        ran = whole(command, variables, directory, stdin=stdin, with_errors=True)
        rows = [
            line.removeprefix("import time:").split("|") for line in ran.value.splitlines() if "|" in line
        ]
        for own, _, name in rows:
            if own.strip().isdigit():
                own_ms = int(own) / 1000
                costs[name.strip()] = min(own_ms, costs.get(name.strip(), own_ms))
    names = list(costs)
    return [(name, costs[name]) for name in names[names.index(INTERPRETER) + 1 :]]


def dearest(costs: Sequence[tuple[str, float]]) -> str:
    """Name the modules that cost most, the dearest first."""
    ordered = sorted(costs, key=lambda cost: -cost[1])
    return ", ".join(f"{name} {own_ms:.1f} ms" for name, own_ms in islice(ordered, SHOWN_MODULES))


def ask_node(variables: Mapping[str, str], name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Ask a running node over a connection of its own, as a command does; raises what it reports."""
    connection = connect(paths_of(variables))
    assert connection is not None
    return ask(connection, name, arguments, None)
