"""The hybrid logical clock: wall time that never runs backwards and orders what a node wrote.

A reading is one integer, 48 bits of milliseconds since 1970 and 16 bits of counter (FEEDS.md 2), so that
readings compare as integers.  A clock set back, even to 1970, only makes the counter run on.  Milliseconds
end at 47 bits, the year 6429, since SQLite's integers have a sign.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NewType

Hlc = NewType("Hlc", int)

COUNTER_BITS = 16
AHEAD_MS_MAX = 5 * 60 * 1000
"""What is dated further ahead than this waits until it is due, and no clock follows it (FEEDS.md 2)."""
_COUNTER_MASK = (1 << COUNTER_BITS) - 1
_MILLISECONDS_MAX = (1 << 47) - 1


def wall_ms() -> int:
    """Read the wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


def pack(milliseconds: int, counter: int = 0) -> Hlc:
    """Make a reading; times before 1970 count as 1970, a full counter moves to the next millisecond."""
    if counter > _COUNTER_MASK:
        milliseconds, counter = milliseconds + 1, 0
    bounded = min(max(milliseconds, 0), _MILLISECONDS_MAX)
    return Hlc((bounded << COUNTER_BITS) | counter)


def milliseconds_of(reading: int) -> int:
    """Tell the milliseconds of a reading."""
    return reading >> COUNTER_BITS


class HybridClock:
    """Gives readings that rise strictly, whatever the wall clock does.

    `last` is the highest reading that this node has stored; whoever keeps the store passes it in.
    """

    def __init__(self, last: int = 0, now_ms: Callable[[], int] = wall_ms) -> None:
        self._last = last
        self._now_ms = now_ms

    def tick(self) -> Hlc:
        """Give the next reading: the wall clock, or one more than the last where that is ahead."""
        reading = pack(self._now_ms())
        if reading <= self._last:
            reading = pack(milliseconds_of(self._last), (self._last & _COUNTER_MASK) + 1)
        self._last = reading
        return reading

    def observe(self, reading: int) -> None:
        """Make every later reading of this clock later than one that came from elsewhere.

        A reading of more than five minutes ahead is passed over, so that one clock gone wrong does not
        carry all the others with it.
        """
        if milliseconds_of(reading) <= self._now_ms() + AHEAD_MS_MAX:
            self._last = max(self._last, reading)
