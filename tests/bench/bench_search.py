"""Print what `atrium search` costs as a whole process, with a node and without, beside bare interpreters.

Run it as `python -m tests.bench.bench_search HOME [STATE]`; without a state directory the home is captured
first.  The queries are needles, which few records have, and ordinary words, which many have.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

from tests.bench.bench_capture import capture_words, catch_up_substrings
from tests.bench.corpus import Corpus, apart, atrium, corpus_of_arguments, environment, title, whole
from tests.bench.processes import dearest, imported, print_floors, print_runs, running_node

RUNS = 20
QUERIES = ("why does the parser fail", "configuración del servidor", "return value", "default encoding")
FORBIDDEN = frozenset(
    ("sqlite_utils", "structlog", "rich_click", "rich", "numpy", "onnxruntime", "pycrdt", "aiohttp")
)
"""What the start-up budget rules out (DECISIONS.md 27)."""


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
        print_floors(variables, corpus.home, RUNS)
        _print_searches(corpus, variables, "without a node", "target 400 ms, 60 MB")
        with running_node(variables, corpus.home):
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
        print_runs(f"search {lane}, {how}", runs, target if lane == "--words" else "")


def _print_modules(corpus: Corpus, variables: Mapping[str, str], how: str) -> None:
    """Name what a search imports beyond what every Python does, the dearest first."""
    costs = imported(("search", "--words", "parser"), variables, corpus.home)
    forbidden = sorted({name.partition(".")[0] for name, _ in costs} & FORBIDDEN)
    print(f"\nsearch --words, {how}, imports {len(costs)} modules; not allowed: {forbidden or 'none'}")
    print(f"    {dearest(costs)}")


if __name__ == "__main__":
    main()
