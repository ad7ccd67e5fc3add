"""Write one tree of notes into the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from node.services.catalog import Progress
from retrieval.note_index import NoteIndex, NoteReport
from retrieval.notes import Note, NoteWalk, note_root_id, read_note

if TYPE_CHECKING:
    from node.composition import Local
    from node.local_store import NoteRoot

_PROGRESS_NOTES = 200


def index_root(
    local: Local, root: NoteRoot, walk: NoteWalk, progress: Progress, *, partial: bool = False
) -> NoteReport:
    """Index what a walk found; without `partial`, notes of this root that are gone leave the index."""
    index = NoteIndex(local.index, local.redactor.redact, local.redactor.version)
    role = "source" if root.third_party else "note"
    place = Path(root.path)
    rows = index.root(note_root_id(place, local.home), root.provider, role)
    report = index.put(rows, _notes(local, place, walk, progress))
    if not partial:
        report.removed = index.sweep(rows, walk.paths, walk.unreadable)
    return report


def _notes(local: Local, root: Path, walk: NoteWalk, progress: Progress) -> Iterator[Note]:
    total, redact = len(walk.paths), local.redactor.redact
    for number, path in enumerate(walk.paths):
        if number % _PROGRESS_NOTES == 0:
            progress({"phase": "notes", "done": number, "total": total, "unit": "notes"})
        note = read_note(root, path, walk, redact)
        if note is not None:
            yield note
