"""Put a backup in the place of a state directory's data, so that a crash leaves the old or the new.

Everything is copied beside first and checked; one rename then decides; what follows only moves finished
things into place and is done again by the next writer where it was interrupted.  What was there before is
set aside, never deleted.  The marker of the incarnation goes: what this node writes next begins a new one,
since others may hold entries that the backup does not know.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

from crdt.errors import Damaged
from crdt.sqlite import fsync_directory
from node.backup_files import check_files, copy_file, place_of, read_manifest
from node.paths import DIRECTORY_MODE, StatePaths

_STAGING = "restore-staging"
_READY = "restore-ready"
_MOVING = "restore-moving"
_ASIDE = "set-aside-"
_REPLACED = ("canonical", "local", "derived", "synthesis", "spool", "config.toml", "workspace-aliases.json")
"""What a backup speaks for: it is set aside even where the backup has no such thing."""
KEY = "identity.key"

Report = Callable[[int, int], None]


def stage(backup: Path, paths: StatePaths, report: Report) -> int:
    """Copy a backup beside the state, checked on both sides, and decide for it; return the files.

    Raises `BadInput` for what is no backup and `Damaged` for a file of it that is not as it was.
    """
    manifest = read_manifest(backup)
    finish(paths, stamp="unfinished")
    staging = paths.root / _STAGING
    staging.mkdir(mode=DIRECTORY_MODE)
    for done, name in enumerate(sorted(manifest.files)):
        report(done, len(manifest.files))
        if name == KEY and paths.identity.exists():
            continue
        _copy(place_of(backup, manifest.copy, name), staging / name)
    present = {n: sha for n, sha in manifest.files.items() if n != KEY or (staging / KEY).exists()}
    check_files(staging, present)
    for folder in (item for item in staging.rglob("*") if item.is_dir()):
        folder.chmod(DIRECTORY_MODE)
        fsync_directory(folder)
    fsync_directory(staging)
    staging.rename(paths.root / _READY)
    fsync_directory(paths.root)
    return len(manifest.files)


def _copy(source: Path, target: Path) -> None:
    try:
        copy_file(source, target)
    except FileNotFoundError as error:
        raise Damaged(f"{source} is missing from the backup", hint="use another backup") from error


def finish(paths: StatePaths, stamp: str) -> Path | None:
    """Move what was decided for into place; returns where the former things are, None for nothing to do.

    Two phases, each of which may be begun again: first all that was there goes aside, then all that is
    ready comes in.  The name of the directory tells which.
    """
    ready, moving = paths.root / _READY, paths.root / _MOVING
    if (paths.root / _STAGING).exists():
        shutil.rmtree(paths.root / _STAGING)
    aside = _fresh(paths.root, f"{_ASIDE}{stamp}")
    if ready.is_dir():
        _set_aside(paths, aside)
        ready.rename(moving)
        fsync_directory(paths.root)
    if not moving.is_dir():
        return None
    for item in sorted(moving.iterdir()):
        item.rename(paths.root / item.name)
    fsync_directory(paths.root)
    moving.rmdir()
    return aside


def _fresh(root: Path, name: str) -> Path:
    """Give a folder that nothing is in: what an earlier restore set aside stays as it is."""
    numbered = (root / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in numbered if not folder.exists() or not any(folder.iterdir()))


def _set_aside(paths: StatePaths, aside: Path) -> None:
    paths.incarnation.unlink(missing_ok=True)
    aside.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    for name in _REPLACED:
        present = paths.root / name
        if present.exists():
            present.rename(aside / name)
    fsync_directory(aside)
    fsync_directory(paths.root)
