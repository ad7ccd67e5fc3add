"""Keep a statement on purpose, as a use-case.

A statement and the edges to what it takes the place of are committed together or not at all.  Saying it
again changes nothing: it stays one record, superseded if it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from crdt import ids
from crdt.edges import EDGE, SUPERSEDES, edge_id
from crdt.errors import BadInput, NotFound
from crdt.operations import Operation
from crdt.statements import STATEMENT, job_key, render
from node.services import mirror, record_changes, records, statements
from node.services.catalog import Document, Progress
from node.services.questions import scope_of_project
from node.services.records import Place, Write
from node.services.requests import Request
from node.services.statement_requests import RememberRequest
from retrieval.memory_rows import FILINGS

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local

SUPERSEDED_MAX = 50
"""So many records one statement may take the place of."""
_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_SHOWN_DIGITS = 16


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Keep a statement; raises `BadInput` that names what is wrong, `NotFound` for an unknown record."""
    if not isinstance(request, RememberRequest):
        raise TypeError(request)
    agent = records.checked_agent(request.agent)
    workspace = scope_of_project(local, request.project)
    said, redactions = statements.redacted(statements.checked(request.statement), local.redactor.redact)
    fields = said.fields(workspace)
    operation = Operation(
        id=job_key(fields), type=STATEMENT.name, agent=agent, set=fields, text=render(fields)
    )
    older = _older(local, request.supersedes)
    place = Place(project=statements.label_of(workspace), is_private=request.private)
    # A statement is named by its words, and two at once are one record; only circles need one after another.
    with records.changing(local) if older else local.projection() as reader:
        recorded = _keep(local, reader, place, operation, older)
        document = _document(local, reader, operation)
    return document | {"recorded": recorded, "redactions": redactions, "output": msgspec.to_builtins(said)}


def edge(agent: str, newer: str, older: str) -> Operation:
    """Say that one record of the index takes the place of another."""
    return Operation(
        id=edge_id(SUPERSEDES, newer, older),
        type=EDGE.name,
        agent=agent,
        set={"from": newer, "to": older, "relation": SUPERSEDES},
    )


def is_circle(reader: ProjectionReader, record: str, older: Sequence[str]) -> bool:
    """Tell whether a record would take the place of itself, or of one that took its own place."""
    seen, waiting = set(older), list(older)
    while waiting:
        found = {edge.target for edge in reader.edges_from(waiting, SUPERSEDES)} - seen
        seen |= found
        waiting = list(found)
    return record in seen


def _keep(
    local: Local, reader: ProjectionReader, place: Place, operation: Operation, older: Sequence[str]
) -> str:
    """Commit what is not there yet; say whether the statement was `new`, `already` there, or `restored`."""
    record = records.index_record_id(operation.type, operation.id)
    if is_circle(reader, record, older):
        raise BadInput(
            f"{record[:_SHOWN_DIGITS]} can't take the place of what takes its own place",
            hint="say it in other words, as a new statement",
        )
    known = _known(reader, operation.id, is_private=place.is_private)
    space = records.space_of(local, place) if known is None else known.space
    wanted = (operation, *(edge(operation.agent, record, other) for other in older))
    writes = [write for one in wanted if (write := _missing(reader, space, one)) is not None]
    if writes:
        records.commit(local, writes)
    if known is None:
        return "new"
    return "restored" if known.state.deleted else "already"


def _missing(reader: ProjectionReader, space: bytes, operation: Operation) -> Write | None:
    """Say what makes a record of content-derived id be there: nothing, its restoring, or its creation."""
    views = [view for view in reader.with_ids([operation.id]) if view.space == space]
    if not views:
        return Write(space=space, operation=operation, is_new=True)
    change = record_changes.restored(views[0].state, operation.agent)
    return None if change is None else Write(space=space, operation=change)


def _known(reader: ProjectionReader, key: str, *, is_private: bool) -> RecordView | None:
    """Find a statement where whoever says it now would look: what is shared doesn't become private again."""
    views = [view for view in reader.with_ids([key]) if is_private or view.space_kind != "private"]
    return min(views, key=lambda view: (view.state.deleted, view.space), default=None)


def _older(local: Local, given: Sequence[str]) -> list[str]:
    """Find the records to take the place of, each once; the index is level before it is asked."""
    if not given:
        return []
    if len(given) > SUPERSEDED_MAX:
        raise BadInput(
            f"one statement takes the place of at most {SUPERSEDED_MAX} records", hint="give fewer"
        )
    records.follow(local)
    return list(dict.fromkeys(_record(local, prefix.strip().lower()) for prefix in given))


def _record(local: Local, prefix: str) -> str:
    if not _PREFIX.fullmatch(prefix):
        raise BadInput(
            f"{prefix[:80]!r} is no record id",
            hint="give at least 4 of the 64 hexadecimal digits that `atrium search --json` prints",
        )
    with local.reader() as reader:
        found = reader.by_prefix(prefix)
    if not found:
        raise NotFound(f"no record begins with {prefix}, so nothing can take its place")
    if len(found) > 1:
        raise BadInput(f"several records begin with {prefix}", hint="give more digits of the record id")
    return found[0].record_id


def _document(local: Local, reader: ProjectionReader, operation: Operation) -> Document:
    """Describe the statement as it is now, and mirror it."""
    record = records.index_record_id(operation.type, operation.id)
    older = sorted({found.target for found in reader.edges_from([record], SUPERSEDES)})
    mirror.put_records(local.paths, reader, [operation.id])
    spaces = {view.space_kind for view in reader.with_ids([operation.id])}
    return {
        "schemaVersion": 1,
        "record_id": record,
        "job_key": operation.id,
        "conversation_id": ids.conversation_id(FILINGS[operation.type].source, operation.id),
        "workspace": operation.set["workspace"],
        "project": operation.set["project"],
        "private": spaces == {"private"},
        "supersedes": older,
        "superseded_by": records.newest_in(local, reader).of([record]).get(record),
    }
