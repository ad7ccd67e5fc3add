"""Print what a running node acknowledges, and when what was written is found.

Run it as `python -m tests.bench.bench_node [SECONDS]`, 5 without.  Clients are threads of one process that
ask `memory.add` over the unix socket as the command does, one connection for each call; the floor is the
same exchange without any use-case.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from cli.client import connect, exchange
from tests.bench.bench_feeds import SECONDS, WRITERS, WRITES_S_MIN, Rate, rate
from tests.bench.corpus import apart, environment, row, title
from tests.bench.processes import ask_node, cpu_s, paths_of, peak_mb, percentile, running_node

SEARCHES = 200
SEARCHABLE_MS_MAX = 50.0
SEARCH_S_MAX = 5.0
TEXT_CHARS = 240


def add(variables: Mapping[str, str], writers: int, seconds: float) -> Rate:
    """Add entries, every writer one after the other."""

    def write(body: bytes) -> object:
        return ask_node(variables, "memory.add", {"text": body.hex()[:TEXT_CHARS], "tags": ["bench"]})

    return rate([write] * writers, seconds)


def ask_for_health(variables: Mapping[str, str], writers: int, seconds: float) -> Rate:
    """Ask whether the node is well as often as it answers."""

    def ask(_body: bytes) -> object:
        connection = connect(paths_of(variables))
        assert connection is not None
        return list(exchange(connection, "GET", "/health"))

    return rate([ask] * writers, seconds)


def wait_for_words(variables: Mapping[str, str]) -> tuple[list[float], list[float]]:
    """Add entries and search for each at once: ms from acknowledged to found, and ms of a search alone."""
    waits_ms, searches_ms = [], []
    for number in range(SEARCHES):
        word = f"planted{time.time_ns():x}"
        ask_node(variables, "memory.add", {"text": f"{word} stands in entry {number}"})
        waits_ms.append(_until_found(variables, word))
        began_s = time.perf_counter()
        assert _is_found(variables, word)
        searches_ms.append(1000 * (time.perf_counter() - began_s))
    return waits_ms, searches_ms


def _until_found(variables: Mapping[str, str], word: str) -> float:
    began_s = time.perf_counter()
    while not _is_found(variables, word):
        # Asking again at once is a pause long enough: the node searches a few milliseconds.
        assert time.perf_counter() - began_s < SEARCH_S_MAX, f"{word} is not found"
    return 1000 * (time.perf_counter() - began_s)


def _is_found(variables: Mapping[str, str], word: str) -> bool:
    request = {"query": word, "lane": "words", "everywhere": True, "directory": "/"}
    return bool(ask_node(variables, "search", request)["hits"])


def main() -> None:
    """Print the table."""
    seconds = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdecimal() else SECONDS
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        variables = environment(Path(name), Path(name) / "state")
        with running_node(variables, Path(name)) as pid:
            title(f"through a running node, {seconds} s each")
            _print_calls(variables, pid, seconds)
            waits_ms, searches_ms = apart(wait_for_words, variables).value
            _print_waits(waits_ms, searches_ms)
            print(f"    peak of the node's memory {peak_mb(pid):.0f} MB")


def _print_calls(variables: Mapping[str, str], pid: int, seconds: int) -> None:
    for label, work, writers in (
        ("floor: an exchange", ask_for_health, 1),
        ("memory.add, one client", add, 1),
        (f"floor: an exchange, {WRITERS} clients", ask_for_health, WRITERS),
        (f"memory.add, {WRITERS} clients", add, WRITERS),
    ):
        before_s = cpu_s(pid)
        made = apart(work, variables, writers, seconds)
        node_ms = 1000 * (cpu_s(pid) - before_s) / made.value.writes
        row(label, made, str(made.value), f"{node_ms:.2f} CPU-ms of the node each")
    print(f"    target {WRITES_S_MIN} writes/s with {WRITERS} writers, in the process that holds the store")


def _print_waits(waits_ms: list[float], searches_ms: list[float]) -> None:
    p50, p99 = percentile(waits_ms, 0.5), percentile(waits_ms, 0.99)
    judged = "" if p50 <= SEARCHABLE_MS_MAX else ": TOO LONG"
    figures = f"p50 {p50:.1f} ms (target {SEARCHABLE_MS_MAX:.0f}){judged}, p99 {p99:.1f} ms"
    print(f"from acknowledged to found: {figures}")
    print(f"    floor: such a search alone, p50 {statistics.median(searches_ms):.1f} ms")


if __name__ == "__main__":
    main()
