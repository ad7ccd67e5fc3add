"""Run the present redactor over the archive, as a use-case; a dry run unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archivist.reredact import REASON, RedactReport, reredact
from crdt.errors import IndexUnavailable
from node.services import rebuild
from node.services.catalog import Document, Progress
from node.services.level import bring_level, step
from node.services.query_redaction import redact_questions
from node.services.requests import RebuildRequest, RedactRequest, Request
from node.view import reading
from retrieval.note_index import has_notes_of_another

if TYPE_CHECKING:
    from node.composition import Local

_GENERATION = "redacted_generation"
"""What the index remembers: up to which replacement nothing of the old bytes is in it."""


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Redact again; the document counts fragments, those that changed, and new replacements.

    After an applied change everything derived is made anew, so that no lane keeps what was taken out.  Until
    that is done another run does it, also when the one that changed something was killed in between.  Asked
    only what would change, nothing is opened for writing.
    """
    if not isinstance(request, RedactRequest):
        raise TypeError(request)
    if request.apply:
        report = _apply(local, progress)
    else:
        with reading(local) as view:
            report = _look(view, progress)
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


def _look(view: Local, progress: Progress) -> RedactReport:
    try:
        archive = view.archive
    except IndexUnavailable:
        # Where no archive was ever made, there is nothing to redact.
        return RedactReport()
    return reredact(archive, view.redactor, apply=False, on_progress=step(progress, "redact", "segments"))


def _apply(local: Local, progress: Progress) -> RedactReport:
    bring_level(local, progress)
    report = reredact(
        local.archive, local.redactor, apply=True, on_progress=step(progress, "redact", "segments")
    )
    redact_questions(local.paths, local.redactor.redact)
    local.archive.sweep()
    local.archive.log.fold()
    _take_out_of_derived(local, progress)
    bring_level(local, progress)
    local.substrings.catch_up(step(progress, "substrings", "records"))
    return report


def _take_out_of_derived(local: Local, progress: Progress) -> None:
    """Make the index anew where it was not since the newest replacement, or has notes of another redactor."""
    newest = local.archive.newest_generation(REASON)
    is_due = newest > int(local.index.meta(_GENERATION) or 0)
    if is_due or has_notes_of_another(local.index, local.redactor.version):
        rebuild.handle(local, RebuildRequest(), progress)
        with local.index.transaction():
            local.index.set_meta(_GENERATION, newest)
