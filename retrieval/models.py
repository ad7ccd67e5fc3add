"""The types that lanes, context and services exchange."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

LaneName = Literal["auto", "words", "substring", "dense"]
LANE_NAMES: tuple[LaneName, ...] = ("auto", "words", "substring", "dense")

ROLES_HISTORY = ("user", "assistant")
ROLES_CURATED = ("note",)
ROLES_ALL = ("user", "assistant", "note", "source", "synthesis", "memory")

TRUST_BY_ROLE = {
    "note": "curated", "memory": "shared", "source": "untrusted", "user": "history", "assistant": "history",
    "synthesis": "synthesized", "tool": "untrusted",
}  # fmt: skip
"""How far a record's words may be relied on, by whose they are (RETRIEVAL.md 4)."""

QUERY_BUDGET_S = 2.5
"""All passes of one query together (DECISIONS.md 28)."""


class Deadline:
    """The moment by which a query has to be answered, whatever it has found."""

    def __init__(self, budget_s: float = QUERY_BUDGET_S, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._until_s = now_s() + budget_s

    def passed(self) -> bool:
        """Tell whether no time is left."""
        return self._now_s() >= self._until_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records a lane may see, before it ranks: of these roles, and of this workspace where given."""

    roles: tuple[str, ...] = ROLES_ALL
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that a lane found; `score` is higher for better, comparable within one answer only."""

    row: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneAnswer:
    """What a lane found, best first; `is_exhausted` when time ran out before all was looked at."""

    candidates: tuple[Candidate, ...] = ()
    is_exhausted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that answers a query, whole.

    `workspace` has aliases applied.  `note_root` is the row of a note's root in the index; `text` is the
    record's own, uncut.
    """

    record_id: str
    row: int
    text: str
    score: float
    lane: str
    role: str
    provider: str
    conversation_id: str
    title: str
    event_index: int
    source_sha256: str
    authored_at: str | None
    workspace: str | None
    note_root: int | None = None
    note_path: str | None = None

    @property
    def trust(self) -> str:
        """Tell how far the words may be relied on."""
        return TRUST_BY_ROLE.get(self.role, "untrusted")
