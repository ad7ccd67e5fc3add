"""One conversation in order, however many fragments it has.

Most conversations are one fragment whose events have ids of their own: those are put in order without the
union's bookkeeping.  Both ways give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crdt.events import Event, Fragment, Kind, Role
from crdt.union import NOWHERE, Position, Stamped, title_of, union
from retrieval.index_rows import positioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What the index needs of a conversation; `events` in order, each with the fragment that serves it."""

    source: str
    title: str
    workspace: str | None
    parent_id: str | None
    automation: bool
    events: list[tuple[Event, str]]
    last: Position


_NOTHING = Whole(
    source="", title="", workspace=None, parent_id=None, automation=False, events=[], last=NOWHERE
)


def whole_of(stamped: Sequence[Stamped]) -> Whole:
    """Merge the fragments of one conversation; nothing at all of no fragments."""
    if not stamped:
        return _NOTHING
    if len(stamped) == 1 and _ids_are_distinct(stamped[0].fragment):
        return _of_one(stamped[0])
    merged = union(stamped)
    conversation = merged.conversation
    return Whole(
        source=conversation.source,
        title=conversation.title,
        workspace=conversation.workspace,
        parent_id=conversation.parent_id,
        automation=conversation.automation,
        events=[(item.event, item.by.sha256) for item in merged.served],
        last=merged.last,
    )


def _ids_are_distinct(fragment: Fragment) -> bool:
    return len({event.id for event in fragment.events}) == len(fragment.events)


def _of_one(stamped: Stamped) -> Whole:
    fragment = stamped.fragment
    placed = positioned(fragment)
    return Whole(
        source=fragment.source,
        title=fragment.title or _first_prompt(placed) or fragment.source_id,
        workspace=fragment.workspace,
        parent_id=fragment.parent_id,
        automation=fragment.automation,
        events=[(event, stamped.sha256) for _, event in placed],
        last=placed[-1][0] if placed else NOWHERE,
    )


def _first_prompt(placed: Sequence[tuple[Position, Event]]) -> str | None:
    for _, event in placed:
        if event.kind == Kind.MESSAGE and event.role == Role.USER and event.text.strip():
            return title_of(event.text)
    return None
