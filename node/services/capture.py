"""Capture, as a use-case: read the agents' transcripts, archive them, make them searchable.

The substring lane follows in the same run, beside nothing: words are searchable as soon as a batch is
written, and what the substring lane has not seen yet it finds by scanning.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from archivist.capture import CaptureOptions, CaptureReport, CaptureState, Roots, capture, survey
from archivist.fragments import FragmentMaker
from archivist.providers import PROVIDERS
from crdt.errors import BadInput
from node.ballast import refuse_on_low_space
from node.services.catalog import Document, Progress
from node.services.level import bring_level
from node.services.refresh import stamp_refresh
from node.services.requests import CaptureRequest, Request
from node.services.upkeep import keep_archive
from node.view import reading
from retrieval.scope import workspace_of

if TYPE_CHECKING:
    from node.composition import Local

_PROGRESS_INTERVAL_S = 0.2


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Capture; the document is that of DECISIONS.md 34, and `words_seconds` until all was searchable.

    A dry run opens nothing for writing.  Raises `DiskFull` where little room is left: what was committed
    until then stays, and the next run goes on behind it.
    """
    if not isinstance(request, CaptureRequest):
        raise TypeError(request)
    began_s = time.monotonic()
    roots = _roots(request.roots)
    teller = _Teller(progress)

    def on_progress(report: CaptureReport, total: int) -> None:
        if not request.dry_run:
            refuse_on_low_space(local.paths)
        teller.tell(report, total)

    options = CaptureOptions(since_ns=_since_ns(request.since), on_progress=on_progress)
    maker = FragmentMaker(
        local.redactor, socket.gethostname(), local.home, lambda path: workspace_of(path, local.home)
    )
    if request.dry_run:
        with reading(local) as view:
            report = survey(view.local_store, maker, roots, options)
    else:
        refuse_on_low_space(local.paths)
        report = _capture(local, maker, (roots, options), progress)
    teller.end(report)
    words_s = time.monotonic() - began_s
    if not request.dry_run:
        keep_archive(local)
        local.substrings.catch_up(lambda done, total: progress(_step("substrings", done, total, "records")))
        stamp_refresh(local.paths)
    return {**_document(report), "words_seconds": round(words_s, 3)}


def _capture(
    local: Local, maker: FragmentMaker, what: tuple[list[Roots], CaptureOptions], progress: Progress
) -> CaptureReport:
    bring_level(local, progress)
    # What is known is looked up beside the thread that writes, and must not show what is not committed.
    with local.reader() as reader:
        state = CaptureState(
            archive=local.archive,
            follower=local.follower,
            catalog=local.catalog(reader),
            cursors=local.local_store,
            maker=maker,
        )
        report = capture(state, *what)
    local.local_store.set_mark(local.archive.log)
    return report


def _roots(given: Mapping[str, list[str]]) -> list[Roots]:
    roots = []
    for name, folders in given.items():
        if name not in PROVIDERS:
            raise BadInput(f"there is no provider {name!r}", hint=f"providers: {', '.join(PROVIDERS)}")
        roots += [Roots(provider=PROVIDERS[name], root=Path(folder)) for folder in folders]
    return [place for place in roots if place.root.is_dir()]


def _since_ns(since: str | None) -> int:
    if since is None:
        return 0
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise BadInput(f"--since {since!r} is no date", hint="write it as YYYY-MM-DD") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1e9)


class _Teller:
    """Tells progress a few times a second, however often it is reported, and once at the end."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last_s = 0.0
        self._total = 0

    def tell(self, report: CaptureReport, total: int) -> None:
        """Tell how much is read of what was estimated."""
        self._total = total
        now_s = time.monotonic()
        if now_s - self._last_s >= _PROGRESS_INTERVAL_S:
            self._last_s = now_s
            self._say(report, report.bytes_read)

    def end(self, report: CaptureReport) -> None:
        """Tell that all is read: a line that is still being written was in the estimate."""
        if self._total:
            self._say(report, self._total)

    def _say(self, report: CaptureReport, done: int) -> None:
        step = _step("capture", done, self._total, "bytes")
        conversations = sum(len(found) for found in report.conversations.values())
        self._progress({**step, "conversations": conversations, "redactions": report.redactions})


def _step(phase: str, done: int, total: int, unit: str) -> Document:
    return {"phase": phase, "done": done, "total": total, "unit": unit}


def _document(report: CaptureReport) -> Document:
    return {
        "schemaVersion": 1,
        "conversations": sum(len(found) for found in report.conversations.values()),
        "fragments": report.fragments,
        "events": report.events,
        "redactions": report.redactions,
        "bytes": report.bytes_read,
        "unchanged": report.unchanged,
        "skipped": dict(sorted(report.skipped.items())),
        "unreadable": report.unreadable,
        "providers": {name: len(found) for name, found in sorted(report.conversations.items())},
        "records": report.applied.written,
        "rejected": dict(sorted(report.applied.tally.rejected.items())),
    }
