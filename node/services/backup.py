"""Copy what is canonical, and what a person wrote by hand, to another directory, while the node runs.

The feeds are copied first, as one moment of the database; then the segments that this copy names.  Where one
of them was replaced in between, the feeds are copied again.  A second backup to the same directory copies
only segments that are new.
"""

from __future__ import annotations

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
    KIND,
    MANIFEST,
    VERSION,
    BackupManifest,
    copy_file,
    hash_file,
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
_BEGUN = f"{MANIFEST}.begun"
_TRIES = 3
"""How often the feeds are copied anew, where segments are replaced while they are copied."""


@dataclass(slots=True)
class _Copied:
    """Names of copied files with their hashes, and of segments what was not whole or not here."""

    files: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    absent: int = 0


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
        copied = _databases_and_segments(local, target, progress)
        for source, name in _by_hand(local.paths, with_identity=request.with_identity):
            copied.files[name] = copy_file(source, target / name)
        _finish(target, copied.files, node)
    segments = [name for name in copied.files if name.startswith("canonical/segments/")]
    return {
        "schemaVersion": 1,
        "output": str(target),
        "files": len(copied.files),
        "bytes": sum((target / name).stat().st_size for name in copied.files),
        "segments": len(segments),
        "damaged": copied.damaged,
        "absent": copied.absent,
        "identity": "identity.key" in copied.files,
    }


def _prepared(target: Path, paths: StatePaths, node: str) -> Path:
    """Make the directory, or take one with an earlier backup of this node, whose manifest goes first."""
    if target.resolve().is_relative_to(paths.root.resolve()):
        raise BadInput(
            "a backup inside the state directory would be lost with it",
            hint="name a directory on another disk",
        )
    with faults(str(target)):
        if target.exists() and not target.is_dir():
            raise BadInput(f"{target} is no directory", hint="name a directory that is empty or new")
        target.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        if not (target / _BEGUN).exists() and any(target.iterdir()):
            whose = read_manifest(target).node
            if whose not in (None, node):
                raise BadInput(
                    f"{target} holds the backup of another node, {whose[:8]}",
                    hint="name a directory that is empty or new",
                )
        (target / _BEGUN).touch(mode=0o600)
        (target / MANIFEST).unlink(missing_ok=True)
    return target


def _databases_and_segments(local: Local, target: Path, progress: Progress) -> _Copied:
    for _ in range(_TRIES):
        copied = _Copied()
        for name in (FEEDS, LOCAL):
            source = local.paths.root / name
            if source.exists():
                (target / name).parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
                copy_database(source, target / name)
                copied.files[name] = hash_file(target / name)
        if _copy_segments(local, target, copied, progress):
            return copied
    raise Unavailable("segments are being replaced all the time", hint="run the same command again")


def _copy_segments(local: Local, target: Path, copied: _Copied, progress: Progress) -> bool:
    """Copy the segments that the copied feeds name; False where one was replaced meanwhile."""
    backup = local.archive_in(target)
    with closing(backup.log):
        named = sorted(backup.current())
        for done, sha256 in enumerate(named):
            progress({"phase": "backup", "done": done, "total": len(named), "unit": "segments"})
            if _copy_segment(local.archive.segments, backup.segments, sha256, copied):
                name = backup.segments.path(sha256).relative_to(target).as_posix()
                copied.files[name] = hash_file(target / name)
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


def _finish(target: Path, files: dict[str, str], node: str) -> None:
    """Name what the backup holds, then remove what an earlier one held beyond it."""
    write_manifest(
        target,
        BackupManifest(
            kind=KIND,
            schema_version=VERSION,
            made_at=iso(time.time()),
            node=node,
            files=dict(sorted(files.items())),
        ),
    )
    for path in [target / "identity.key", *(target / "canonical" / "segments").glob("??/*")]:
        if path.relative_to(target).as_posix() not in files:
            path.unlink(missing_ok=True)
    (target / _BEGUN).unlink()
