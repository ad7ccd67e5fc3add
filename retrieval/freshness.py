"""How old the archive behind an answer is, by the instant of the last successful capture or ingest.

A stale answer is still an answer; it says that it is stale.  An instant that lies ahead says nothing: a
clock that was wrong then must not make an old archive look fresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

STALE_AFTER_S = 3_600
"""RETRIEVAL.md 4."""
AHEAD_S_MAX = 60
"""Less than this ahead is a clock that was corrected since."""

Status = Literal["fresh", "stale", "unknown", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """`last_refresh_s` is in seconds since 1970, None where it is unknown or invalid."""

    status: Status
    last_refresh_s: float | None = None

    @property
    def warning(self) -> str | None:
        """The warning that belongs to it; none when it is fresh."""
        return None if self.status == "fresh" else f"refresh_{self.status}"


INVALID = Freshness(status="invalid")
"""What a stamp that can't be read is."""


def judge(last_refresh_s: float | None, now_s: float) -> Freshness:
    """Judge the instant of the last refresh, None where there never was one."""
    if last_refresh_s is None:
        return Freshness(status="unknown")
    if not 0 <= last_refresh_s <= now_s + AHEAD_S_MAX:
        return INVALID
    is_stale = now_s - last_refresh_s > STALE_AFTER_S
    return Freshness(status="stale" if is_stale else "fresh", last_refresh_s=last_refresh_s)
