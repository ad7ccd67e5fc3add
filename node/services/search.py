"""Find what was said: hits of one lane, best first, within a project or everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput, Unavailable
from node.services.questions import (
    checked_lane,
    checked_number,
    checked_text,
    scope_around,
    scope_of_project,
)
from node.services.requests import SearchRequest
from retrieval.answers import Lookup, look_up
from retrieval.models import Deadline, Filter, Hit
from retrieval.query import parse_query

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document, Progress
    from node.services.requests import Request
    from retrieval.every_kind import Scanned
    from retrieval.index_reader import IndexReader

LIMIT_MAX = 200
FUSIONS = ("convex", "rrf")


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Search; raises `IndexUnavailable` without an index and `Unavailable` for a lane without vectors."""
    if not isinstance(request, SearchRequest):
        raise TypeError(request)
    text = checked_text(request.query)
    lane = checked_lane(request.lane)
    limit = checked_number("limit", request.limit, 1, LIMIT_MAX)
    if request.fusion not in FUSIONS:
        raise BadInput(f"there is no fusion {request.fusion[:40]!r}", hint=f"use {' or '.join(FUSIONS)}")
    wanted = Filter(workspace=_scope(local, request), global_roles=("memory",))
    if lane == "dense":
        raise Unavailable("there are no vectors to search by meaning yet", hint="search with --words")
    lookup = Lookup(text=text, query=parse_query(text), lane=lane, wanted=wanted, limit=limit)
    deadline = Deadline()
    with local.reader() as reader:
        found = look_up(reader, lookup, deadline)
        hits = reader.hits(found.candidates, found.lane)
        is_exhausted = found.is_exhausted
        if request.all_kinds:
            scanned = _scan(local, reader, lookup, found.lane, deadline)
            hits = sorted([*hits, *scanned.hits], key=lambda hit: (-hit.score, hit.record_id))[:limit]
            is_exhausted = is_exhausted or scanned.is_exhausted
        warnings = ["lexical_budget_exhausted"] if is_exhausted else []
        warnings += ["configuration_invalid"] if reader.aliases.warning else []
    return {
        "schemaVersion": 1,
        "query": text,
        "lane": found.lane,
        "hits": [hit_document(hit) for hit in hits],
        "warnings": warnings,
    }


def hit_document(hit: Hit) -> Document:
    """Write a hit as answers show it."""
    return {
        "record_id": hit.record_id,
        "text": hit.text,
        "score": round(hit.score, 6),
        "lane": hit.lane,
        "role": hit.role,
        "provider": hit.provider,
        "conversation_id": hit.conversation_id,
        "note_path": hit.note_path,
        "authored_at": hit.authored_at,
        "workspace": hit.workspace,
        "trust": hit.trust,
        "title": hit.title,
        "author": hit.author,
        "superseded_by": hit.superseded_by,
    }


def _scope(local: Local, asked: SearchRequest) -> str | None:
    """Choose the workspace: none for everything, the project's, or that around who asks.

    Raises `BadInput` for everything and a project at once: which one was meant can't be told.
    """
    if asked.everywhere and asked.project is not None:
        raise BadInput("everything and one project can't be searched at once", hint="leave one of them out")
    if asked.everywhere:
        return None
    if asked.project is not None:
        return scope_of_project(local, asked.project)
    return scope_around(local, Path(asked.directory))


def _scan(local: Local, reader: IndexReader, lookup: Lookup, lane: str, deadline: Deadline) -> Scanned:
    """Look through the archive too; decompressing is a cost that an ordinary search doesn't have."""
    from node.view import reading
    from retrieval.every_kind import Sought, scan

    def is_removed(conversation_id: str) -> bool:
        known = reader.conversation(conversation_id)
        return known is not None and known[1]

    sought = Sought(
        text=lookup.text, query=lookup.query, lane=lane, workspace=lookup.wanted.workspace,
        aliases=reader.aliases, is_removed=is_removed,
    )  # fmt: skip
    with reading(local) as view:
        return scan(view.archive, sought, lookup.limit, deadline)
