"""Print what commands of shared memory cost as whole processes, with a node and without.

Run it as `python -m tests.bench.bench_commands [RUNS]`, 10 without.  The floor is a bare interpreter, and
one with the two libraries that every command needs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from tests.bench.corpus import atrium, environment, title, whole
from tests.bench.processes import dearest, imported, print_floors, print_runs, running_node

RUNS = 10
TEXT = "the retry is capped at 30 s"
STATEMENT = '{"title": "Retries", "summary": "The retry is capped at %d s."}'
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "memory add": ("memory", "add", TEXT, "--tag", "network"),
    "memory list": ("memory", "list", "--json"),
    "memory get": ("memory", "get", "{id}", "--json"),
    "memory edit": ("memory", "edit", "{id}", "{text}"),
    "decision add": ("decision", "add", "one file", "--rationale", "fewer parts"),
    "remember": ("remember", "--project", "."),
    "recall": ("recall", "--json"),
    "search": ("search", "--words", "retry", "--all", "--json"),
    "status": ("status", "--json"),
}


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdecimal() else RUNS
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / ".git").mkdir()
        variables = environment(folder, folder / "state")
        added = json.loads(whole(atrium("memory", "add", TEXT, "--json"), variables, folder).value)
        title(f"whole processes, {runs} runs each, in ms: p50, p90 of wall, p50 of CPU, peak MB")
        print_floors(variables, folder, runs)
        for how in ("without a node", "with a node"):
            with nullcontext() if how == "without a node" else running_node(variables, folder):
                print(how)
                _print_all(variables, folder, str(added["id"]), runs)


def _print_all(variables: Mapping[str, str], folder: Path, identity: str, runs: int) -> None:
    for label, words in COMMANDS.items():
        commands = [
            [word.format(id=identity, text=f"{TEXT}, {number} of {runs}") for word in words]
            for number in range(runs + 1)
        ]
        measured = [
            whole(atrium(*command), variables, folder, stdin=STATEMENT % number)
            for number, command in enumerate(commands[:-1])
        ]
        print_runs(f"    {label}", measured, "")
        costs = imported(commands[-1], variables, folder, stdin=STATEMENT % runs)
        print(f"        {len(costs)} modules, {sum(own_ms for _, own_ms in costs):.0f} ms: {dearest(costs)}")


if __name__ == "__main__":
    main()
