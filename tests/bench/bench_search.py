"""Print what `atrium search` costs as a whole process, with a node and without, beside bare interpreters.

Run it as `python -m tests.bench.bench_search HOME [STATE]`; without a state directory the home is captured
first.  The queries are needles, which few records have, and ordinary words, which many have.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from tests.bench.bench_capture import capture_words, catch_up_substrings
from tests.bench.corpus import (
    Corpus,
    Measured,
    apart,
    atrium,
    corpus_of_arguments,
    environment,
    title,
    whole,
)

RUNS = 20
PORT = "0"
QUERIES = ("why does the parser fail", "configuración del servidor", "return value", "default encoding")
BARE = (sys.executable, "-c", "pass")
LIBRARIES = (sys.executable, "-c", "import click, msgspec")
FORBIDDEN = frozenset(
    ("sqlite_utils", "structlog", "rich_click", "rich", "numpy", "onnxruntime", "pycrdt", "aiohttp")
)
"""What the start-up budget rules out (DECISIONS.md 27)."""
INTERPRETER = "site"
"""The last module that every Python imports by itself."""


def queries(corpus: Corpus) -> Iterator[str]:
    """Give needles and ordinary questions in turn."""
    words = [needle["word"] for needle in corpus.needles[:RUNS]]
    return cycle([query for pair in zip(words, cycle(QUERIES), strict=False) for query in pair])


def main() -> None:
    """Print the table for the home on the command line."""
    corpus = corpus_of_arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        state = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder) / "state"
        if not state.exists():
            apart(capture_words, corpus.home, state)
            apart(catch_up_substrings, corpus.home, state)
        variables = environment(corpus.home, state)
        title(f"search as a whole process, {RUNS} runs each, in ms: p50, p90 of wall, p50 of CPU, peak MB")
        _print(BARE, "floor: python", variables, corpus)
        _print(LIBRARIES, "floor: import click, msgspec", variables, corpus)
        _print_searches(corpus, variables, "without a node", "target 400 ms, 60 MB")
        with _node(variables, corpus.home):
            _print_searches(corpus, variables, "with a node", "target 120 ms")
            _print_modules(corpus, variables, "with a node")
        _print_modules(corpus, variables, "without a node")


def _print_searches(corpus: Corpus, variables: Mapping[str, str], how: str, target: str) -> None:
    for lane in ("--words", "--substring", "--auto"):
        asked = queries(corpus)
        runs = [
            whole(atrium("search", lane, "--all", "--json", next(asked)), variables, corpus.home)
            for _ in range(RUNS)
        ]
        _print_figures(f"search {lane}, {how}", runs, target if lane == "--words" else "")


def _print(command: Sequence[str], label: str, variables: Mapping[str, str], corpus: Corpus) -> None:
    whole(command, variables, corpus.home)
    _print_figures(label, [whole(command, variables, corpus.home) for _ in range(RUNS)], "")


def _print_figures(label: str, runs: Sequence[Measured[str]], note: str) -> None:
    wall_ms = sorted(1000 * run.wall_s for run in runs)
    cpu_ms = statistics.median(1000 * run.cpu_s for run in runs)
    p90 = wall_ms[int(0.9 * (len(wall_ms) - 1))]
    peak = max(run.rss_mb for run in runs)
    print(
        f"{label:34} {statistics.median(wall_ms):6.0f} {p90:6.0f} {cpu_ms:6.0f} {peak:6.0f}   {note}".rstrip()
    )


@contextmanager
def _node(variables: Mapping[str, str], directory: Path) -> Iterator[None]:
    whole(atrium("up", "--port", PORT), variables, directory)
    try:
        yield
    finally:
        whole(atrium("down"), variables, directory)


def _print_modules(corpus: Corpus, variables: Mapping[str, str], how: str) -> None:
    """Name what a search imports beyond what every Python does, the dearest first."""
    command = [sys.executable, "-X", "importtime", *atrium("search", "--words", "parser")[1:]]
    ran = whole(command, variables, corpus.home, with_errors=True)
    rows = [line.removeprefix("import time:").split("|") for line in ran.value.splitlines() if "|" in line]
    costs = [(name.strip(), int(own)) for own, _, name in rows if own.strip().isdigit()]
    names = [name for name, _ in costs]
    ours = costs[names.index(INTERPRETER) + 1 :]
    forbidden = sorted({name.partition(".")[0] for name in names} & FORBIDDEN)
    dearest = sorted(ours, key=lambda cost: -cost[1])
    print(f"\nsearch --words, {how}, imports {len(ours)} modules; not allowed: {forbidden or 'none'}")
    shown = (f"{name} {own / 1000:.1f} ms" for name, own in islice(dearest, 12))
    print(f"    {', '.join(shown)}")


if __name__ == "__main__":
    main()
