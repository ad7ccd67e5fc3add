"""Directories that stand for another one: git worktrees, and the scratchpads that agents are given.

Git's own word counts first, a worktree's `.git` file.  Where it is gone, the names do by which agents make
their worktrees.  Nothing here fails: what can't be read or found leaves a path as it is.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MAX_LISTED_DIRECTORIES = 256
"""Directories listed to find what a scratchpad's encoded name stands for."""
MAX_GIT_FILE_BYTES = 4_096
"""A `.git` file holds one path."""

_WORKTREE = re.compile(r"(.*?[^/])(?:/\.claude/worktrees|/?\.worktrees)/[^/]+((?:/.*)?)", re.DOTALL)
_SCRATCHPAD = re.compile(
    r"(?:/private)?(?:/var)?/tmp/claude(?:-\d+)?/(-[^/]+)/[^/]+/scratchpad(?:/.*)?", re.DOTALL
)
_ENCODED_WORKTREE = re.compile(r"(-.+?)(?:--claude-worktrees-|--worktrees-|-worktrees-).+")


def folded_worktree(path: str, is_project: Callable[[str], bool]) -> str:
    """Put its repository in the place of a worktree at the front of a path, keeping what is below it.

    `is_project` says of a path that goes by name only whether it can be a repository.
    """
    if path.startswith("/"):
        for ancestor in upwards(path):
            repository = _repository_named_by(posixpath.join(ancestor, ".git"))
            if repository is not None:
                return repository + path[len(ancestor) :]
    named = _WORKTREE.fullmatch(path)
    return named[1] + named[2] if named and is_project(named[1]) else path


def folded_scratchpad(path: str, homes: Sequence[str]) -> str:
    """Put its project in the place of an agent's scratchpad, if just one existing directory can be meant.

    Several directories may have one encoded name; then the only repository among them is meant.
    """
    scratchpad = _SCRATCHPAD.fullmatch(path)
    if scratchpad is None:
        return path
    worktree = _ENCODED_WORKTREE.fullmatch(scratchpad[1])
    for encoded in (scratchpad[1], *([worktree[1]] if worktree else [])):
        candidates = _decoded(encoded, homes)
        repositories = [candidate for candidate in candidates if has_git(candidate)]
        for certain in (candidates, repositories):
            if len(certain) == 1:
                return certain[0]
    return path


def upwards(path: str) -> Iterator[str]:
    """Give an absolute path and its ancestors, nearest first."""
    yield path
    while (parent := posixpath.dirname(path)) not in (path, ""):
        yield parent
        path = parent


def has_git(path: str) -> bool:
    """Tell whether a directory is the top of a repository, a worktree or a submodule."""
    mode = _mode(posixpath.join(path, ".git"))
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def _mode(path: str) -> int:
    """Say what is at a path; absent, out of reach and no path at all are one answer, 0."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return 0


def _repository_named_by(git_file: str) -> str | None:
    """Read whose worktree a `.git` file makes its directory; None if it is none, or a submodule's."""
    if not stat.S_ISREG(_mode(git_file)):
        return None
    try:
        with Path(git_file).open("rb") as file:
            line = os.fsdecode(file.read(MAX_GIT_FILE_BYTES)).strip()
    except OSError:
        # The file still marks a repository; only of which it is a worktree can't be known.
        return None
    label, _, target = line.partition(":")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(git_file), target.strip()))
    worktrees = posixpath.dirname(target)
    if label != "gitdir" or posixpath.basename(worktrees) != "worktrees":
        return None
    common = posixpath.dirname(worktrees)
    return posixpath.dirname(common) if posixpath.basename(common).startswith(".") else common


def _decoded(encoded: str, homes: Sequence[str]) -> list[str]:
    """Find the existing directories that have this encoded name: below a home, or else anywhere."""
    for home in homes:
        name = _encoded(home)
        if encoded == name:
            return [home]
        if encoded.startswith(name + "-") and (found := _decoded_below(home, encoded[len(name) :])):
            return found
    return _decoded_below("/", encoded)


def _decoded_below(directory: str, rest: str) -> list[str]:
    found: list[str] = []
    pending = [(directory, rest)]
    for _ in range(MAX_LISTED_DIRECTORIES):
        if not pending:
            break
        directory, rest = pending.pop()
        for name in _directories(directory):
            part = "-" + _encoded(name)
            if rest == part:
                found.append(posixpath.join(directory, name))
            elif rest.startswith(part + "-"):
                pending.append((posixpath.join(directory, name), rest[len(part) :]))
    return sorted(found)


def _encoded(path: str) -> str:
    """Write a path as Claude Code names its folder: each UTF-16 unit but ASCII alphanumerics a dash."""
    return "".join(
        character if character.isascii() and character.isalnum() else "-" * (1 + (ord(character) > 0xFFFF))
        for character in path
    )


def _directories(directory: str) -> list[str]:
    """List the real directories in a directory; one that can't be listed has none to offer."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
