"""Run the present redactor over the archive, as a use-case; a dry run unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archivist.reredact import reredact
from node.services import rebuild
from node.services.catalog import Document, Progress
from node.services.requests import RebuildRequest, RedactRequest, Request

if TYPE_CHECKING:
    from node.composition import Local


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Redact again; the document counts fragments, those that changed, and new replacements.

    After an applied change everything derived is made anew, so that no lane keeps what was taken out.
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
    if request.apply and report.changed:
        rebuild.handle(local, RebuildRequest(), progress)
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
