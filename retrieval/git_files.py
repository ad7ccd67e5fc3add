"""What git shows of a directory tree: the files that it tracks, and others that it doesn't ignore."""

from __future__ import annotations

import os
import posixpath
import subprocess
from dataclasses import dataclass
from pathlib import Path

from crdt.errors import Unavailable
from retrieval.folding import has_git, upwards

GIT_TIMEOUT_S = 30
"""Listing 100,000 files takes about a second; a repository on a dead network drive takes for ever."""

# A hook that runs us points these at its own repository.  Monitors named in a repository's settings are
# programs, and a repository full of notes may be anybody's.
_GIT = (
    *("env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "LC_ALL=C"),
    *("git", "--no-optional-locks", "-c", "core.fsmonitor=false"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFiles:
    """POSIX paths below `base`, which is a path below the root, or empty; `directories` lead to the files.

    A repository inside the repository appears as a path, not with its files.
    """

    base: str
    files: frozenset[str]
    directories: frozenset[str]

    def has_file(self, path: str) -> bool:
        """Tell whether git shows a file, given by its path below the root."""
        return self._below(path) in self.files

    def has_directory(self, path: str) -> bool:
        """Tell whether git shows anything in a directory, or a repository there."""
        below = self._below(path)
        return below in self.directories or below in self.files

    def _below(self, path: str) -> str:
        return path[len(self.base) + 1 :] if self.base else path


def shown_files(root: Path, base: str) -> ShownFiles | None:
    """Ask git what it shows in a directory below a root.

    None if no repository is around, or if the repository ignores the directory as a whole.  Raises
    `Unavailable` if there is a repository and git is missing, refuses or takes longer than `GIT_TIMEOUT_S`.
    """
    directory = str(root / base)
    if not any(has_git(ancestor) for ancestor in upwards(directory)):
        return None
    listing = _git(directory, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listing.check()
    files = frozenset(os.fsdecode(name).rstrip("/") for name in listing.output.split(b"\0") if name)
    if not files and not has_git(directory) and _git(directory, "check-ignore", "-q", ".").status == 0:
        return None
    parents: set[str] = set()
    for file in files:
        parent = posixpath.dirname(file)
        while parent and parent not in parents:
            parents.add(parent)
            parent = posixpath.dirname(parent)
    return ShownFiles(base=base, files=files, directories=frozenset(parents))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a git command gave back; `check` raises if it failed."""

    status: int
    output: bytes
    complaint: str

    def check(self) -> None:
        if self.status != 0:
            raise Unavailable(
                f"git failed: {self.complaint}", hint="run `git status` in the notes' directory"
            )


def _git(directory: str, *arguments: str) -> _Answer:
    try:
        done = subprocess.run(
            [*_GIT, "-C", directory, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"git can't be asked: {error}", hint="install git") from error
    return _Answer(
        status=done.returncode, output=done.stdout, complaint=done.stderr.decode("utf-8", "replace").strip()
    )
