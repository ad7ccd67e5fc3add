"""Make everything derived anew from what is canonical, as a use-case.

The new index is built beside the old one, which goes on answering, and takes its place at the end; a
crash at any point leaves the one or the other.  Segments that nothing names any more are swept.  What SQLite
derives within the feeds' own file, its indexes, is made anew only where it does not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crdt.errors import Damaged, Unavailable
from crdt.store_indexes import fit_indexes
from node.services.catalog import Document, Progress
from node.services.level import follow_records, index_note_roots, step
from node.services.mirror import put_every_record
from node.services.requests import RebuildRequest, Request

if TYPE_CHECKING:
    from node.composition import Local


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Rebuild; the document counts records, note roots, and segments that could not be read.

    `mended_feeds` tells whether an index of the feeds did not fit.  A tree of notes that is gone is counted:
    its notes are in no index afterwards.
    """
    if not isinstance(request, RebuildRequest):
        raise TypeError(request)
    # Before anything is read that they might hide.
    is_mended = fit_indexes(local.feeds)
    _refuse_last_copy(local)
    local.projector.rebuild(step(progress, "projection", "entries"))
    with local.rebuilding() as fresh:
        applied = fresh.follower.catch_up(step(progress, "rebuild", "segments"))
        roots, missing = index_note_roots(fresh, progress)
        follow_records(fresh, progress)
        fresh.substrings.catch_up(step(progress, "substrings", "records"))
    with local.reader() as reader:
        digest, records = reader.digest(), sum(reader.by_source().values())
    local.archive.sweep()
    with local.projection() as records_now:
        put_every_record(local.paths, records_now)
    return {
        "schemaVersion": 1,
        "records": records,
        "digest": digest,
        "notes_roots": roots,
        "missing_roots": missing,
        "damaged_segments": applied.damaged,
        "mended_feeds": is_mended,
    }


def _refuse_last_copy(local: Local) -> None:
    """Refuse to replace an index that knows more than the archive: it holds the last copy of something."""
    try:
        local.reopen_index()
        fits = local.follower.follows_this_log()
    except Damaged:
        return
    if not fits:
        raise Unavailable(
            "the archive is not the one that this index was made of, and a rebuild would lose what only the "
            "index has",
            hint="put `canonical` back from a backup; or run `atrium capture`, which sets the index aside",
        )
