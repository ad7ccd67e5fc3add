"""Take a single-file archive in, as a use-case."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from archivist.ingest import IngestReport, IngestState, Standing, ingest
from archivist.known import KnownEvents
from crdt.errors import BadInput
from node.ballast import refuse_on_low_space
from node.local_store import IngestedLine
from node.services.catalog import Document, Progress
from node.services.level import bring_level
from node.services.refresh import stamp_refresh
from node.services.requests import IngestRequest, Request
from node.services.upkeep import keep_archive
from retrieval.follow import Applied

if TYPE_CHECKING:
    from node.composition import Local

_STANDING = "SELECT conversation_id, source, removed_hlc, captured FROM conversations WHERE population = 0"
_PROGRESS_INTERVAL_S = 0.2


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Ingest; the document is that of ARCHIVE.md 3.

    Raises `DiskFull` where little room is left, also on the way, and nothing of the file is taken then.
    """
    if not isinstance(request, IngestRequest):
        raise TypeError(request)
    if not request.path:
        raise BadInput("no file was named", hint="run `atrium ingest FILE`")
    refuse_on_low_space(local.paths)
    bring_level(local, progress)
    tell = _teller(progress)

    def on_progress(done: int, total: int) -> None:
        refuse_on_low_space(local.paths)
        tell(done, total)

    redactor = local.redactor
    known = local.local_store.ingested(redactor.version)
    state = IngestState(
        archive=local.archive,
        known=KnownEvents(local.catalog()),
        redactor=redactor,
        known_lines={sha256: line.conversation_id for sha256, line in known.items()},
        standing=_standing(local),
        on_progress=on_progress,
    )
    report = ingest(state, Path(request.path), partial=request.partial)
    applied = local.follower.catch_up(
        lambda done, total: progress({"phase": "index", "done": done, "total": total, "unit": "segments"})
    )
    fresh = [line for line in report.lines if line.sha256 not in known]
    local.local_store.add_ingested(
        (
            IngestedLine(sha256=line.sha256, conversation_id=line.conversation_id, source=line.source)
            for line in fresh
        ),
        redactor.version,
    )
    local.local_store.set_mark(local.archive.log)
    keep_archive(local)
    local.substrings.catch_up()
    stamp_refresh(local.paths)
    return _document(report, applied)


def _standing(local: Local) -> dict[str, Standing]:
    rows = local.index.connection.execute(_STANDING)
    return {
        identity.hex(): Standing(
            conversation_id=identity.hex(),
            source=source,
            is_removed=bool(removed),
            is_captured=bool(captured),
        )
        for identity, source, removed, captured in rows
    }


def _teller(progress: Progress) -> Callable[[int, int], None]:
    last_s = 0.0

    def tell(done: int, total: int) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= _PROGRESS_INTERVAL_S:
            last_s = now_s
            progress({"phase": "ingest", "done": done, "total": total, "unit": "bytes"})

    return tell


def _document(report: IngestReport, applied: Applied) -> Document:
    return {
        "schemaVersion": 1,
        "conversations": report.conversations,
        "written": applied.written,
        "unchanged": report.unchanged,
        "removed": len(report.removed),
        "admitted": dict(sorted(applied.tally.admitted.items())),
        "rejected": dict(sorted(applied.tally.rejected.items())),
    }
