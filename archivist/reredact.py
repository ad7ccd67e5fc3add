"""Run the present redactor over what is archived, and write a new generation where it finds something.

A segment in which nothing changes stays.  Of the others, each fragment that changes is made again with the
version of the present redactor, the rest keep their bytes; fragments keep the clock of their first
manifest.  All new segments and the entry that replaces the old ones are one transaction; then the old
files are erased.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from archivist.fragments import Redacts, seal
from crdt.archive import Archive, Stored, decode_fragment
from crdt.events import Event, Fragment
from crdt.manifests import Logged, Segment
from crdt.segments import SEGMENT_BYTES_MAX, Body, Built, build

REASON = "redactor"
"""First word of the reason of a generation that this made."""


@dataclass(slots=True)
class RedactReport:
    """What was looked at and what changed; `redactions` are new replacements."""

    fragments: int = 0
    changed: int = 0
    redactions: int = 0
    conversations: set[str] = field(default_factory=set)
    segments: int = 0


@dataclass(slots=True)
class _Generation:
    """What takes the place of one segment: bodies, and their clocks by hash."""

    bodies: list[Body] = field(default_factory=list)
    hlcs: dict[str, int] = field(default_factory=dict)
    is_changed: bool = False

    def add(self, body: Body, hlc: int) -> None:
        self.bodies.append(body)
        self.hlcs[body.sha256] = min(hlc, self.hlcs.get(body.sha256, hlc))


def reredact(
    archive: Archive, redactor: Redacts, *, apply: bool, on_progress: Callable[[int, int], None]
) -> RedactReport:
    """Look through the whole archive; write only when `apply`.  Waiting fragments are sealed first then."""
    report = RedactReport()
    if apply:
        archive.seal()
    current = archive.current()
    replaced: list[str] = []
    generations: list[tuple[Built, dict[str, int]]] = []
    sources = [logged for logged in archive.log.since(0) if _is_live(logged, current)]
    for number, logged in enumerate(sources):
        generation = _Generation()
        for stored, data in archive.load(logged):
            _look(generation, redactor, stored, data, report)
        on_progress(number + 1, len(sources))
        if generation.is_changed and apply and isinstance(logged.manifest, Segment):
            report.segments += 1
            replaced.append(logged.manifest.sha256)
            generations += _built(generation)
    if generations:
        archive.supersede(replaced, generations, f"{REASON} {redactor.version}")
    return report


def _is_live(logged: Logged, current: Mapping[str, Segment]) -> bool:
    return not isinstance(logged.manifest, Segment) or logged.manifest.sha256 in current


def _look(
    generation: _Generation, redactor: Redacts, stored: Stored, data: bytes, report: RedactReport
) -> None:
    report.fragments += 1
    fragment = decode_fragment(data)
    again, count = redacted_again(redactor, fragment)
    if again is None:
        generation.add(Body(sha256=stored.sha256, data=data), stored.hlc)
        return
    report.changed += 1
    report.redactions += count
    report.conversations.add(fragment.conversation_id)
    generation.is_changed = True
    generation.add(seal(again).body, stored.hlc)


def redacted_again(redactor: Redacts, fragment: Fragment) -> tuple[Fragment | None, int]:
    """Redact every text of a fragment: the new fragment and the new replacements, None where none are."""
    total = 0
    redactions = dict(fragment.redactions)
    events: list[Event] = []
    for event in fragment.events:
        text, count = redactor.redact(event.text)
        if count:
            total += count
            if event.id is not None:
                redactions[event.id] = redactions.get(event.id, 0) + count
            event = msgspec.structs.replace(event, text=text)  # noqa: PLW2901 - the redacted one from here on
        events.append(event)
    plain = {"title": fragment.title, "workspace": fragment.workspace}
    given = {name: text for name, text in plain.items() if text}
    redacted = {name: redactor.redact(text) for name, text in given.items()}
    total += sum(count for _, count in redacted.values())
    if not total:
        return None, 0
    again = msgspec.structs.replace(
        fragment,
        events=events,
        redactions=redactions,
        redactor_version=redactor.version,
        **{name: text for name, (text, _) in redacted.items()},
    )
    return again, total


def _built(generation: _Generation) -> list[tuple[Built, dict[str, int]]]:
    """Lay a generation out as segments, more than one where placeholders made it longer than a segment."""
    batches: list[list[Body]] = [[]]
    size = 0
    for body in generation.bodies:
        if batches[-1] and size + len(body.data) > SEGMENT_BYTES_MAX * 2:
            batches.append([])
            size = 0
        batches[-1].append(body)
        size += len(body.data)
    return [(build(bodies), generation.hlcs) for bodies in batches]
