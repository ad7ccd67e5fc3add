"""Which project something belongs to: directories as workspaces, repositories as scopes, moved projects.

A workspace is a POSIX path whose home directory is written `[HOME]`.  A scope is the workspace of a
repository; it holds the records of that workspace and of every path below it.

`workspace-aliases.json` tells of projects that moved: `{old: new | {"to": new, "until": "YYYY-MM-DD"}}`.  The
longest old path wins, on path boundaries; moves follow each other.  With `until`, only what was written up
to the end of that day (UTC) belongs to the new path: afterwards the old one is another project.  What has
no date counts as older than any.  Nothing stored changes, so that a new line needs no re-ingest.

Standard library only: every search asks for a scope before it asks anything else.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval.folding import folded_scratchpad, folded_worktree, has_git, upwards

HOME = "[HOME]"
MAX_FOLDS = 4
"""Worktrees of worktrees of scratchpads that are followed to their repository."""
MAX_ALIAS_FILE_BYTES = 1_048_576
"""A file of aliases larger than this is none."""
FIRST, LAST = "", "\x7f"
"""Bounds of all instants as text: not after, and after, every ISO 8601 date."""

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def repository_of(directory: Path) -> Path | None:
    """Find the repository around a directory: the nearest ancestor, or itself, that has a `.git`.

    Symbolic links are resolved.  A worktree stands for the repository that it is of.
    """
    text = str(directory)
    if "\0" in text:
        return None
    folded = folded_worktree(os.path.realpath(text), has_git)
    return next((Path(path) for path in upwards(folded) if has_git(path)), None)


def scope_of(directory: Path, home: Path) -> str | None:
    """Name the repository around a directory as a workspace; None outside any."""
    repository = repository_of(directory)
    return None if repository is None else workspace_of(str(repository), home)


def workspace_of(directory: str, home: Path) -> str:
    """Name a working directory as captures store it, whether or not it still exists.

    Worktrees and agents' scratchpads become the project they are of; any other directory stays itself,
    also below a repository.  What is not an absolute path is only tidied.
    """
    path = _tidied(directory)
    homes = _spellings(home)
    for _ in range(MAX_FOLDS):
        folded = folded_scratchpad(path, homes)
        folded = folded_worktree(folded, lambda base: base not in (HOME, *homes))
        if folded == path:
            break
        path = folded
    return homeward(path, home)


def homeward(path: str, home: Path) -> str:
    """Write the home directory at the front of a path as `[HOME]`; the home may be a symbolic link."""
    for spelling in _spellings(home):
        if contains(spelling, path):
            return HOME + path[len(spelling) :]
    return path


def contains(scope: str, workspace: str) -> bool:
    """Tell whether a workspace is the scope or a path below it."""
    return workspace == scope or workspace.startswith(scope.rstrip("/") + "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """One move; it holds for what was authored before `before`, as text."""

    old: str
    new: str
    before: str = LAST


class Aliases:
    """The moves of one file; `warning` says what is wrong with the file, and then there are no moves."""

    def __init__(self, entries: Sequence[Alias] = (), warning: str | None = None) -> None:
        self._entries = sorted(entries, key=lambda entry: (-len(entry.old), entry.old))
        self.warning = warning

    @classmethod
    def load(cls, path: Path, home: Path | None = None) -> Aliases:
        """Read an alias file; without one there are no aliases, and no file makes this fail.

        With `home`, old and new paths may be written absolute although the store says `[HOME]`.
        """
        try:
            with path.open("rb") as file:
                data = file.read(MAX_ALIAS_FILE_BYTES + 1)
            return cls([] if not data.strip() else _entries(data, home))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, RecursionError) as error:
            return cls(warning=f"{path.name}: {error}")

    def resolve(self, workspace: str, authored_at: str | None) -> str:
        """Say where a record of this workspace and instant belongs now."""
        instant = authored_at or FIRST
        seen = {workspace}
        remaining = self._entries
        while remaining:
            entry = _first(remaining, workspace, instant)
            if entry is None:
                break
            moved = entry.new + workspace[len(entry.old) :]
            if moved in seen:
                break
            seen.add(moved)
            workspace = moved
            remaining = [other for other in remaining if other is not entry]
        return workspace

    def windows(self, scope: str, workspaces: Iterable[str]) -> list[tuple[str, str, str]]:
        """Say which stored workspaces belong to a scope, and when, in the order given.

        Each is (workspace, authored from, authored before): `FIRST` or an inclusive bound, `LAST` or an
        exclusive one.  An absent instant compares as an empty text.  The scope itself is taken as of now.
        """
        current = self.resolve(scope, LAST)
        starts = [FIRST, *sorted({entry.before for entry in self._entries} - {LAST})]
        ends = [*starts[1:], LAST]
        found: list[tuple[str, str, str]] = []
        for workspace in workspaces:
            for start, end in zip(starts, ends, strict=True):
                if contains(current, self.resolve(workspace, start)):
                    continues = bool(found) and found[-1][::2] == (workspace, start)
                    found.append((workspace, found.pop()[1] if continues else start, end))
        return found


def _spellings(home: Path) -> list[str]:
    """List the ways to write the home, longest first; a home at the root of the file system is none."""
    found = {_tidied(str(home)), os.path.realpath(home)} - {"", ".", "/"}
    return sorted(found, key=lambda spelling: (-len(spelling), spelling))


def _tidied(directory: str) -> str:
    """Take out `.`, `..`, doubled and trailing slashes, and another system's separators."""
    path = directory.replace("\\", "/") if _DRIVE.match(directory) else directory
    if not path.strip():
        return ""
    tidy = posixpath.normpath(path)
    return "/" + tidy.lstrip("/") if tidy.startswith("/") else tidy


def _first(entries: Sequence[Alias], workspace: str, instant: str) -> Alias | None:
    """Choose the move to apply: the longest that holds then and has not been made already."""
    for entry in entries:
        holds = entry.before == LAST or instant < entry.before
        if holds and contains(entry.old, workspace) and not _is_moved(entry, workspace):
            return entry
    return None


def _is_moved(entry: Alias, workspace: str) -> bool:
    """Tell whether a project that moved below its old path is there already."""
    return contains(entry.old, entry.new) and contains(entry.new, workspace)


def _entries(data: bytes, home: Path | None) -> list[Alias]:
    """Read aliases; anything unexpected is a `ValueError` that names it."""
    # Most state directories have no aliases, and then a search doesn't pay for the parser.
    import json

    if len(data) > MAX_ALIAS_FILE_BYTES:
        raise ValueError(f"larger than {MAX_ALIAS_FILE_BYTES} bytes")
    match json.loads(data):
        case dict() as document:
            return [_entry(old, value, home) for old, value in document.items()]
        case _:
            raise ValueError("not an object of old and new paths")


def _entry(old: str, value: object, home: Path | None) -> Alias:
    fields = value if isinstance(value, dict) else {"to": value}
    new, until = fields.get("to"), fields.get("until")
    if not isinstance(new, str) or not fields.keys() <= {"to", "until"}:
        raise ValueError(f"{old!r} has no new path, or something beside `to` and `until`")
    if until is None:
        before = LAST
    elif isinstance(until, str) and _is_day(until):
        before = until + LAST
    else:
        raise ValueError(f"{old!r} is until {until!r}, which is no day such as 2026-05-31")
    return Alias(old=_alias_path(old, home), new=_alias_path(new, home), before=before)


def _alias_path(path: str, home: Path | None) -> str:
    if not path.startswith("/") and not contains(HOME, path) and not _DRIVE.match(path):
        raise ValueError(f"{path!r} is neither absolute nor below {HOME}")
    tidy = _tidied(path)
    if tidy == "/":
        raise ValueError("the root of the file system is no project")
    return tidy if home is None else homeward(tidy, home)


def _is_day(text: str) -> bool:
    import datetime

    if not _DAY.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
