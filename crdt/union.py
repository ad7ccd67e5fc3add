"""The set union that merges fragments of one conversation, and the order of what comes out.

The union is commutative, associative and idempotent: any nodes with the same fragments serve the same
conversation, byte for byte.  An event is one by its id.  Versions of one event that differ in what they
say are all kept in the archive; served is the one of the newest redactor, then the latest captured, then
the highest fragment hash.  Versions from different sources that differ are reported as conflicts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crdt.canonical import encode_canonical
from crdt.events import ARCHIVE_SCHEMA, Conversation, Event, Fragment, Kind, Provenance, Role

TITLE_CHARS_MAX = 120
_CUT = "..."

Position = tuple[str, int, str]
"""Where an event stands in its conversation: (time carried forward, place in its file, id)."""
NOWHERE: Position = ("", -1, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """A fragment, its hash, and the hybrid clock of the manifest that first carried it."""

    fragment: Fragment
    sha256: str
    hlc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One event as it is served, and the fragment that serves it."""

    event: Event
    by: Stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Versions of one event from different sources that say different things; served is the first."""

    event_id: str
    fragment_sha256s: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """A merged conversation, its events in order with who serves each, and what disagreed.

    `last` is the position of the last event: (time carried forward, place in its file, id).
    """

    conversation: Conversation
    served: tuple[Served, ...]
    last: Position
    conflicts: tuple[Conflict, ...]


def instant_key(timestamp: str | None) -> str | None:
    """Turn an instant into text that sorts by time; None where it can't be read.

    Instants in the archive's usual form (24 characters, UTC, milliseconds) are their own key.
    """
    if timestamp is None:
        return None
    if len(timestamp) == 24 and timestamp[-1] == "Z" and timestamp[10] == "T":
        return timestamp
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def title_of(text: str) -> str:
    """Make a title of a prompt: its first line, at most 120 characters."""
    line = text.strip().split("\n", 1)[0].strip()
    return line if len(line) <= TITLE_CHARS_MAX else line[: TITLE_CHARS_MAX - len(_CUT)] + _CUT


def is_prompt(event: Event) -> bool:
    """Tell whether an event is something that the user asked, of which a title can be made."""
    return event.kind == Kind.MESSAGE and event.role == Role.USER and bool(event.text.strip())


def event_key(event: Event) -> str:
    """Name an event for the union: its id, or for one without an id the hash of what it says."""
    if event.id is not None:
        return event.id
    said = [event.kind, event.role, event.text, event.timestamp]
    return "~" + hashlib.sha256(encode_canonical(said)).hexdigest()


def says_the_same(one: Event, other: Event) -> bool:
    """Tell whether two versions of an event differ in nothing but their place in a file."""
    return (
        one.text == other.text
        and one.kind == other.kind
        and one.role == other.role
        and one.timestamp == other.timestamp
    )


def union(fragments: Sequence[Stamped]) -> Union:
    """Merge the fragments of one conversation; there is at least one and all name the same conversation."""
    ordered = sorted(fragments, key=_age)
    versions: dict[str, list[Served]] = {}
    for stamped in ordered:
        for event in stamped.fragment.events:
            versions.setdefault(event_key(event), []).append(Served(event=event, by=stamped))
    chosen, conflicts = [], []
    for key, candidates in versions.items():
        served = candidates[0] if len(candidates) == 1 else _serve(candidates)
        chosen.append(served)
        if len(candidates) > 1 and (conflict := _conflict(key, served, candidates)):
            conflicts.append(conflict)
    placed = order(chosen)
    in_order = tuple(item for _, item in placed)
    return Union(
        conversation=_conversation(ordered, in_order),
        served=in_order,
        last=placed[-1][0] if placed else NOWHERE,
        conflicts=tuple(sorted(conflicts, key=lambda conflict: conflict.event_id)),
    )


def order(served: Iterable[Served]) -> list[tuple[Position, Served]]:
    """Sort events by (time carried forward in their file, place in the file, id), and say each position."""
    streams: dict[str, list[Served]] = {}
    for item in served:
        streams.setdefault(item.by.fragment.relative_path, []).append(item)
    keyed: list[tuple[Position, Served]] = []
    for items in streams.values():
        items.sort(key=lambda item: (item.event.seq, event_key(item.event)))
        carried = next((key for item in items if (key := instant_key(item.event.timestamp))), "")
        for item in items:
            carried = instant_key(item.event.timestamp) or carried
            keyed.append(((carried, item.event.seq, item.event.id or ""), item))
    keyed.sort(key=lambda pair: (pair[0], event_key(pair[1].event)))
    return keyed


def _age(stamped: Stamped) -> tuple[int, str]:
    return stamped.hlc, stamped.sha256


def _rank(served: Served) -> tuple[int, int, str]:
    return served.by.fragment.redactor_version, served.by.hlc, served.by.sha256


def _serve(candidates: Sequence[Served]) -> Served:
    """Choose the version of the highest rank, and of those that say the same the one first in its file.

    A resumed session's file repeats events further down: their place must not depend on which file was
    captured first.  `candidates` are in order of capture, which decides between equal places.
    """
    best = max(candidates, key=_rank)
    same = [item for item in candidates if says_the_same(item.event, best.event)]
    return min(same, key=lambda item: item.event.seq)


def _conflict(key: str, served: Served, candidates: Sequence[Served]) -> Conflict | None:
    home = served.by.fragment
    others = {
        item.by.sha256
        for item in candidates
        if not says_the_same(item.event, served.event)
        and (item.by.fragment.hosts, item.by.fragment.relative_path) != (home.hosts, home.relative_path)
        and item.by.fragment.redactor_version == home.redactor_version
    }
    if not others:
        return None
    return Conflict(event_id=key, fragment_sha256s=(served.by.sha256, *sorted(others)))


def _conversation(ordered: Sequence[Stamped], served: Sequence[Served]) -> Conversation:
    fragments = [stamped.fragment for stamped in ordered]
    first = fragments[0]
    instants = [key for item in served if (key := instant_key(item.event.timestamp))]
    declared = [f.started_at for f in fragments if f.started_at] + instants[:1]
    updated = [f.updated_at for f in fragments if f.updated_at] + instants[-1:]
    return Conversation(
        schema_version=ARCHIVE_SCHEMA,
        id=first.conversation_id,
        source=first.source,
        source_id=first.source_id,
        title=_title(fragments, served),
        workspace=_workspace(ordered),
        started_at=min(declared, default=None, key=_instant_or_last),
        updated_at=max(updated, default=None, key=_instant_or_first),
        hosts=tuple(sorted({host for f in fragments for host in f.hosts})),
        parent_id=min((f.parent_id for f in fragments if f.parent_id), default=None),
        automation=any(f.automation for f in fragments),
        provenance=Provenance(
            content_sha256=_content_sha256(ordered),
            relative_path=min(f.relative_path for f in fragments),
            redactions=_redactions(fragments, served),
            redactor_version=max(f.redactor_version for f in fragments),
        ),
        events=[item.event for item in served],
    )


def _content_sha256(fragments: Sequence[Stamped]) -> str:
    return hashlib.sha256("\n".join(sorted({item.sha256 for item in fragments})).encode()).hexdigest()


def _instant_or_last(timestamp: str) -> str:
    return instant_key(timestamp) or "~"


def _instant_or_first(timestamp: str) -> str:
    return instant_key(timestamp) or ""


def _title(fragments: Sequence[Fragment], served: Sequence[Served]) -> str:
    """Take the provider's own title, the latest captured; without one make it of the first prompt."""
    given = [fragment.title for fragment in fragments if fragment.title]
    if given:
        return given[-1]
    prompts = (title_of(item.event.text) for item in served if is_prompt(item.event))
    return next(prompts, fragments[0].source_id)


def _workspace(ordered: Sequence[Stamped]) -> str | None:
    """Take the workspace of whoever spoke earliest, however the conversation was cut and captured."""
    placed = [
        (_earliest(s.fragment), s.fragment.relative_path, s.fragment.workspace)
        for s in ordered
        if s.fragment.workspace
    ]
    return min(placed)[2] if placed else None


def _earliest(fragment: Fragment) -> str:
    return min((key for event in fragment.events if (key := instant_key(event.timestamp))), default="~")


def _redactions(fragments: Sequence[Fragment], served: Sequence[Served]) -> int:
    counted = sum(item.by.fragment.redactions.get(item.event.id or "", 0) for item in served)
    return counted + max((fragment.declared_redactions for fragment in fragments), default=0)
