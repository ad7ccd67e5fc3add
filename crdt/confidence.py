"""How sure one may still be of a memory: its asserted confidence, faded by time and held up by use.

A pure function, computed when reading and written nowhere, so that two nodes never fight over it.  Shape
and numbers are our own choice: what was learnt about a code base halves in worth in about a quarter of a
year, nothing is ever worth so little that a good match can't bring it up again, and no use makes anything
surer than its author was.
"""

from __future__ import annotations

import math

HALF_LIFE_DAYS = 90.0
CONFIDENCE_MIN = 0.1
"""What fading stops at; a lower asserted confidence stays as it is."""
CONFIDENCE_ASSUMED = 0.7
"""What counts for a record that asserts none: whoever writes something down is rather sure of it."""
HEAT_MAX = 31.0
DECAYING_KINDS = frozenset({"memory"})
"""Documents, directives, skills and what is compiled from code stay true until somebody changes them."""
_DAY_MS = 86_400_000


def effective_confidence(
    confidence: float, kind: str | None, updated_ms: int, now_ms: int, heat: float = 0.0
) -> float:
    """Give the confidence (0..1) at an instant; it never exceeds the asserted one.

    `heat` counts uses that somebody reported (0 or more): each doubling of 1 + heat adds a half-life, six
    times the half-life at most.  A clock that stands before the last change counts as that change.
    """
    if kind not in DECAYING_KINDS:
        return confidence
    age_days = max(now_ms - updated_ms, 0) / _DAY_MS
    half_life_days = HALF_LIFE_DAYS * (1 + math.log2(1 + min(max(heat, 0.0), HEAT_MAX)))
    faded = confidence * math.exp2(-age_days / half_life_days)
    return max(faded, min(confidence, CONFIDENCE_MIN))
