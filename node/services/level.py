"""Bring everything derived level with what is canonical, whatever state it was found in.

Every use-case that writes begins here.  An index that is absent, damaged or gone from under us is made
anew, notes included.  One that follows another log than the archive has now (a backup was put back, the
log was lost) is set aside, since it may hold the last copy of something, and made anew.  What this node
noted as read under that other log is forgotten, so that transcripts still there are read again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import Damaged, NotFound
from node.services.catalog import Progress

if TYPE_CHECKING:
    from node.composition import Local
    from retrieval.follow import Applied

_NOTES_READ = "notes_read"


def bring_level(local: Local, progress: Progress) -> Applied:
    """Make the index follow the archive that is there, and return what was written on the way."""
    local.reopen_index()
    if not local.follower.follows_this_log():
        local.set_index_aside()
    if not local.local_store.fits(local.archive.log):
        local.local_store.forget_reading()
    try:
        applied = _follow(local, progress)
    except Damaged:
        if local.index.is_whole():
            raise
        local.discard_index()
        applied = _follow(local, progress)
    local.local_store.set_mark(local.archive.log)
    return applied


def index_note_roots(local: Local, progress: Progress) -> tuple[int, int]:
    """Index every known tree of notes: how many there were, and how many are gone."""
    # Imported here, since a write that finds an index has nothing to do with notes.
    from node.services.note_roots import index_root
    from retrieval.notes import walk_notes

    roots = local.local_store.note_roots()
    missing = 0
    for root in roots:
        try:
            walk = walk_notes(Path(root.path), root.exclude)
        except NotFound:
            missing += 1
            continue
        index_root(local, root, walk, progress)
    with local.index.transaction():
        local.index.set_meta(_NOTES_READ, 1)
    return len(roots) - missing, missing


def step(progress: Progress, phase: str, unit: str) -> Callable[[int, int], None]:
    """Tell progress of one phase."""
    return lambda done, total: progress({"phase": phase, "done": done, "total": total, "unit": unit})


def _follow(local: Local, progress: Progress) -> Applied:
    applied = local.follower.catch_up(step(progress, "index", "manifests"))
    if local.index.meta(_NOTES_READ) is None:
        index_note_roots(local, progress)
    follow_records(local, progress)
    return applied


def follow_records(local: Local, progress: Progress) -> int:
    """Bring projection and index level with the records in the feeds; return what the index took in."""
    from node.services.records import here
    from node.services.space_names import name_in
    from retrieval.record_follow import RecordFollower

    def name_of(space: bytes, key: bytes) -> str:
        return name_in(local.feeds.roster(space), key)

    # A node that has no home yet makes it before anything is judged by whose home it is.
    local.feeds.home()
    local.projector.catch_up(step(progress, "projection", "entries"))
    with local.projection() as reader:
        follower = RecordFollower(local.index, reader, here(local), name_of)
        return follower.catch_up(step(progress, "memory", "records"))
