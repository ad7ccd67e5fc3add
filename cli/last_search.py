"""Remember the hits of the last search in this terminal, so that `atrium show 1` means something.

The file is private, holds record ids alone, and lies in the runtime directory, which ends with the session.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from crdt.errors import AtriumError, NotFound
from node.config import runtime_directory
from node.paths import FILE_MODE, ensure_private

HITS_MAX = 1000


def remember(records: Sequence[str]) -> None:
    """Keep the ids in order; where that is not possible, `show N` will say that it knows of no search."""
    path = _path()
    try:
        ensure_private(path.parent)
        temporary = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="ascii", errors="replace") as file:
            file.write("\n".join(records[:HITS_MAX]))
        temporary.replace(path)
    except (OSError, AtriumError):
        # Searching must work where nothing can be written.
        return


def recall(number: int) -> str:
    """Give the id of the hit with that number, counted from 1; raises `NotFound`."""
    hint = "search first, or give a record id"
    try:
        ensure_private(_path().parent)
        records = _path().read_text("ascii").split()
    except (OSError, ValueError) as error:
        raise NotFound("no search is remembered in this terminal", hint=hint) from error
    if not 1 <= number <= len(records):
        raise NotFound(
            f"the last search in this terminal has {len(records)} hits, no number {number}", hint=hint
        )
    return records[number - 1]


def _path() -> Path:
    return runtime_directory() / f"last-search-{os.getsid(0)}"
