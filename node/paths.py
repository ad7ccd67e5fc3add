"""Own every path of the state directory, and the few outside it.

Nothing else joins names to the state's root.  Directories are 0700 and files 0600, since what lies here is
a person's conversations.  Making a path never touches the disk; only `create` and the functions do.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from crdt.errors import AtriumError, BadInput, DiskFull, ReadOnlyState, Unavailable

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
SOCKET_PATH_BYTES_MAX = 103 if sys.platform == "darwin" else 107
"""`sun_path` of a unix socket address without its NUL: 108 bytes on Linux, 104 on macOS."""
_OF_A_PATH = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""What the system says of a path that somebody named."""


def fallback_runtime() -> Path:
    """Name the runtime directory of a user who has no `XDG_RUNTIME_DIR`.

    It is not below TMPDIR, because every process of one user has to come to the same name.
    """
    return Path(f"/tmp/atrium-{os.geteuid()}")  # noqa: S108 - checked for its owner before it is used


class StatePaths(NamedTuple):
    """Every path of one state directory.  `runtime` is where short sockets and per-terminal notes go.

    It is a tuple, since every search pays for making this class.
    """

    root: Path
    runtime: Path = fallback_runtime()

    @property
    def config(self) -> Path:
        """Settings of this node."""
        return self.root / "config.toml"

    @property
    def identity(self) -> Path:
        """The node's key; never in backups, never logged."""
        return self.root / "identity.key"

    @property
    def incarnation(self) -> Path:
        """The marker of a clean stop; never in backups."""
        return self.root / "incarnation"

    @property
    def projection_db(self) -> Path:
        """The current state of every record."""
        return self.root / "derived" / "projection.db"

    @property
    def feeds_db(self) -> Path:
        """Canonical fragments and feed entries."""
        return self.root / "canonical" / "feeds.db"

    @property
    def segments(self) -> Path:
        """Sealed archive segments, by the first two digits of their hash."""
        return self.root / "canonical" / "segments"

    @property
    def local_db(self) -> Path:
        """What belongs to this node alone and is not derived: cursors, note roots."""
        return self.root / "local" / "local.db"

    @property
    def index_db(self) -> Path:
        """Index records and the words lane."""
        return self.root / "derived" / "index.db"

    @property
    def substrings_db(self) -> Path:
        """The substring lane."""
        return self.root / "derived" / "substrings.db"

    @property
    def derived(self) -> Path:
        """Everything that a rebuild makes anew."""
        return self.root / "derived"

    @property
    def status_dir(self) -> Path:
        """Published health documents."""
        return self.root / "status"

    @property
    def last_refresh(self) -> Path:
        """Epoch seconds of the last successful capture or ingest, as text."""
        return self.root / "last-refresh"

    @property
    def aliases(self) -> Path:
        """Old project paths to new ones."""
        return self.root / "workspace-aliases.json"

    @property
    def queries(self) -> Path:
        """The query log, one file a UTC day."""
        return self.root / "synthesis" / "queries"

    @property
    def records_mirror(self) -> Path:
        """A copy of statements and session records for other tools."""
        return self.root / "synthesis" / "records"

    @property
    def spool(self) -> Path:
        """What hooks left while no node ran."""
        return self.root / "spool"

    @property
    def lock(self) -> Path:
        """The file whose lock means: one writer on this state directory."""
        return self.root / "local.lock"

    @property
    def log(self) -> Path:
        """The node's log, JSON lines."""
        return self.root / "node.log"

    @property
    def error_log(self) -> Path:
        """Where one-shot commands leave the stack of an unexpected error."""
        return self.root / "errors.log"

    @property
    def ballast(self) -> Path:
        """Space that is given back when the disk is full."""
        return self.root / "ballast"

    @property
    def socket(self) -> Path:
        """The node's unix socket; in the runtime directory where the path here would be too long."""
        near = self.root / "node.sock"
        if len(os.fsencode(near)) <= SOCKET_PATH_BYTES_MAX:
            return near
        return self._short_socket()

    def _short_socket(self) -> Path:
        # Imported here, since the shared library behind it is a cost that an ordinary search need not pay.
        import hashlib

        name = hashlib.sha256(os.fsencode(self.root.resolve())).hexdigest()[:32] + ".sock"
        for folder in (self.runtime, fallback_runtime()):
            if len(os.fsencode(folder / name)) <= SOCKET_PATH_BYTES_MAX:
                return folder / name
        raise AssertionError("the fallback runtime directory is short by construction")

    def create(self) -> None:
        """Make the state directory and the directories in it; what exists is left as it is.

        Raises `ReadOnlyState`, `DiskFull` or `BadInput` that names the path.
        """
        folders = (
            self.root,
            self.root / "canonical",
            self.segments,
            self.root / "local",
            self.derived,
            self.status_dir,
        )
        for folder in folders:
            _make_directory(folder)


def ensure_private(folder: Path) -> None:
    """Make a directory 0700, or check that an existing one is ours and closed to others.

    Raises `ReadOnlyState` where it belongs to another user or is open: somebody else could have put a
    socket there that answers in the node's place.
    """
    _make_directory(folder)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ReadOnlyState(
            f"{folder} is not a directory that only you can use",
            hint=f"remove {folder}, or name another with XDG_RUNTIME_DIR",
        )


def write_error(error: OSError, path: Path) -> AtriumError:
    """Tell by an `OSError` while writing below the state which error of ours it is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no space left to write {path}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnlyState(f"{path} can't be written: {error.strerror}")
    reason = "it is not a directory" if error.errno in (errno.EEXIST, errno.ENOTDIR) else error.strerror
    return BadInput(f"{path} can't be used: {reason}", hint="name another directory with ATRIUM_STATE")


def system_error(error: OSError) -> AtriumError:
    """Tell by an `OSError` that nobody expected, of whatever file, which error of ours it is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(_complaint(error))
    if error.errno == errno.EROFS:
        return ReadOnlyState(_complaint(error))
    if error.errno in _OF_A_PATH:
        return BadInput(_complaint(error), hint="check the path")
    is_denied = error.errno in (errno.EACCES, errno.EPERM)
    hint = "check who may read and write there" if is_denied else "run `atrium doctor` to see what is wrong"
    return Unavailable(_complaint(error), hint=hint)


def _complaint(error: OSError) -> str:
    said = error.strerror or type(error).__name__
    return f"{said}: {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else said


def _make_directory(folder: Path) -> None:
    try:
        folder.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, folder) from error
