"""One conversation in order, however many fragments it has.

Most conversations are one fragment whose events have ids of their own: those are put in order without the
union's bookkeeping.  Both ways give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crdt.events import Event, Fragment
from crdt.union import NOWHERE, Position, Served, Stamped, is_prompt, title_of, union
from retrieval.index_rows import Placed, positioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One source file of a conversation: its last place that is served, and the time carried to there.

    The time is empty while no event of the file has one that can be read.
    """

    last_seq: int
    carried: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What the index needs of a conversation; `events` in order, each with the fragment that serves it.

    `streams` are the source files that serve events, by path.
    """

    source: str
    title: str
    workspace: str | None
    parent_id: str | None
    automation: bool
    events: list[tuple[Event, str]]
    last: Position
    streams: dict[str, Stream]


_NOTHING = Whole(
    source="", title="", workspace=None, parent_id=None, automation=False, events=[], last=NOWHERE, streams={}
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
        streams=_streams(merged.served),
    )


def prompt_of(events: Iterable[Event]) -> str | None:
    """Give the title that the first prompt makes; None without a prompt."""
    return next((title_of(event.text) for event in events if is_prompt(event)), None)


def stream_of(events: Iterable[Event], placed: Placed) -> Stream:
    """Describe the end of a file whose events were placed."""
    return Stream(last_seq=max(event.seq for event in events), carried=placed.carried)


def _streams(served: Iterable[Served]) -> dict[str, Stream]:
    by_path: dict[str, list[Event]] = {}
    for item in served:
        by_path.setdefault(item.by.fragment.relative_path, []).append(item.event)
    return {path: stream_of(events, positioned(events)) for path, events in by_path.items()}


def _ids_are_distinct(fragment: Fragment) -> bool:
    return len({event.id for event in fragment.events}) == len(fragment.events)


def _of_one(stamped: Stamped) -> Whole:
    fragment = stamped.fragment
    placed = positioned(fragment.events)
    in_order = [event for _, event in placed.events]
    streams = {fragment.relative_path: stream_of(in_order, placed)} if in_order else {}
    return Whole(
        source=fragment.source,
        title=fragment.title or prompt_of(in_order) or fragment.source_id,
        workspace=fragment.workspace or None,
        parent_id=fragment.parent_id or None,
        automation=fragment.automation,
        events=[(event, stamped.sha256) for event in in_order],
        last=placed.events[-1][0] if in_order else NOWHERE,
        streams=streams,
    )
