"""Copy what is canonical, and what a person wrote by hand, to another directory, while the node runs.

The feeds are copied first, as one moment of the database; then the segments that this copy names.  Where one
of them was replaced in between, the feeds are copied again.  A second backup to the same directory copies
only segments that are new, and the first is whole until the second is.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput, Damaged, Unavailable
from crdt.keys import node_id
from crdt.sqlite import copy_database, faults
from node.backup_files import (
    COPY,
    KIND,
    MANIFEST,
    SEGMENTS,
    VERSION,
    BackupManifest,
    copy_file,
    hash_file,
    place_of,
    read_manifest,
    write_manifest,
)
from node.instants import iso
from node.paths import DIRECTORY_MODE, StatePaths
from node.services.backup_requests import BackupRequest
from node.services.catalog import Document, Progress
from node.services.requests import Request

if TYPE_CHECKING:
    from crdt.segments import SegmentDirectory
    from node.composition import Local

FEEDS = "canonical/feeds.db"
LOCAL = "local/local.db"
_TRIES = 3
"""How often the feeds are copied anew, where segments are replaced while they are copied."""


@dataclass(slots=True)
class _Copied:
    """A copy as it grows: files by name with their hashes, and segments that were not whole or not here."""

    target: Path
    copy: str
    files: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    absent: int = 0

    def place(self, name: str) -> Path:
        """Tell where a file goes."""
        return place_of(self.target, self.copy, name)


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Back up; `{schemaVersion, output, files, bytes, segments, damaged, absent, identity}`.

    `damaged` counts segments that were so before and are copied as they are, `absent` those that this node
    never had.  Raises `BadInput` for a directory that holds something else, or another node's backup.
    """
    if not isinstance(request, BackupRequest):
        raise TypeError(request)
    if not local.paths.feeds_db.exists():
        raise Unavailable("there is nothing to back up yet", hint="run `atrium up`")
    node = node_id(local.feeds.author())
    target = _prepared(Path(request.path), local.paths, node)
    with faults(str(target)):
        copied = _Copied(target, _next_copy(target))
        _copy_databases_and_segments(local, copied, progress)
        for source, name in _by_hand(local.paths, with_identity=request.with_identity):
            copied.files[name] = copy_file(source, copied.place(name))
        _finish(copied, node)
    segments = [name for name in copied.files if name.startswith(SEGMENTS)]
    return {
        "schemaVersion": 1,
        "output": str(target),
        "files": len(copied.files),
        "bytes": sum(copied.place(name).stat().st_size for name in copied.files),
        "segments": len(segments),
        "damaged": copied.damaged,
        "absent": copied.absent,
        "identity": "identity.key" in copied.files,
    }


def _prepared(target: Path, paths: StatePaths, node: str) -> Path:
    """Make the directory, or take one with an earlier backup of this node, finished or not."""
    if target.resolve().is_relative_to(paths.root.resolve()):
        raise BadInput(
            "a backup inside the state directory would be lost with it",
            hint="name a directory on another disk",
        )
    with faults(str(target)):
        if target.exists() and not target.is_dir():
            raise BadInput(f"{target} is no directory", hint="name a directory that is empty or new")
        target.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        whose = None if _is_unfinished(target) else read_manifest(target).node
        if whose not in (None, node):
            raise BadInput(
                f"{target} holds the backup of another node, {whose[:8]}",
                hint="name a directory that is empty or new",
            )
    return target


def _is_unfinished(target: Path) -> bool:
    """Tell whether a directory holds nothing but what a first backup leaves that did not end."""
    left = {f"{MANIFEST}.new", "segments"}
    return all(item.name in left or COPY.fullmatch(item.name) for item in target.iterdir())


def _next_copy(target: Path) -> str:
    """Name the copy to make; what is left of others that did not end is removed."""
    present = None if _is_unfinished(target) else read_manifest(target).copy
    _remove_copies(target, kept=present)
    return f"copy-{1 if present is None else int(present.removeprefix('copy-')) + 1}"


def _remove_copies(target: Path, kept: str | None) -> None:
    for item in target.iterdir():
        if COPY.fullmatch(item.name) and item.name != kept:
            shutil.rmtree(item)


def _copy_databases_and_segments(local: Local, copied: _Copied, progress: Progress) -> None:
    for _ in range(_TRIES):
        copied.files.clear()
        copied.damaged = copied.absent = 0
        for name in (FEEDS, LOCAL):
            source = local.paths.root / name
            if source.exists():
                place = copied.place(name)
                place.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
                copy_database(source, place)
                copied.files[name] = hash_file(place)
        if _copy_segments(local, copied, progress):
            return
    raise Unavailable("segments are being replaced all the time", hint="run the same command again")


def _copy_segments(local: Local, copied: _Copied, progress: Progress) -> bool:
    """Copy the segments that the copied feeds name; False where one was replaced meanwhile."""
    backup = local.archive_of_copy(copied.place(FEEDS), copied.target / "segments")
    with closing(backup.log):
        named = sorted(backup.current())
        for done, sha256 in enumerate(named):
            progress({"phase": "backup", "done": done, "total": len(named), "unit": "segments"})
            if _copy_segment(local.archive.segments, backup.segments, sha256, copied):
                place = backup.segments.path(sha256)
                name = f"canonical/{place.relative_to(copied.target).as_posix()}"
                copied.files[name] = hash_file(place)
            elif sha256 in local.archive.current():
                copied.absent += 1
            else:
                return False
    return True


def _copy_segment(ours: SegmentDirectory, theirs: SegmentDirectory, sha256: str, copied: _Copied) -> bool:
    """Copy a segment unless a whole copy is there; False where it is not here."""
    if _is_whole(theirs, sha256):
        return True
    try:
        copy_file(ours.path(sha256), theirs.path(sha256))
    except FileNotFoundError:
        return False
    copied.damaged += not _is_whole(theirs, sha256)
    return True


def _is_whole(segments: SegmentDirectory, sha256: str) -> bool:
    try:
        segments.load(sha256)
    except Damaged:
        return False
    return True


def _by_hand(paths: StatePaths, *, with_identity: bool) -> Iterator[tuple[Path, str]]:
    """List what else belongs into a backup: settings, aliases, questions asked, what hooks left."""
    single = [paths.config, paths.aliases, *([paths.identity] if with_identity else [])]
    folders = [paths.queries, paths.spool]
    for path in [
        *single,
        *(item for folder in folders if folder.is_dir() for item in sorted(folder.iterdir())),
    ]:
        if path.is_file() and not path.is_symlink():
            yield path, path.relative_to(paths.root).as_posix()


def _finish(copied: _Copied, node: str) -> None:
    """Turn the backup to the new copy, then remove what only the former one needed."""
    manifest = BackupManifest(
        kind=KIND,
        schema_version=VERSION,
        made_at=iso(time.time()),
        node=node,
        copy=copied.copy,
        files=dict(sorted(copied.files.items())),
    )
    write_manifest(copied.target, manifest)
    _remove_copies(copied.target, kept=copied.copy)
    for path in (copied.target / "segments").glob("??/*"):
        if f"canonical/{path.relative_to(copied.target).as_posix()}" not in copied.files:
            path.unlink()
