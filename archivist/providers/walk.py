"""List the transcript files below a root: sorted, regular files only, no symbolic link followed.

Since links are never followed, neither to files nor to directories, a loop can't arise and nothing outside
the root is read.  The root itself may be a link: whoever named it meant what it points to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from archivist.providers.base import Source, SourceUnreadable

WantedName = Callable[[str], bool]


def readable_name(path: Path | str) -> str:
    """Write a path as text that is valid Unicode, also where its bytes are not."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def jsonl_name(name: str) -> bool:
    """Tell whether a file of this name holds lines of JSON."""
    return name.endswith(".jsonl")


def files_below(root: Path, provider: str, wanted: WantedName = jsonl_name) -> Iterator[Source]:
    """Give a source for each wanted file below `root`, by relative path.

    What vanishes meanwhile is left out.  Directories that can't be listed are named together in a
    `SourceUnreadable` once everything else was given.
    """
    unreadable: list[str] = []
    pending: list[tuple[str, Path]] = [("", root)]
    while pending:
        relative, path = pending.pop()
        if relative and not relative.endswith("/"):
            made = _source(provider, path, relative, unreadable)
            if made is not None:
                yield made
            continue
        # Directories carry their slash while sorting, so that the order is that of whole relative paths.
        pending += [
            (relative + name, path / name.rstrip("/"))
            for name in sorted(_names(path, relative, wanted, unreadable), key=readable_name, reverse=True)
        ]
    if unreadable:
        raise SourceUnreadable(unreadable)


def _names(path: Path, relative: str, wanted: WantedName, unreadable: list[str]) -> list[str]:
    """List one directory: wanted file names, and directory names followed by a slash."""
    try:
        with os.scandir(path) as entries:
            return [name for name in (_name(entry, wanted) for entry in entries) if name]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        unreadable.append(readable_name(relative).rstrip("/") or ".")
        return []


def _name(entry: os.DirEntry[str], wanted: WantedName) -> str:
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    return entry.name if wanted(entry.name) and entry.is_file(follow_symlinks=False) else ""


def _source(provider: str, path: Path, relative: str, unreadable: list[str]) -> Source | None:
    try:
        found = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError:
        unreadable.append(readable_name(relative))
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Source(
        provider=provider,
        path=path,
        relative_path=readable_name(relative),
        size_bytes=found.st_size,
        modified_ns=found.st_mtime_ns,
        inode=found.st_ino,
    )
