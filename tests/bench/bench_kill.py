"""Print what is left of acknowledged writes after a node was killed again and again.

Run it as `python -m tests.bench.bench_kill [ROUNDS]` (200).  It is the suite's own series, longer; a control
that acknowledges before it commits stands beside it: where that loses nothing, the rounds prove nothing.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.e2e.killing import Nursery, said_in
from tests.e2e.states import exported
from tests.e2e.test_memory_crash import Rounds
from tests.kit import World

ROUNDS = 200
CONTROL_ROUNDS = 20


def measure(count: int, *, sabotaged: bool) -> None:
    """Kill so many times and print what was lost, and how long starting anew took."""
    began_s, seed = time.monotonic(), random.SystemRandom().getrandbits(32)
    with tempfile.TemporaryDirectory() as folder, closing(Nursery(sabotaged=sabotaged)) as nursery:
        rounds = Rounds(World(Path(folder)), random.Random(seed), nursery)  # noqa: S311
        rounds.run(count)
        heard = set(said_in(exported(rounds.world)))
    turns = {turn for client in rounds.clients for turn in client.book.turns}
    lost = len(rounds.lost) + len(turns - heard)
    restarts_ms = sorted(1_000 * second_s for second_s in rounds.restarts_s)
    name = "acknowledging before the commit" if sabotaged else "the store"
    print(
        f"{name}: {count} kills, {rounds.acknowledged} acknowledged, {lost} lost; "
        f"answering again after {statistics.median(restarts_ms):.0f} ms (median), {restarts_ms[-1]:.0f} ms (most); "
        f"seed {seed}, {time.monotonic() - began_s:.0f} s"
    )


def main() -> None:
    """Measure the store, and the control."""
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    measure(given[0] if given else ROUNDS, sabotaged=False)
    measure(CONTROL_ROUNDS, sabotaged=True)


if __name__ == "__main__":
    main()
