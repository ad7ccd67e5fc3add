"""Run the present redactor over the archive, as a use-case; a dry run unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archivist.reredact import REASON, reredact
from node.services import rebuild
from node.services.catalog import Document, Progress
from node.services.level import bring_level
from node.services.requests import RebuildRequest, RedactRequest, Request

if TYPE_CHECKING:
    from node.composition import Local

_GENERATION = "redacted_generation"
"""What the index remembers: up to which replacement nothing of the old bytes is in it."""


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Redact again; the document counts fragments, those that changed, and new replacements.

    After an applied change everything derived is made anew, so that no lane keeps what was taken out.  Until
    that is done another run does it, also when the one that changed something was killed in between.
    """
    if not isinstance(request, RedactRequest):
        raise TypeError(request)
    report = reredact(
        local.archive,
        local.redactor,
        apply=request.apply,
        on_progress=lambda done, total: progress(
            {"phase": "redact", "done": done, "total": total, "unit": "segments"}
        ),
    )
    if request.apply:
        _take_out_of_all_else(local, progress)
    return {
        "schemaVersion": 1,
        "applied": request.apply,
        "redactorVersion": local.redactor.version,
        "fragments": report.fragments,
        "changed": report.changed,
        "conversations": len(report.conversations),
        "redactions": report.redactions,
        "segments": report.segments,
    }


def _take_out_of_all_else(local: Local, progress: Progress) -> None:
    """Erase replaced segments, and make the index anew where it was not since the newest replacement."""
    local.archive.sweep()
    newest = local.archive.newest_generation(REASON)
    if newest <= int(local.index.meta(_GENERATION) or 0):
        bring_level(local, progress)
        return
    rebuild.handle(local, RebuildRequest(), progress)
    with local.index.transaction():
        local.index.set_meta(_GENERATION, newest)
