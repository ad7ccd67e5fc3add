"""Capture: read what agents left since last time, and make it durable.

A run may be stopped anywhere and run again; it may run beside a writing agent.  Sources that did not
change cost one stat.  A source that can't be read is counted and the rest goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from archivist.batch import BatchWriter, CursorKey, Destination
from archivist.fragments import FragmentMaker, Made
from archivist.known import KnownEvents
from archivist.providers.base import Cursor, Increment, Provider, Source, SourceUnreadable
from crdt.archive import Archive
from retrieval.follow import Applied, ArchiveFollower
from retrieval.index_catalog import Catalog

NAMED_MAX = 20
"""Unreadable sources of one run that are named; all are counted."""


class CursorStore(Protocol):
    """Remembers how far sources were read."""

    def cursors(self, provider: str, root: str) -> dict[str, Cursor]:
        """List the cursors of a root by relative path."""
        ...

    def set_cursors(self, provider: str, root: str, cursors: Mapping[str, Cursor]) -> None:
        """Store cursors durably; what they say was read is in the archive by then."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """A provider and a directory of its transcripts."""

    provider: Provider
    root: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureState:
    """What a capture reads from and writes to."""

    archive: Archive
    follower: ArchiveFollower
    catalog: Catalog
    cursors: CursorStore
    maker: FragmentMaker


@dataclass(slots=True)
class CaptureReport:
    """What a run did.

    `conversations` are those that gained something, by provider; `unreadable` names the first `NAMED_MAX`
    sources and directories that could not be read, by their paths below their roots.
    """

    fragments: int = 0
    events: int = 0
    redactions: int = 0
    bytes_read: int = 0
    unchanged: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    conversations: dict[str, set[str]] = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)

    def name_unreadable(self, what: str, names: Sequence[str]) -> None:
        """Count what could not be read, and name the first of it."""
        self.skipped[what] += len(names)
        self.unreadable += names[: NAMED_MAX - len(self.unreadable)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A source with something to read, and where to go on."""

    source: Source
    provider: Provider
    key: CursorKey
    cursor: Cursor | None

    @property
    def new_bytes(self) -> int:
        """Estimate what is to be read."""
        read = self.cursor.offset if self.cursor and self.cursor.offset <= self.source.size_bytes else 0
        return self.source.size_bytes - read


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How to run.

    `since_ns` leaves out sources that were last modified before.  `on_progress` is told what was done and
    how many bytes there are, between increments, and may end the run by raising.
    """

    since_ns: int = 0
    on_progress: Callable[[CaptureReport, int], None] = lambda _report, _total: None


def capture(state: CaptureState, roots: Sequence[Roots], options: CaptureOptions) -> CaptureReport:
    """Read every root and make what is new durable and searchable."""
    report = CaptureReport()
    pending = [item for place in roots for item in _scan(state.cursors, place, options, report)]
    total = sum(item.new_bytes for item in pending)
    known = KnownEvents(state.catalog)
    destination = Destination(
        archive=state.archive,
        follower=state.follower,
        save_cursors=lambda key, cursors: state.cursors.set_cursors(*key, cursors),
    )
    with BatchWriter(destination, known) as writer:
        for item in pending:
            for increment in _increments(item, report):
                made = _new_fragments(state.maker.make(item.source, increment), known)
                _count(report, item.source, made, increment)
                writer.add(made, item.key, item.source.relative_path, increment.cursor)
                options.on_progress(report, total)
    report.applied = writer.applied
    return report


def survey(
    cursors: CursorStore, maker: FragmentMaker, roots: Sequence[Roots], options: CaptureOptions
) -> CaptureReport:
    """Read every root and count what is new in it; nothing is written.

    The archive is not looked at, so what a resumed session repeats is counted as new.
    """
    report = CaptureReport()
    pending = [item for place in roots for item in _scan(cursors, place, options, report)]
    total = sum(item.new_bytes for item in pending)
    for item in pending:
        for increment in _increments(item, report):
            _count(report, item.source, maker.make(item.source, increment), increment)
            options.on_progress(report, total)
    return report


def _new_fragments(made: Sequence[Made], known: KnownEvents) -> list[Made]:
    parts = (known.new_part(item) for item in made)
    return [part for part in parts if part is not None]


def _scan(
    cursors: CursorStore, place: Roots, options: CaptureOptions, report: CaptureReport
) -> Iterator[Pending]:
    """List the sources of a root that changed since they were last read."""
    key = (place.provider.name, str(place.root))
    stored = cursors.cursors(*key)
    try:
        for source in place.provider.sources(place.root):
            cursor = stored.get(source.relative_path)
            if cursor is not None and _is_unchanged(source, cursor):
                report.unchanged += 1
            elif source.modified_ns < options.since_ns:
                report.skipped["older than --since"] += 1
            else:
                yield Pending(source=source, provider=place.provider, key=key, cursor=cursor)
    except SourceUnreadable as error:
        report.name_unreadable("unreadable directory", error.names)


def _is_unchanged(source: Source, cursor: Cursor) -> bool:
    seen = (cursor.size_bytes, cursor.modified_ns, cursor.inode)
    return seen == (source.size_bytes, source.modified_ns, source.inode)


def _increments(item: Pending, report: CaptureReport) -> Iterator[Increment]:
    try:
        yield from item.provider.read(item.source, item.cursor)
    except SourceUnreadable as error:
        report.name_unreadable("unreadable file", error.names)


def _count(report: CaptureReport, source: Source, made: Sequence[Made], increment: Increment) -> None:
    report.bytes_read += increment.bytes_read
    report.skipped.update(increment.skipped)
    for item in made:
        fragment = item.fragment
        report.fragments += 1
        report.events += len(fragment.events)
        report.redactions += sum(fragment.redactions.values())
        report.conversations.setdefault(source.provider, set()).add(fragment.conversation_id)
