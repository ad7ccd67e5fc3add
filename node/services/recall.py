"""List what was kept about a project, for an agent that begins to work there, as a use-case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from node.instants import StampInvalid, iso, read_stamp
from node.services.catalog import Document, Progress
from node.services.kept import Kept, reading_kept
from node.services.questions import checked_number, scope_around
from node.services.requests import Request
from node.services.statement_requests import RecallRequest
from node.services.statements import label_of
from retrieval.freshness import INVALID, Freshness, judge
from retrieval.scope import LAST

if TYPE_CHECKING:
    from node.composition import Local

LIMIT_MAX = 100
CHARS_MAX = 3_600
"""The whole text, line ends included (RETRIEVAL.md 6)."""
_DAY_CHARS = len("YYYY-MM-DD")


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Recall current titles, newest first; nothing is said outside a repository, or where none was kept."""
    if not isinstance(request, RecallRequest):
        raise TypeError(request)
    limit = checked_number("limit", request.limit, 1, LIMIT_MAX)
    scope = scope_around(local, Path(request.directory))
    project = None if scope is None else label_of(local.aliases.resolve(scope, LAST))
    freshness = _freshness(local)
    header = _header(project or "", freshness)
    items = _fitting(_current(local, scope, limit), CHARS_MAX - len(header))
    return {
        "schemaVersion": 1,
        "project": project,
        "workspace": scope,
        "freshness": freshness.status,
        "items": [item_of(kept) for kept in items],
        "text": "\n".join([header, *map(line_of, items)]) if items else "",
    }


def line_of(kept: Kept) -> str:
    """Write one record as a line: the day and the title."""
    return f"- {kept.authored_at[:_DAY_CHARS]} {kept.title}"


def item_of(kept: Kept) -> Document:
    """Write one record as part of a document."""
    return {
        "record_id": kept.record_id,
        "job_key": kept.view.id,
        "type": kept.view.type,
        "title": kept.title,
        "authored_at": kept.authored_at,
        "agent": kept.view.state.agent,
    }


def _current(local: Local, scope: str | None, limit: int) -> list[Kept]:
    with reading_kept(local, scope) as found:
        newest = list(islice((kept for kept in found if kept.superseded_by is None), limit))
    return sorted(newest, key=lambda kept: (kept.view.state.created_hlc, kept.record_id), reverse=True)


def _fitting(items: list[Kept], chars_max: int) -> list[Kept]:
    """Keep the first items whose lines fit."""

    def fitting() -> Iterator[Kept]:
        left = chars_max
        for kept in items:
            left -= len(line_of(kept)) + 1
            if left < 0:
                return
            yield kept

    return list(fitting())


def _header(project: str, freshness: Freshness) -> str:
    """Write the first line, which says so where the archive beside it is stale."""
    if freshness.status != "stale" or freshness.last_refresh_s is None:
        return f"# atrium recall ({project})"
    return f"# atrium recall ({project}), stale: nothing was taken in since {iso(freshness.last_refresh_s)}"


def _freshness(local: Local) -> Freshness:
    now_s = time.time()
    try:
        return judge(read_stamp(local.paths.last_refresh, now_s), now_s)
    except StampInvalid:
        return INVALID
