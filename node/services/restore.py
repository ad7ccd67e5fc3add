"""Make a backup the data of this state directory; not a use-case of a node, which would have it open."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from crdt.errors import BadInput
from crdt.sqlite import faults
from node import restoring
from node.backup_files import read_manifest
from node.paths import StatePaths
from node.services.catalog import Document, Progress


def restore(backup: Path, paths: StatePaths, progress: Progress, *, replace: bool) -> Document:
    """Restore; `{schemaVersion, files, setAside, identity}`.  The caller holds the state's lock.

    Raises `BadInput` where the state has an archive of its own and `replace` is not given, `Damaged` for a
    backup that is not whole; nothing is changed then.
    """
    read_manifest(backup)
    has_own = paths.feeds_db.exists()
    if has_own and not replace:
        raise BadInput(
            "this state directory has an archive of its own",
            hint="`atrium restore DIR --replace` sets it aside, it is not deleted",
        )
    had_key = paths.identity.exists()

    def report(done: int, total: int) -> None:
        progress({"phase": "restore", "done": done, "total": total, "unit": "files"})

    with faults(str(paths.root)):
        files = restoring.stage(backup, paths, report)
        aside = restoring.finish(paths, datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))
    kept = "kept" if had_key else ("restored" if paths.identity.exists() else "none")
    return {
        "schemaVersion": 1,
        "files": files,
        "setAside": aside.name if aside and has_own else None,
        "identity": kept,
    }
