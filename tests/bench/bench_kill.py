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
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.e2e.killing import Nursery, said_in
from tests.e2e.states import exported
from tests.e2e.test_memory_crash import SABOTAGED_ROUNDS_MAX, Rounds
from tests.kit import World

ROUNDS = 200


@contextmanager
def fresh(*, sabotaged: bool) -> Iterator[Rounds]:
    """Give a node that nobody killed yet; the seed is printed."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, closing(Nursery(sabotaged=sabotaged)) as nursery:
        yield Rounds(World(Path(folder)), random.Random(seed), nursery)  # noqa: S311


def measure(count: int) -> None:
    """Kill so many times and print what was lost, and how long starting anew took."""
    began_s = time.monotonic()
    with fresh(sabotaged=False) as rounds:
        rounds.run(count)
        heard = set(said_in(exported(rounds.world)))
    turns = {turn for client in rounds.clients for turn in client.book.turns}
    lost = len(rounds.lost) + len(turns - heard)
    restarts_ms = sorted(1_000 * restart_s for restart_s in rounds.restarts_s)
    print(
        f"{count} kills, {rounds.acknowledged} acknowledged, {lost} lost, {time.monotonic() - began_s:.0f} s"
    )
    print(f"answers again after {statistics.median(restarts_ms):.0f} ms, {restarts_ms[-1]:.0f} ms at most")


def control() -> None:
    """Print after how many kills a store that acknowledges too early is caught."""
    with fresh(sabotaged=True) as broken:
        for kills in range(1, SABOTAGED_ROUNDS_MAX + 1):
            broken.run(1)
            if broken.lost:
                print(f"control: {len(broken.lost)} of {broken.acknowledged} lost by kill {kills}")
                return
    sys.exit("control: nothing was lost, so the rounds prove nothing")


def main() -> None:
    """Measure the store, and the control."""
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    measure(given[0] if given else ROUNDS)
    control()


if __name__ == "__main__":
    main()
