"""Make everything derived anew from what is canonical, as a use-case.

The new index is built beside the old one, which goes on answering, and takes its place at the end; a
crash at any point leaves the one or the other.  Segments that nothing names any more are swept.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import NotFound
from node.services.catalog import Document, Progress
from node.services.ingest_notes import index_root
from node.services.requests import NotesRequest, RebuildRequest, Request
from retrieval.notes import walk_notes

if TYPE_CHECKING:
    from node.composition import Local


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Rebuild; `{schemaVersion, records, digest, notes_roots, missing_roots}`.

    A tree of notes that is gone is counted: its notes are in no index afterwards.
    """
    if not isinstance(request, RebuildRequest):
        raise TypeError(request)
    with local.rebuilding() as fresh:
        fresh.follower.catch_up(_step(progress, "rebuild", "segments"))
        roots, missing = _notes(fresh, progress)
        fresh.substrings.catch_up(_step(progress, "substrings", "records"))
    with local.reader() as reader:
        digest, records = reader.digest(), sum(reader.by_source().values())
    local.archive.sweep()
    return {
        "schemaVersion": 1,
        "records": records,
        "digest": digest,
        "notes_roots": roots,
        "missing_roots": missing,
    }


def _notes(local: Local, progress: Progress) -> tuple[int, int]:
    """Index every known tree of notes again: how many there were, and how many are gone."""
    missing = 0
    roots = local.local_store.note_roots()
    for root in roots:
        request = NotesRequest(
            root=root.path,
            provider=root.provider,
            exclude=list(root.exclude),
            third_party=root.third_party,
        )
        try:
            walk = walk_notes(Path(root.path), root.exclude)
        except NotFound:
            missing += 1
            continue
        index_root(local, request, walk, progress)
    return len(roots) - missing, missing


def _step(progress: Progress, phase: str, unit: str) -> Callable[[int, int], None]:
    return lambda done, total: progress({"phase": phase, "done": done, "total": total, "unit": unit})
