"""The hybrid clock: readings rise, whatever the wall does."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from crdt.clock import AHEAD_MS_MAX, COUNTER_BITS, HybridClock, milliseconds_of, pack, wall_ms

MOMENTS = st.integers(-(10**12), 10**14)


@given(st.lists(MOMENTS, min_size=1, max_size=40), st.integers(0, 10**15))
def test_readings_rise_strictly_from_the_stored_one(walls: list[int], stored: int) -> None:
    moments = iter(walls)
    clock = HybridClock(stored, lambda: next(moments))
    readings = [clock.tick() for _ in walls]
    assert all(later > earlier for earlier, later in zip([stored, *readings], readings, strict=False))


@given(MOMENTS)
def test_a_reading_tells_the_wall_clock_when_that_is_ahead(now_ms: int) -> None:
    assert milliseconds_of(HybridClock(0, lambda: now_ms).tick()) == max(now_ms, 0)


def test_a_clock_set_back_to_1970_only_counts_on() -> None:
    moments = iter([2_000, 0, 0])
    clock = HybridClock(0, lambda: next(moments))
    first, second, third = (clock.tick() for _ in range(3))
    assert first == pack(2_000)
    assert (second, third) == (first + 1, first + 2)


def test_a_full_counter_borrows_the_next_millisecond() -> None:
    last = pack(5, (1 << COUNTER_BITS) - 1)
    assert HybridClock(last, lambda: 5).tick() == pack(6, 0)


def test_the_furthest_reading_fits_a_column_of_the_store() -> None:
    furthest = HybridClock(0, lambda: 1 << 60).tick()
    with closing(sqlite3.connect(":memory:")) as connection:
        (stored,) = connection.execute("SELECT ?", (furthest,)).fetchone()
    assert stored == furthest


def test_the_wall_clock_is_in_milliseconds() -> None:
    earlier = wall_ms()
    assert 1_700_000_000_000 < earlier <= wall_ms()


def test_what_is_written_after_an_entry_was_seen_is_later_than_it() -> None:
    clock = HybridClock(0, lambda: 1_000)
    seen = pack(1_000 + AHEAD_MS_MAX, 7)
    clock.observe(seen)
    assert clock.tick() == seen + 1
    clock.observe(pack(3))
    assert clock.tick() == seen + 2


def test_no_clock_follows_one_that_is_more_than_five_minutes_ahead() -> None:
    clock = HybridClock(0, lambda: 1_000)
    clock.observe(pack(1_000 + AHEAD_MS_MAX + 1))
    assert clock.tick() == pack(1_000)
