"""Say what was kept about one file, for an agent that opens it, as a use-case."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.statements import SAID
from node.services.catalog import Document, Progress
from node.services.kept import Kept, reading_kept
from node.services.mentions import mentions_of
from node.services.questions import scope_around
from node.services.recall import item_of, line_of
from node.services.requests import Request
from node.services.statement_requests import FileContextRequest
from retrieval.scope import LAST, Aliases, contains, workspace_of

if TYPE_CHECKING:
    from node.composition import Local

NEWEST = 3
"""So many records are shown (RETRIEVAL.md 6)."""
SUMMARY_CHARS_MAX = 600
"""Of a summary in lines for people; documents have all of it."""


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Give the newest records of the file's project that name it, current ones before superseded ones.

    Nothing is said outside a repository.  The file need not exist.
    """
    if not isinstance(request, FileContextRequest):
        raise TypeError(request)
    path = Path(request.path)
    scope = scope_around(local, path.parent)
    aliases = local.aliases
    file = _spelled(local, path, aliases)
    with reading_kept(local, scope) as found:
        chosen = _newest(_naming(found, file, aliases))
    return {
        "schemaVersion": 1,
        "path": file,
        "workspace": scope,
        "records": [_record(kept) for kept in chosen],
        "text": "\n".join([f"# atrium file-context ({path.name})", *map(_lines, chosen)]) if chosen else "",
    }


def _spelled(local: Local, path: Path, aliases: Aliases) -> str:
    """Write a file as workspaces are written; links on the way to it are followed, but not its own."""
    stored = workspace_of(os.path.realpath(path.parent) + os.sep + path.name, local.home)
    return aliases.resolve(local.redactor.redact(stored)[0], LAST)


def _naming(found: Iterable[Kept], file: str, aliases: Aliases) -> Iterator[Kept]:
    """Pick the records that name the file, each read as a text of the project where it was said."""
    names: dict[tuple[str, str], Callable[[str], bool]] = {}
    for kept in found:
        then = str(kept.view.field("workspace"))
        now = aliases.resolve(then, kept.authored_at)
        if (then, now) not in names:
            names[then, now] = _mentions(file, then, now)
        if names[then, now](kept.view.state.text or ""):
            yield kept


def _mentions(file: str, then: str, now: str) -> Callable[[str], bool]:
    """Make what tells whether a text names the file by its place now, or by that before its project moved."""
    by_present = mentions_of(file, now)
    if then == now or not contains(now, file):
        return by_present
    by_former = mentions_of(then + file[len(now) :], then)
    return lambda text: by_present(text) or by_former(text)


def _newest(naming: Iterable[Kept]) -> list[Kept]:
    """Keep the first current ones, and where they are fewer than shown, superseded ones after them."""
    current: list[Kept] = []
    superseded: list[Kept] = []
    for kept in naming:
        (current if kept.superseded_by is None else superseded).append(kept)
        if len(current) == NEWEST:
            break
    return (current + superseded)[:NEWEST]


def _lines(kept: Kept) -> str:
    summary = " ".join(str(kept.view.field("summary") or "").split())
    if len(summary) > SUMMARY_CHARS_MAX:
        summary = summary[: SUMMARY_CHARS_MAX - 1] + "…"
    mark = "" if kept.superseded_by is None else " (superseded)"
    return f"{line_of(kept)}{mark}\n  {summary}"


def _record(kept: Kept) -> Document:
    said = {name: kept.view.field(name) for name in SAID}
    return {**item_of(kept), **said, "superseded_by": kept.superseded_by}
