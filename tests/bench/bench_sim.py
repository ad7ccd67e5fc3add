"""Print what the simulator finds in many schedules, and which seed catches which planted fault.

Run it as `python -m tests.bench.bench_sim [SCHEDULES] [FIRST_SEED]` (3,000 schedules from seed 1,000, which
the suite does not play).  It ends with 1 where an invariant broke; `tests.sim.schedule.play(SEED)` replays.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.sim.failures import Violation
from tests.sim.faults import FAULTS, hunt
from tests.sim.schedule import play

SCHEDULES = 3_000
FIRST_SEED = 1_000
HUNTED_MAX = 300


def simulate(first: int, count: int) -> int:
    """Play schedules, print each failure and what was done; return how many failed."""
    began_s = time.process_time()
    total: Counter[str] = Counter()
    failures = 0
    for seed in range(first, first + count):
        try:
            report = play(seed)
        except Violation as violation:
            failures += 1
            print(f"seed {seed}: {violation}")
            continue
        total.update(report.counts)
        total.update({"steps": report.steps, "entries": report.entries, "forked feeds": report.forks})
    spent_s = time.process_time() - began_s
    print(f"{count} schedules, {failures} failures, {spent_s:.0f} s of CPU time")
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
    return failures


def hunt_all(first: int) -> int:
    """Print for each planted fault which seed and which invariant caught it; return how many went free."""
    free = 0
    for fault in FAULTS:
        catch = hunt(fault, range(first, first + HUNTED_MAX))
        free += catch is None
        if catch is None:
            print(f"{fault.name}: NOT CAUGHT in {HUNTED_MAX} schedules")
        else:
            tried = catch.seed - first + 1
            print(f"{fault.name}: caught by schedule {tried} (seed {catch.seed}): {catch.invariant}")
    return free


def main() -> None:
    """Play, then plant."""
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    count = given[0] if given else SCHEDULES
    first = given[1] if len(given) > 1 else FIRST_SEED
    failures = simulate(first, count)
    sys.exit(bool(failures + hunt_all(first)))


if __name__ == "__main__":
    main()
