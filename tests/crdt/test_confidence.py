"""Confidence fades by time alone, never under its floor, never over what was asserted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt.confidence import CONFIDENCE_MIN, HALF_LIFE_DAYS, HEAT_MAX, effective_confidence

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000
confidences = st.floats(0, 1)
ages_ms = st.integers(-DAY_MS, 10_000 * DAY_MS)
heats = st.floats(-1, 1e6)


def at_age(confidence: float, days: float, heat: float = 0.0) -> float:
    return effective_confidence(confidence, "memory", NOW_MS - int(days * DAY_MS), NOW_MS, heat)


def test_a_memory_halves_in_its_half_life() -> None:
    assert at_age(0.8, HALF_LIFE_DAYS) == pytest.approx(0.4)
    assert at_age(0.8, 0) == 0.8


def test_fading_stops_at_the_floor_and_leaves_what_was_lower_alone() -> None:
    assert at_age(0.8, 9_000) == CONFIDENCE_MIN
    assert at_age(0.04, 9_000) == 0.04


def test_heat_makes_it_last_and_only_so_long() -> None:
    assert at_age(0.8, 2 * HALF_LIFE_DAYS, heat=1) == pytest.approx(0.4)
    assert at_age(0.8, 400, heat=HEAT_MAX) == at_age(0.8, 400, heat=1e9)


@pytest.mark.parametrize("kind", ["doc", "directive", "skill", "compiled", None])
def test_what_is_not_a_mere_memory_stays(kind: str | None) -> None:
    assert effective_confidence(0.7, kind, 0, NOW_MS) == 0.7


@given(confidences, ages_ms, ages_ms, heats)
def test_it_stays_within_its_bounds_and_never_rises_with_age(
    confidence: float, one_ms: int, other_ms: int, heat: float
) -> None:
    younger, older = sorted((one_ms, other_ms))
    first = effective_confidence(confidence, "memory", NOW_MS - younger, NOW_MS, heat)
    second = effective_confidence(confidence, "memory", NOW_MS - older, NOW_MS, heat)
    assert min(confidence, CONFIDENCE_MIN) <= second <= first <= confidence
