"""Run the present redactor over what is archived, and write a new generation where it finds something.

A conversation in which nothing is found keeps its fragments as they are.  Of the others, every fragment of
an older redactor is made again: were only some of them, a version that was redacted would be served before
a later one in which there was nothing to redact.  Fragments keep the clock of their first manifest.

Segments are made one at a time, named by one transaction that replaces the old ones, and then the old
files are erased.  Whatever a crash leaves of that, the next run erases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from archivist.fragments import Redacts, seal
from crdt.archive import Archive, Stored, decode_fragment
from crdt.events import Event, Fragment
from crdt.manifests import Logged, Segment, Tail
from crdt.segments import SEGMENT_BYTES_MAX, Body

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
    """Look through the whole archive; write only when `apply`.

    Waiting fragments are sealed first then, and files that nothing names are erased.
    """
    report = RedactReport()
    if apply:
        archive.seal()
        _erase_unnamed(archive)
    sources = _live(archive)
    for number, logged in enumerate(sources):
        for _, data in archive.load(logged):
            _look(redactor, decode_fragment(data), report)
        on_progress(number + 1, len(sources))
    if apply and report.changed:
        _replace(archive, redactor, sources, report)
    return report


def redacted_again(redactor: Redacts, fragment: Fragment) -> tuple[Fragment, int]:
    """Redact every text of a fragment: the fragment as this redactor makes it, and the new replacements."""
    total = 0
    redactions = dict(fragment.redactions)
    events: list[Event] = []
    for event in fragment.events:
        text, count = redactor.redact(event.text)
        total += count
        if count and event.id is not None:
            redactions[event.id] = redactions.get(event.id, 0) + count
        events.append(msgspec.structs.replace(event, text=text) if count else event)
    plain = {
        "title": fragment.title,
        "workspace": fragment.workspace,
        "relative_path": fragment.relative_path,
    }
    redacted = {name: redactor.redact(text) for name, text in plain.items() if text}
    again = msgspec.structs.replace(
        fragment,
        events=events,
        redactions=redactions,
        redactor_version=redactor.version,
        **{name: text for name, (text, _) in redacted.items()},
    )
    return again, total + sum(count for _, count in redacted.values())


def _erase_unnamed(archive: Archive) -> None:
    """Erase every segment that the log does not name: no other writer can be about to name one."""
    archive.segments.sweep(set(archive.current()), now_s=math.inf)


def _live(archive: Archive) -> list[Logged]:
    """List the manifests whose fragments are in the archive now, each segment once."""
    current = archive.current()
    found: dict[str, Logged] = {}
    for logged in archive.log.since(0):
        if isinstance(logged.manifest, Tail):
            found[str(logged.seq)] = logged
        elif isinstance(logged.manifest, Segment) and logged.manifest.sha256 in current:
            found.setdefault(logged.manifest.sha256, logged)
    return list(found.values())


def _look(redactor: Redacts, fragment: Fragment, report: RedactReport) -> None:
    report.fragments += 1
    _, count = redacted_again(redactor, fragment)
    if count:
        report.changed += 1
        report.redactions += count
        report.conversations.add(fragment.conversation_id)


def _replace(archive: Archive, redactor: Redacts, sources: Sequence[Logged], report: RedactReport) -> None:
    """Make every segment again that holds a part of a conversation in which something was found."""
    replaced: list[str] = []
    staged: list[Segment] = []
    try:
        for logged in sources:
            if not isinstance(logged.manifest, Segment):
                continue
            generation = _generation(archive.load(logged), redactor, report.conversations)
            if generation.is_changed:
                replaced.append(logged.manifest.sha256)
                staged += [archive.stage(bodies, generation.hlcs) for bodies in _batches(generation.bodies)]
    except BaseException:
        archive.unstage(staged)
        raise
    report.segments = len(replaced)
    archive.replace(replaced, staged, f"{REASON} {redactor.version}")


def _generation(
    held: Iterable[tuple[Stored, bytes]], redactor: Redacts, conversations: set[str]
) -> _Generation:
    generation = _Generation()
    for stored, data in held:
        fragment = decode_fragment(data)
        body = Body(sha256=stored.sha256, data=data)
        if fragment.conversation_id in conversations and fragment.redactor_version <= redactor.version:
            body = seal(redacted_again(redactor, fragment)[0]).body
        generation.is_changed = generation.is_changed or body.sha256 != stored.sha256
        generation.add(body, stored.hlc)
    return generation


def _batches(bodies: Iterable[Body]) -> Iterator[list[Body]]:
    """Cut what became longer than two segments, by placeholders longer than what they stand for."""
    batch: list[Body] = []
    size = 0
    for body in bodies:
        if batch and size + len(body.data) > SEGMENT_BYTES_MAX * 2:
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += len(body.data)
    if batch:
        yield batch
