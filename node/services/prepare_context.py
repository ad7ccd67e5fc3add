"""Bring the indexes that context reads level with the archive; doing it again changes nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from crdt.errors import IndexUnavailable
from node.services.level import bring_level
from node.services.requests import PrepareRequest

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document, Progress
    from node.services.requests import Request


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Index what is not indexed yet; the words first, so that they can be searched while the rest is made."""
    if not isinstance(request, PrepareRequest):
        raise TypeError(request)
    before = _records(local)
    done = bring_level(local, progress)
    taken = local.substrings.catch_up(partial(_report, progress, "substrings", "records"))
    after = _records(local)
    return {
        "schemaVersion": 1,
        "status": "ready",
        "already_ready": before == after and not done.written and not taken,
        "indexes": ["words", "substrings"],
        "records_before": before,
        "records_after": after,
    }


def _records(local: Local) -> int:
    """Count the records, none where there is no index yet."""
    try:
        with local.reader() as reader:
            return sum(reader.by_source().values())
    except IndexUnavailable:
        return 0


def _report(progress: Progress, phase: str, unit: str, done: int, total: int) -> None:
    progress({"phase": phase, "done": done, "total": total, "unit": unit})
