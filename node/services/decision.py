"""Decisions: what was decided, why, and against what.  Said once; a later one supersedes an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crdt.clock import milliseconds_of
from crdt.edges import SUPERSEDES, edge_id
from crdt.errors import BadInput
from crdt.operations import Operation, Value
from crdt.projection_filters import LIMIT_MAX, RecordFilter
from node.instants import iso_ms
from node.services import record_changes, records
from node.services.catalog import Document, Progress
from node.services.memory_requests import DecisionAdd, DecisionList
from node.services.questions import checked_number
from node.services.records import Place, Write, checked_agent, index_record_id, looking, newest_in, speaker_of
from node.services.requests import Request

if TYPE_CHECKING:
    from crdt.projection_reader import RecordView
    from node.composition import Local

DECISION = "decision"


def add(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Keep a decision and what it supersedes, both or neither; its document.

    Raises `BadInput` for a blank one or a blank alternative, `NotFound` for one that it should supersede and
    that is not there.
    """
    if not isinstance(request, DecisionAdd):
        raise TypeError(request)
    if not request.decision.strip():
        raise BadInput("there is no decision", hint="say what was decided")
    if not all(alternative.strip() for alternative in request.alternatives):
        raise BadInput("an alternative is blank", hint="say what it was decided against, or leave it out")
    older = _older(local, request.supersedes)
    fields: dict[str, Value] = {
        "decision": request.decision,
        "rationale": request.rationale,
        "alternatives": list(request.alternatives) or None,
        "task_id": request.task_id,
        "supersedes": older or None,
        "project": request.project and request.project.strip().lower(),
    }
    operation = record_changes.created(
        local.feeds.author(),
        Operation(
            id="",
            type=DECISION,
            agent=checked_agent(request.agent),
            set={name: value for name, value in fields.items() if value is not None},
        ),
    )
    place = Place(space=request.space, project=request.project, is_private=request.private)
    space = records.space_of(local, place)
    edges = [_edge(operation, identity) for identity in older]
    writes = [Write(space=space, operation=one, is_new=True) for one in (operation, *edges)]
    committed = records.commit(local, writes)
    return {"schemaVersion": 1, **_document(local, {}, records.created(local, committed[0]))}


def list_(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List decisions, the newest first; `{schemaVersion, items, cursor}`."""
    if not isinstance(request, DecisionList):
        raise TypeError(request)
    project = request.project and request.project.strip().lower()
    wanted = RecordFilter(types=(DECISION,), projects=(project,) if project else ())
    limit = checked_number("limit", request.limit, 1, LIMIT_MAX)
    with looking(local) as reader:
        if reader is None:
            return {"schemaVersion": 1, "items": [], "cursor": None}
        page = reader.list_records(wanted, limit=limit, cursor=request.cursor)
        newer = newest_in(local, reader).of(index_record_id(DECISION, view.id) for view in page.records)
        items = [_document(local, newer, view) for view in page.records]
    return {"schemaVersion": 1, "items": items, "cursor": page.cursor}


def _older(local: Local, identities: tuple[str, ...]) -> list[str]:
    if not identities:
        return []
    with local.projection() as reader:
        return [records.found(reader, identity, DECISION).id for identity in identities]


def _edge(decision: Operation, older: str) -> Operation:
    start, end = index_record_id(DECISION, decision.id), index_record_id(DECISION, older)
    return Operation(
        id=edge_id(SUPERSEDES, start, end),
        type="edge",
        agent=decision.agent,
        set={"from": start, "to": end, "relation": SUPERSEDES},
    )


def _document(local: Local, newer: Mapping[str, str], view: RecordView) -> Document:
    """Give a decision; `record_id` is its name in searches, which `superseded_by` of others has."""
    state = view.state
    record = index_record_id(DECISION, state.id)
    agent, node = speaker_of(local, view.space, (state.creator, state.agent, state.by))
    return {
        "id": state.id,
        "record_id": record,
        "decision": view.field("decision"),
        "rationale": view.field("rationale"),
        "alternatives": view.field("alternatives") or [],
        "task_id": view.field("task_id"),
        "supersedes": view.field("supersedes") or [],
        "superseded_by": newer.get(record),
        "agent": agent,
        "node": node,
        "project": view.field("project"),
        "space": view.space_label,
        "created_at": iso_ms(milliseconds_of(state.created_hlc)),
    }
