"""Freshness: fresh, stale, unknown and invalid, and the warning of each."""

from __future__ import annotations

import math

import pytest

from retrieval.context import WARNINGS
from retrieval.freshness import AHEAD_S_MAX, INVALID, STALE_AFTER_S, judge

NOW_S = 1_770_000_000.0


@pytest.mark.parametrize(
    ("at_s", "status"),
    [
        (NOW_S, "fresh"),
        (NOW_S - STALE_AFTER_S, "fresh"),
        (NOW_S - STALE_AFTER_S - 1, "stale"),
        (0.0, "stale"),
        (NOW_S + AHEAD_S_MAX, "fresh"),
        (NOW_S + AHEAD_S_MAX + 1, "invalid"),
        (-1.0, "invalid"),
        (math.nan, "invalid"),
        (math.inf, "invalid"),
        (None, "unknown"),
    ],
)
def test_an_instant_is_judged_by_its_age(at_s, status):
    judged = judge(at_s, NOW_S)
    assert judged.status == status
    assert judged.last_refresh_s == (at_s if status in ("fresh", "stale") else None)


def test_only_what_is_fresh_needs_no_warning():
    assert judge(NOW_S, NOW_S).warning is None
    for judged in (judge(0, NOW_S), judge(None, NOW_S), INVALID):
        assert judged.warning == f"refresh_{judged.status}"
        assert judged.warning in WARNINGS
