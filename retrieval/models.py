"""The types that lanes, context and services exchange."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

LaneName = Literal["auto", "words", "substring", "dense"]
LANE_NAMES: tuple[LaneName, ...] = ("auto", "words", "substring", "dense")

ROLES_HISTORY = ("user", "assistant", "synthesis")
ROLES_CURATED = ("note", "memory")
ROLES_ALL = ("user", "assistant", "note", "source", "synthesis", "memory")

TRUST_BY_ROLE = {
    "note": "curated", "memory": "shared", "source": "untrusted", "user": "history", "assistant": "history",
    "synthesis": "synthesized", "tool": "untrusted",
}  # fmt: skip
"""How far a record's words may be relied on, by whose they are (RETRIEVAL.md 4)."""

SUPERSEDED_LOSS = 4.0
"""What a superseded record loses of its score: more than lies between the scores of any two records."""

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
    """Which records a lane may see, before it ranks: of these roles, and of this workspace where given.

    What has no workspace belongs to the project that its label names.  With neither, it belongs to every
    project when its role is one of `global_roles`, else to none.
    """

    roles: tuple[str, ...] = ROLES_ALL
    workspace: str | None = None
    global_roles: tuple[str, ...] = ()


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
    record's own, uncut.  `author` is the `agent@node` that wrote a piece of shared memory; `superseded_by`
    the id of the newest record that took this one's place.
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
    author: str | None = None
    superseded_by: str | None = None

    @property
    def trust(self) -> str:
        """Tell how far the words may be relied on."""
        return TRUST_BY_ROLE.get(self.role, "untrusted")
