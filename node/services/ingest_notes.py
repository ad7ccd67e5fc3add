"""Index a tree of Markdown notes, as a use-case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput
from node.local_store import NoteRoot
from node.services.catalog import Document, Progress
from node.services.refresh import stamp_refresh
from node.services.requests import NotesRequest, Request
from retrieval.note_index import NoteIndex
from retrieval.notes import Note, NoteWalk, note_root_id, read_note, walk_notes

if TYPE_CHECKING:
    from node.composition import Local

_PROGRESS_NOTES = 200
_PROVIDER_CHARS_MAX = 64
_NAMED_MAX = 20


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Index the notes below a root; the document is that of DECISIONS.md 34.

    Without `partial`, notes of this root that are gone leave the index.
    """
    if not isinstance(request, NotesRequest):
        raise TypeError(request)
    if not 0 < len(request.provider) <= _PROVIDER_CHARS_MAX:
        raise BadInput("--provider is a name of 1 to 64 characters", hint="use `--provider brain`")
    root = Path(request.root)
    walk = walk_notes(root, request.exclude)
    local.follower.catch_up()
    local.local_store.set_note_root(
        NoteRoot(
            path=str(root),
            provider=request.provider,
            exclude=tuple(request.exclude),
            third_party=request.third_party,
        )
    )
    document = index_root(local, request, walk, progress)
    local.substrings.catch_up()
    stamp_refresh(local.paths)
    return document


def index_root(local: Local, request: NotesRequest, walk: NoteWalk, progress: Progress) -> Document:
    """Write one walked root into the index."""
    root = Path(request.root)
    index = NoteIndex(local.index, local.redactor.redact)
    role = "source" if request.third_party else "note"
    rows = index.root(note_root_id(root, local.home), request.provider, role)
    report = index.put(rows, _notes(root, walk, progress))
    if not request.partial:
        report.removed = index.sweep(rows, walk.paths, walk.unreadable)
    return {
        "schemaVersion": 1,
        "notes": report.notes + report.unchanged,
        "records": report.records,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": dict(sorted(walk.skipped.items())),
        "unreadable": walk.unreadable[:_NAMED_MAX],
    }


def _notes(root: Path, walk: NoteWalk, progress: Progress) -> Iterator[Note]:
    total = len(walk.paths)
    for number, path in enumerate(walk.paths):
        if number % _PROGRESS_NOTES == 0:
            progress({"phase": "notes", "done": number, "total": total, "unit": "notes"})
        note = read_note(root, path, walk)
        if note is not None:
            yield note
