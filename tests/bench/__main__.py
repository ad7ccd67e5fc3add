"""Run every bench, those on a home and those that need none: `python -m tests.bench HOME`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.corpus import corpus_of_arguments
from tests.kit import CHECKOUT

ON_A_HOME = ("bench_redact", "bench_capture", "bench_search", "bench_digest", "bench_state")


def benches() -> list[str]:
    """Name all benches, those on a home first."""
    found = (path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    return [*ON_A_HOME, *sorted(name for name in found if name not in ON_A_HOME)]


def main() -> None:
    """Run them one after the other, each in a process of its own; end with 1 where one failed."""
    home = str(corpus_of_arguments().home)
    failed = []
    for name in benches():
        arguments = [home] if name in ON_A_HOME else []
        command = [sys.executable, "-m", f"tests.bench.{name}", *arguments]
        if subprocess.run(command, cwd=CHECKOUT, check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
