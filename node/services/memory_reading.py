"""Reading shared memory: one entry, lists, every version, and what nobody has decided between.

Reading changes nothing: no rank, no confidence, no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crdt.clock import milliseconds_of, wall_ms
from crdt.errors import NotFound
from crdt.projection_filters import LIMIT_MAX, RecordFilter
from crdt.projection_reader import Page
from node.instants import iso_ms
from node.services.catalog import Document, Progress
from node.services.memory_entries import MEMORY, Entries
from node.services.memory_requests import MemoryConflicts, MemoryGet, MemoryHistory, MemoryList
from node.services.questions import checked_number
from node.services.records import found, looking, speaker_of
from node.services.requests import Request

if TYPE_CHECKING:
    from crdt.projection_history import Version
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local


def get(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Give one entry, a deleted one too; raises `NotFound`, or `BadInput` when several ids begin so."""
    if not isinstance(request, MemoryGet):
        raise TypeError(request)
    with looking(local) as reader:
        view = _found(reader, request.id)
        return {"schemaVersion": 1, **Entries(local, reader, wall_ms()).document(view)}


def list_(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List entries, those changed last first; `{schemaVersion, items, cursor}`."""
    if not isinstance(request, MemoryList):
        raise TypeError(request)
    now_ms = wall_ms()
    wanted = RecordFilter(
        types=(MEMORY,),
        kinds=_one(request.type),
        tags=_one(request.tag),
        projects=_one(request.project and request.project.strip().lower()),
        agents=_one(request.agent),
        conflicts=request.conflicts,
        include_deleted=request.deleted,
        as_of_ms=now_ms,
    )
    limit = checked_number("limit", request.limit, 1, LIMIT_MAX)
    with looking(local) as reader:
        if reader is None:
            return {"schemaVersion": 1, "items": [], "cursor": None}
        page = reader.list_records(wanted, limit=limit, cursor=request.cursor)
        items = Entries(local, reader, now_ms).documents(page.records)
    return {"schemaVersion": 1, "items": items, "cursor": page.cursor}


def history(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Give every version of an entry, oldest first; `{schemaVersion, id, content, heads, deleted, items}`.

    `heads` are what a change has to name to have seen all of this.
    """
    if not isinstance(request, MemoryHistory):
        raise TypeError(request)
    with looking(local) as reader:
        view = _found(reader, request.id)
        items = [_version(local, view, one) for one in reader.history(view)] if reader else []
    return {
        "schemaVersion": 1,
        "id": view.id,
        "version": view.state.version,
        "content": view.state.text or "",
        "heads": [head.hex() for head in view.state.heads],
        "deleted": view.state.deleted,
        "items": items,
    }


def conflicts(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List entries with several texts; `{schemaVersion, items: [{id, deleted, versions}], cursor}`.

    Served texts come first.  An entry that has been decided is listed only when it is asked for.
    """
    if not isinstance(request, MemoryConflicts):
        raise TypeError(request)
    with looking(local) as reader:
        if request.id is not None:
            page = Page([_found(reader, request.id)], None)
        elif reader is None:
            page = Page([], None)
        else:
            wanted = RecordFilter(types=(MEMORY,), conflicts=True, include_deleted=True)
            limit = checked_number("limit", request.limit, 1, LIMIT_MAX)
            page = reader.list_records(wanted, limit=limit, cursor=request.cursor)
        items = [_texts(local, reader, view) for view in page.records if reader is not None]
    return {"schemaVersion": 1, "items": items, "cursor": page.cursor}


def _found(reader: ProjectionReader | None, identity: str) -> RecordView:
    if reader is None:
        raise NotFound("nothing is kept here yet", hint='run `atrium memory add "…"`')
    return found(reader, identity, MEMORY)


def _texts(local: Local, reader: ProjectionReader, view: RecordView) -> Document:
    """Give the texts of an entry, the served one first; of a tombstone, those its deletion had not seen."""
    served = [] if view.state.deleted else _served(local, reader, view)
    beside = Entries(local, reader, 0).conflicts(view)
    return {"id": view.id, "deleted": view.state.deleted, "versions": [*served, *beside]}


def _served(local: Local, reader: ProjectionReader, view: RecordView) -> list[Document]:
    """Give the served text with whose it is, the newer one's where two were merged."""
    state = view.state
    said = [
        version
        for version in reader.history(view)
        if version.stamped.hash in state.text_heads and version.stamped.author == state.text_author
    ]
    return [{**_signed(local, view, version), "content": state.text or ""} for version in said[-1:]]


def _version(local: Local, view: RecordView, version: Version) -> Document:
    operation = version.stamped.operation
    document: Document = {
        "version": version.number,
        **_signed(local, view, version),
        "base": [base.hex() for base in operation.base],
        "set": operation.set,
        "tags_added": operation.tag,
        "tags_removed": sorted({tag for tag, _ in operation.untag}),
    }
    if operation.text is not None:
        document["content"] = operation.text
    if operation.deleted is not None:
        document["deleted"] = operation.deleted
    return document


def _signed(local: Local, view: RecordView, version: Version) -> Document:
    """Say which entry a version is, whose, and of when."""
    stamped = version.stamped
    agent, node = speaker_of(
        local, view.space, (stamped.author, stamped.operation.agent, stamped.operation.by)
    )
    return {
        "hash": stamped.hash.hex(),
        "agent": agent,
        "node": node,
        "at": iso_ms(milliseconds_of(version.clock)),
    }


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()
