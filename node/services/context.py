"""Answer a question with evidence, and log that it was asked.

Without an index there is a document too, which says so; whoever prints it exits 1.  A busy or unreadable
disk is another matter and raises: it passes by itself, and nothing should be rebuilt because of it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from crdt.errors import IndexUnavailable
from node.instants import StampInvalid, iso, read_stamp
from node.services.query_log import LoggedQuestion, log_question
from node.services.questions import checked_lane, checked_number, checked_text, scope_of_project
from node.services.requests import ContextRequest
from retrieval.context import Answer, Question, Step, answer, degrades
from retrieval.evidence import Evidence
from retrieval.freshness import INVALID, Freshness, judge
from retrieval.links import is_unsafe
from retrieval.scope import homeward

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document, Progress
    from node.services.requests import Request

LIMIT_MAX = 50
CHARS_MAX = 100_000
_CONFIGURATION_WARNINGS = {"missing": "configuration_missing", "invalid": "configuration_invalid"}


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Gather evidence; raises `BadInput` for what can't be asked, and nothing for an absent index."""
    started_s = time.perf_counter()
    if not isinstance(request, ContextRequest):
        raise TypeError(request)
    question = Question(
        text=checked_text(request.query),
        lane=checked_lane(request.lane),
        limit=checked_number("limit", request.limit, 1, LIMIT_MAX),
        chars_max=checked_number("max-chars", request.max_chars, 1, CHARS_MAX),
        workspace=None if request.project is None else scope_of_project(local, request.project),
    )
    given, status, found_warnings = _answered(local, question)
    freshness = _freshness(local.paths.last_refresh)
    warnings = _warnings(local, freshness, found_warnings)
    evidence = [_evidence_document(item) for item in given.evidence]
    document: Document = {
        "schemaVersion": 1,
        "query": question.text,
        "limit": question.limit,
        "max_chars": question.chars_max,
        "text_chars": sum(len(item.excerpt.text) for item in given.evidence),
        "truncated": given.truncated,
        "deduplicated": given.deduplicated,
        "scope": {"project": request.project, "workspace": question.workspace},
        "route": {
            "requested_lane": question.lane,
            "history_lane": given.history_lane,
            "curated_lane": given.curated_lane,
        },
        "index_status": status,
        "freshness": _freshness_document(freshness),
        "configuration": _configuration_document(local),
        "degraded": degrades(warnings),
        "warnings": warnings,
        "requires_live_verification": True,
        "served_by": local.served_by,
        "elapsed_ms": round((time.perf_counter() - started_s) * 1000, 2),
        "steps": [_step_document(step) for step in given.steps],
        "evidence": evidence,
    }
    log_question(local, _logged(document, given))
    return document


def _answered(local: Local, question: Question) -> tuple[Answer, str, list[str]]:
    """Ask the index: the answer, the status of the index, and warnings in the order in which they came up."""
    try:
        with local.reader() as reader:
            given = answer(reader, question)
            aliases = ["configuration_invalid"] if reader.aliases.warning else []
    except IndexUnavailable:
        return Answer(), "unavailable", ["index_unavailable_or_incompatible"]
    notes = [item.piece.hit.note_path for item in given.evidence if item.piece.hit.note_path]
    unsafe = ["invalid_note_path"] if any(map(is_unsafe, notes)) else []
    status = "empty" if "index_empty" in given.warnings else "ready"
    return given, status, [*given.warnings, *unsafe, *aliases]


def _freshness(stamp: Path) -> Freshness:
    now_s = time.time()
    try:
        return judge(read_stamp(stamp, now_s), now_s)
    except StampInvalid:
        return INVALID


def _warnings(local: Local, freshness: Freshness, found: list[str]) -> list[str]:
    configured = _CONFIGURATION_WARNINGS.get(local.config.state.source)
    every = [freshness.warning, configured, *found]
    return list(dict.fromkeys(warning for warning in every if warning))


def _freshness_document(freshness: Freshness) -> Document:
    at_s = freshness.last_refresh_s
    return {
        "status": freshness.status,
        "last_refresh": None if at_s is None else iso(at_s),
        "source": "last-refresh",
    }


def _configuration_document(local: Local) -> Document:
    state = local.config.state
    return {
        "status": state.source,
        "state": homeward(str(state.path), local.home),
        "source": state.declared_by,
    }


def _step_document(step: Step) -> Document:
    return {
        "pass": step.name,
        "scope": step.scope,
        "lane": step.lane,
        "candidates": step.candidates,
        "candidate_limit": step.candidate_limit,
        "ms": step.ms,
    }


def _evidence_document(item: Evidence) -> Document:
    hit, part = item.piece.hit, item.excerpt
    is_note = hit.note_path is not None
    return {
        "record_id": hit.record_id,
        "text": part.text,
        "score": round(hit.score, 6),
        "lane": hit.lane,
        "conversation_id": hit.conversation_id,
        "source_sha256": hit.source_sha256,
        "authored_at": hit.authored_at,
        "provider": hit.provider,
        "role": hit.role,
        "trust": hit.trust,
        "author": hit.author,
        "note_path": None if hit.note_path is None or is_unsafe(hit.note_path) else hit.note_path,
        "date_status": _date_status(hit.authored_at),
        "revision_kind": "indexed_note_revision" if is_note else "indexed_source_revision",
        "truncated": part.truncated,
        "excerpt_start": part.start,
        "excerpt_end": part.end,
        "via": item.piece.via,
        "parent_record_id": item.piece.parent_record_id,
        "superseded_by": hit.superseded_by,
    }


def _date_status(authored_at: str | None) -> str:
    if authored_at is None:
        return "unknown"
    try:
        datetime.fromisoformat(authored_at)
    except ValueError:
        return "invalid"
    return "known"


def _logged(document: Document, given: Answer) -> LoggedQuestion:
    warnings = cast("list[str]", document["warnings"])
    scope = cast("Document", document["scope"])
    return LoggedQuestion(
        query=str(document["query"]),
        asked_at=datetime.now(UTC),
        scope=cast("str | None", scope["workspace"]),
        lane=str(cast("Document", document["route"])["requested_lane"]),
        evidence=[
            {
                "record_id": item.piece.hit.record_id,
                "score": round(item.piece.hit.score, 6),
                "lane": item.piece.hit.lane,
                "via": item.piece.via,
            }
            for item in given.evidence
        ],
        covered=round(given.covered, 2),
        warnings=warnings,
        elapsed_ms=cast("float", document["elapsed_ms"]),
    )
