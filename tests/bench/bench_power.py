"""Print how many states after a power failure are corrupt, and how many lost what was acknowledged.

Run it as `python -m tests.bench.bench_power [STATES]` (3,000).  The same with synchronous=NORMAL stands
beside it: where that loses nothing, the states prove nothing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from crdt.entries import Draft, EntryKind
from crdt.store import open_store
from tests.crdt import power
from tests.crdt.test_power_failure import ALICE, loss, recorded

STATES = 3_000


def measure(synchronous: str, count: int) -> None:
    """Record one run, open every state that is made of it, and print what was found."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "before" / "feeds.db"
        with closing(open_store(path, writable=True, signer=ALICE)) as store:
            store.write([Draft(space=store.home(), kind=EntryKind.RECORD, body=b"before")])
        record = recorded(path, synchronous=synchronous)
        lost = corrupt = 0
        for number, state in enumerate(power.states(record, count, seed=number_of_seed(synchronous))):
            complaint = loss(state, Path(folder) / str(number))
            lost += bool(complaint and "acknowledged" in complaint)
            corrupt += bool(complaint and "acknowledged" not in complaint)
            shutil.rmtree(Path(folder) / str(number))
    spent_s = time.monotonic() - began_s
    found = f"{count} states, {corrupt} corrupt, {lost} lost something"
    print(f"synchronous={synchronous}: {found}, {spent_s:.0f} s")


def number_of_seed(synchronous: str) -> int:
    """Choose other states than the suite does."""
    return 1_000 + len(synchronous)


def main() -> None:
    """Measure what the store does, and the control."""
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    count = given[0] if given else STATES
    measure("FULL", count)
    measure("NORMAL", count // 10)


if __name__ == "__main__":
    main()
