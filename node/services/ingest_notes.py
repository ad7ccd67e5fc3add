"""Index a tree of Markdown notes, as a use-case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput
from node.ballast import refuse_on_low_space
from node.local_store import NoteRoot
from node.services.catalog import Document, Progress
from node.services.level import bring_level
from node.services.note_roots import index_root
from node.services.refresh import stamp_refresh
from node.services.requests import NotesRequest, Request
from retrieval.notes import walk_notes

if TYPE_CHECKING:
    from node.composition import Local

_PROVIDER_CHARS_MAX = 64
_NAMED_MAX = 20


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Index the notes below a root; the document is that of DECISIONS.md 34.

    Without `partial`, notes of this root that are gone leave the index.  Raises `DiskFull` where little room
    is left; what was indexed until then stays.
    """
    if not isinstance(request, NotesRequest):
        raise TypeError(request)
    if not 0 < len(request.provider) <= _PROVIDER_CHARS_MAX:
        raise BadInput("--provider is a name of 1 to 64 characters", hint="use `--provider brain`")
    root = Path(request.root)
    walk = walk_notes(root, request.exclude)
    refuse_on_low_space(local.paths)
    bring_level(local, progress)
    filed = NoteRoot(
        path=str(root),
        provider=request.provider,
        exclude=tuple(request.exclude),
        third_party=request.third_party,
    )
    local.local_store.set_note_root(filed)

    def keep_to_floor(document: Document) -> None:
        refuse_on_low_space(local.paths)
        progress(document)

    report = index_root(local, filed, walk, keep_to_floor, partial=request.partial)
    local.substrings.catch_up()
    stamp_refresh(local.paths)
    return {
        "schemaVersion": 1,
        "notes": report.notes + report.unchanged,
        "records": report.records,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": dict(sorted(walk.skipped.items())),
        "unreadable": walk.unreadable[:_NAMED_MAX],
    }
