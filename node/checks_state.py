"""Checks of the machine and the state directory: settings, SQLite, the node, modes, space."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from crdt.errors import SettingsInvalid
from node import config
from node.checks import Check, Look, Severity
from retrieval.index_health import engine

DISK_LOW_BYTES: Final = 1 << 30
DISK_FULL_BYTES: Final = 256 << 20
"""A segment is 16 MiB, a rebuild of the index several times the archive's text."""
FILES_LOW: Final = 1_000
OPEN_TO_OTHERS: Final = 0o077
ENTRIES_MAX: Final = 20_000
WALK_S_MAX: Final = 0.3
"""Bounds of one walk over files; all checks together have two seconds."""
WATCHES: Final = "sys/fs/inotify/max_user_watches"


def check_configuration(look: Look) -> Check:
    """See whether the state directory was found without doubt, and whether its settings can be read."""
    name = "configuration"
    source = look.local.config.state.source
    if source in ("missing", "invalid"):
        hint = "correct the declaration of the state directory, or name it with ATRIUM_STATE"
        return Check(name=name, code=f"configuration_{source}", severity=Severity.BROKEN, hint=hint)
    try:
        config.load(environ={"ATRIUM_STATE": str(look.paths.root)})
    except SettingsInvalid:
        hint = "correct config.toml in the state directory"
        return Check(name=name, code="configuration_invalid", severity=Severity.BROKEN, hint=hint)
    return Check(name=name, code="configuration_ok")


def check_aliases(look: Look) -> Check:
    """See whether the file of moved projects can be read."""
    if look.local.aliases.warning is None:
        return Check(name="aliases", code="aliases_ok")
    hint = "correct workspace-aliases.json in the state directory; until then moved projects are apart"
    return Check(name="aliases", code="aliases_malformed", severity=Severity.WARN, hint=hint)


def check_sqlite(look: Look) -> Check:  # noqa: ARG001 - the common shape
    """See whether this Python's SQLite can search."""
    if engine().has_fts5:
        return Check(name="sqlite", code="sqlite_ok")
    hint = "run Atrium with a Python whose SQLite has FTS5 and is 3.34 or newer"
    return Check(name="sqlite", code="sqlite_without_fts5", severity=Severity.BROKEN, hint=hint)


def check_node(look: Look) -> Check:
    """See whether a node runs; it need not."""
    name = "node"
    if look.socket == "answers":
        return Check(name=name, code="node_running")
    if look.socket == "absent":
        return Check(name=name, code="node_down", hint="run `atrium up` to have everything captured")
    hint = "a node was killed here: run `atrium up`, or `atrium doctor --fix`"
    return Check(name=name, code="node_stale_socket", severity=Severity.WARN, hint=hint)


def check_watching(look: Look) -> Check | None:
    """See whether the kernel lets the running node watch every directory of transcripts."""
    if look.socket != "answers" or not look.local.config.capture.watch:
        return None
    try:
        watches_max = int((look.around.proc / WATCHES).read_text("ascii"))
    except (OSError, ValueError):
        # Not Linux: watching there knows no such limit.
        return None
    watches = sum(1 for _ in _directories([folder for given in look.roots.values() for folder in given]))
    if watches < watches_max:
        return Check(name="watching", code="watch_ok")
    hint = "raise fs.inotify.max_user_watches; until then directories are looked at once a second"
    return Check(name="watching", code="watch_limited", severity=Severity.WARN, hint=hint)


def check_modes(look: Look) -> Check:
    """See whether we can write where things are kept, and whether nobody else can read there."""
    if look.paths.root.is_dir() and not os.access(look.paths.root, os.W_OK | os.X_OK):
        hint = "make the state directory writable; until then questions are answered and nothing new is kept"
        return Check(name="modes", code="state_read_only", severity=Severity.WARN, hint=hint)
    count = sum(1 for _ in open_entries(look.paths.root))
    if not count:
        return Check(name="modes", code="state_modes_ok")
    hint = f"{count} files or directories are open to other users: run `atrium doctor --fix`"
    return Check(name="modes", code="state_modes_open", severity=Severity.WARN, hint=hint)


def check_disk(look: Look) -> Check:
    """See how much space is left where the state directory is, or would be."""
    name = "disk"
    root = look.paths.root
    place = next(folder for folder in (root, *root.parents) if folder.exists())
    disk = look.around.disk(place)
    if disk.free_bytes < DISK_FULL_BYTES or not disk.free_files:
        hint = "free some space now; what an agent writes can soon not be kept"
        return Check(name=name, code="disk_full", severity=Severity.BROKEN, hint=hint)
    if disk.free_bytes < DISK_LOW_BYTES or disk.free_files < FILES_LOW:
        return Check(name=name, code="disk_low", severity=Severity.WARN, hint="free some space")
    return Check(name=name, code="disk_ok")


def open_entries(root: Path) -> Iterator[tuple[Path, int]]:
    """Give files and directories of the state that others could use, with their modes.

    Links are left alone, as is what another user owns: neither is ours to change.
    """
    own = os.geteuid()
    for path, found in _entries(root):
        if found.st_uid == own and found.st_mode & OPEN_TO_OTHERS:
            yield path, found.st_mode


def _entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    until_s = time.monotonic() + WALK_S_MAX
    try:
        yield root, root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    seen = 0
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            seen += 1
            if seen > ENTRIES_MAX or time.monotonic() > until_s:
                return
            if not path.is_symlink():
                yield from _stat(path)


def _stat(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        yield path, path.stat()
    except FileNotFoundError:
        # A writer beside us took it away.
        return


def _directories(folders: Sequence[str]) -> Iterator[str]:
    """Walk all of these directories, until the time is over."""
    until_s = time.monotonic() + WALK_S_MAX
    for folder in folders:
        for path, _, _ in os.walk(folder):
            yield path
            if time.monotonic() > until_s:
                return
