"""Mend what can be mended without a risk; nothing that somebody said or wrote is ever touched.

Modes are closed by whoever asks.  All else needs the right to write: beside a running node, or any other
writer, it is left to that one, and the checks that follow show what is still to do.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import Damaged, StateBusy
from node.checks import Look, Surroundings
from node.checks_state import OPEN_TO_OTHERS, open_entries
from node.composition import Local, open_local
from node.lock import StateLock
from node.node_socket import probe
from node.paths import StatePaths, write_error
from node.services.level import bring_level, step
from node.view import reading

if TYPE_CHECKING:
    from node.services.catalog import Progress

COMMAND = "atrium doctor --fix"
STRAY_AGE_S = 60.0
"""Temporary files of writers that don't hold the state's lock live for less than this."""


def mend(local: Local, progress: Progress) -> list[str]:
    """Mend, and say in one sentence each what was done; a state directory that is not there stays away.

    Raises `ReadOnlyState` where something is to be mended and can't be written.
    """
    if not local.paths.root.is_dir():
        return []
    done = list(_close_modes(local.paths.root))
    if local.served_by == "node":
        return done
    try:
        with StateLock.acquire(local.paths.lock, COMMAND, timeout_s=0):
            done += _remove_dead_socket(local.paths)
            done += _sweep(local.paths)
            done += _set_local_aside(local)
            done += _catch_up(local, progress)
    except StateBusy:
        # Whoever writes now does these things itself.
        return done
    return done


def _close_modes(root: Path) -> Iterator[str]:
    count = 0
    for path, mode in list(open_entries(root)):
        try:
            path.chmod(stat.S_IMODE(mode) & ~OPEN_TO_OTHERS)
        except OSError as error:
            raise write_error(error, path) from error
        count += 1
    if count:
        yield f"closed {count} files and directories to other users"


def _remove_dead_socket(paths: StatePaths) -> Iterator[str]:
    path = paths.socket
    if probe(path) == "refuses" and stat.S_ISSOCK(path.lstat().st_mode):
        path.unlink()
        yield "removed the socket of a node that was killed"


def _sweep(paths: StatePaths) -> Iterator[str]:
    """Remove unfinished files of writers that were killed; segments have their own sweep."""
    before_s = time.time() - STRAY_AGE_S
    places = ((paths.root, "*.new-*"), (paths.derived, "*.new-*"), (paths.status_dir, "*.new-*"))
    unfinished = [path for folder, pattern in places for path in folder.glob(pattern)]
    unfinished += paths.segments.glob("??/.tmp-*")
    count = 0
    for path in unfinished:
        if path.is_file() and path.stat().st_mtime < before_s:
            path.unlink()
            count += 1
    if count:
        yield f"removed {count} unfinished files of writers that were killed"


def _set_local_aside(local: Local) -> Iterator[str]:
    """Put a damaged `local.db` out of the way: it holds no data, only what was read and where notes are."""
    paths = local.paths
    try:
        with reading(local) as view:
            view.local_store.note_roots()
    except Damaged:
        for suffix in ("-wal", "-shm"):
            paths.local_db.with_name(paths.local_db.name + suffix).unlink(missing_ok=True)
        paths.local_db.replace(paths.local_db.with_name("damaged-local.db"))
        yield "set the damaged local.db aside; transcripts are read again, notes have to be named again"


def _catch_up(local: Local, progress: Progress) -> Iterator[str]:
    """Bring the index level with the archive and the substring lane with the index, where they are behind."""
    with reading(local) as view:
        look = Look(view, {}, Surroundings())
        health, archive = look.index.health, look.archive
        is_damaged = look.index.fault in ("damaged", "incompatible")
    is_behind = health is not None and archive.fault is None and health.watermark < archive.head
    writer = open_local(local.config, writable=True, served_by=local.served_by)
    writer.tell_lost_key = local.tell_lost_key
    try:
        if is_behind or is_damaged:
            bring_level(writer, progress)
            yield "brought the index level with the archive"
        if is_behind or is_damaged or (health is not None and health.substrings_left):
            writer.substrings.catch_up(step(progress, "substrings", "records"))
            yield "brought the substring lane level with the index"
    finally:
        writer.close()
