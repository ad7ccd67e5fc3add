"""Run every bench on one home: `python -m tests.bench HOME`."""

from __future__ import annotations

import subprocess
import sys

from tests.bench.corpus import corpus_of_arguments
from tests.kit import CHECKOUT

BENCHES = ("bench_redact", "bench_capture", "bench_search", "bench_digest")


def main() -> None:
    """Run them one after the other, each in a process of its own; end with 1 where one failed."""
    home = str(corpus_of_arguments().home)
    commands = ([sys.executable, "-m", f"tests.bench.{name}", home] for name in BENCHES)
    failed = [
        command for command in commands if subprocess.run(command, cwd=CHECKOUT, check=False).returncode
    ]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
