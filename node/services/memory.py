"""Entries of shared memory: adding, changing, deleting, accepting.

Nothing is ever overwritten: each change is an operation that names what it has seen, so that two at once are
both kept, merged or as a visible conflict.  A change that would change nothing writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from crdt.clock import wall_ms
from crdt.errors import BadInput
from crdt.memory_kinds import KINDS, SCOPES
from crdt.operations import TEXT_BYTES_MAX, Operation, Value
from node.instants import seconds_of
from node.services import record_changes, records
from node.services.catalog import Document, Progress
from node.services.memory_entries import DIRECTIVE, MEMORY, Entries, accepted_sha256
from node.services.memory_requests import (
    MemoryAccept,
    MemoryAdd,
    MemoryDelete,
    MemoryEdit,
    MemoryRestore,
    MemoryRevert,
    MemoryTag,
)
from node.services.records import Place, Write, checked_agent
from node.services.requests import Request

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local

EDITABLE = frozenset({"type", "project", "confidence", "expires_at", "parents", "headline"})
"""Fields that an edit may set; scope and space say where a record lives, and it stays there."""
PRIVATE_SCOPE = "agent"
DOCUMENT = "doc"


def add(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Keep a text; its entry.  Raises `BadInput` that names what can't be used, `NotFound` for a parent.

    An entry can't be over when it is made; an edit may say that it is.
    """
    if not isinstance(request, MemoryAdd):
        raise TypeError(request)
    fields = _fields(
        local,
        {
            "type": request.type,
            "project": request.project,
            "confidence": request.confidence,
            "expires_at": request.expires_at,
            "parents": list(request.parents) or None,
            "headline": request.headline,
            "scope": _chosen("scope", request.scope, SCOPES),
            "collaborative": request.collaborative or None,
        },
    )
    if isinstance(expires := fields["expires_at"], int) and expires <= wall_ms():
        raise BadInput(
            f"{request.expires_at} is over, so it would be stale from the beginning",
            hint="give a later instant, or leave it out",
        )
    operation = record_changes.created(
        local.feeds.author(),
        Operation(
            id="",
            type=MEMORY,
            agent=checked_agent(request.agent),
            text=checked_text(request.text),
            tag=checked_tags(request.tags),
            set={name: value for name, value in fields.items() if value is not None},
        ),
    )
    place = Place(
        space=request.space,
        project=request.project,
        is_private=request.private or request.scope == PRIVATE_SCOPE,
    )
    space = records.space_of(local, place)
    if request.collaborative:
        if request.type != DOCUMENT:
            raise BadInput("only a doc is edited by several people at once", hint="give it the type doc")
        operation = records.collaborative(local, space, operation)
    return _entry(local, None, records.create(local, space, operation))


def edit(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Change the text or fields of an entry; a new text decides every conflict that there was."""
    if not isinstance(request, MemoryEdit):
        raise TypeError(request)
    unknown = sorted(request.fields.keys() - EDITABLE)
    if unknown:
        raise BadInput(f"an edit can't set `{unknown[0]}`", hint=f"it sets {', '.join(sorted(EDITABLE))}")
    text = None if request.text is None else checked_text(request.text)
    agent = checked_agent(request.agent)
    fields = _fields(local, request.fields)
    with records.changing(local) as reader:
        view = _present(reader, request.id)
        records.refuse_other_version(view, request.if_version)
        _refuse_unsure_directive({**view.state.fields, **fields})
        change = record_changes.edited(view.state, agent, text, fields)
        if change is not None and request.base:
            change = msgspec.structs.replace(change, base=_hashes(request.base))
        return _changed(local, reader, view, change)


def tag(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Add tags to an entry and remove tags from it."""
    if not isinstance(request, MemoryTag):
        raise TypeError(request)
    add, remove = checked_tags(request.add), checked_tags(request.remove)
    with records.changing(local) as reader:
        view = _present(reader, request.id)
        change = record_changes.tagged(view.state, checked_agent(request.agent), add, remove)
        return _changed(local, reader, view, change)


def delete(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Delete entries, all or none; `{schemaVersion, items: [{id, deleted}]}`."""
    if not isinstance(request, MemoryDelete):
        raise TypeError(request)
    if not request.ids:
        raise BadInput("no entry is named", hint="name those to delete by their ids")
    agent = checked_agent(request.agent)
    with records.changing(local) as reader:
        views = {view.id: view for view in (_found(reader, identity) for identity in request.ids)}
        for view in views.values():
            records.refuse_other_version(view, request.if_version)
            records.refuse_foreign(local, view)
        changes = [(view, record_changes.deleted(view.state, agent)) for view in views.values()]
        writes = [Write(space=view.space, operation=change) for view, change in changes if change is not None]
        if writes:
            records.commit(local, writes)
    return {"schemaVersion": 1, "items": [{"id": identity, "deleted": True} for identity in views]}


def restore(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Bring a deleted entry back, with every text that stood when it was deleted."""
    if not isinstance(request, MemoryRestore):
        raise TypeError(request)
    agent = checked_agent(request.agent)
    with records.changing(local) as reader:
        view = _found(reader, request.id)
        return _changed(local, reader, view, record_changes.restored(view.state, agent))


def revert(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Make an earlier version the newest one; raises `NotFound` for a version that never was."""
    if not isinstance(request, MemoryRevert):
        raise TypeError(request)
    agent = checked_agent(request.agent)
    with records.changing(local) as reader:
        view = _found(reader, request.id)
        records.refuse_other_version(view, request.if_version)
        earlier = reader.state_at(view, request.version)
        return _changed(local, reader, view, record_changes.reverted(view.state, agent, earlier))


def accept(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Make a directive active on this node, with exactly its present text and standing; its entry."""
    if not isinstance(request, MemoryAccept):
        raise TypeError(request)
    with records.changing(local) as reader:
        view = _present(reader, request.id)
        if view.field("kind") != DIRECTIVE:
            raise BadInput(f"{view.id} is a {view.field('kind')}, and only directives are accepted")
        local.local_store.accept(view.space, view.id, accepted_sha256(view))
        return _entry(local, reader, view)


def checked_text(text: str) -> str:
    """Check a content; raises `BadInput` for a blank one and for more than an entry can hold."""
    if not text.strip():
        raise BadInput("there is no text", hint="give the text as an argument or on standard input")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > TEXT_BYTES_MAX:
        raise BadInput(
            f"an entry holds at most {TEXT_BYTES_MAX >> 10} KiB, this text has {-(-size >> 10)}",
            hint="cut it into several entries, or keep it as a note",
        )
    return text


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Give tags trimmed, each once; raises `BadInput` for one that is blank or has several lines."""
    trimmed = list(dict.fromkeys(tag.strip() for tag in tags))
    for tag in trimmed:
        if not tag or not tag.isprintable():
            raise BadInput(f"{tag[:80]!a} can't be a tag", hint="a tag is text on one line")
    return trimmed


def _changed(local: Local, reader: ProjectionReader, view: RecordView, change: Operation | None) -> Document:
    return _entry(local, reader, records.change(local, reader, view, change))


def _entry(local: Local, reader: ProjectionReader | None, view: RecordView) -> Document:
    return {"schemaVersion": 1, **Entries(local, reader, wall_ms()).document(view)}


def _found(reader: ProjectionReader, identity: str) -> RecordView:
    return records.found(reader, identity, MEMORY)


def _present(reader: ProjectionReader, identity: str) -> RecordView:
    view = _found(reader, identity)
    if view.state.deleted:
        raise BadInput(f"{view.id} is deleted", hint=f"run `atrium memory restore {view.id}` first")
    return view


def _fields(local: Local, given: Mapping[str, Value]) -> dict[str, Value]:
    """Turn what people say of an entry into the fields of its record."""
    fields = dict(given)
    if "type" in fields:
        fields["kind"] = _chosen("type", fields.pop("type"), KINDS)
    if isinstance(project := fields.get("project"), str):
        fields["project"] = project.strip().lower() or None
    if isinstance(expires := fields.get("expires_at"), str):
        fields["expires_at"] = _milliseconds(expires)
    if isinstance(parents := fields.get("parents"), list):
        fields["parents"] = _parents(local, parents)
    _refuse_unsure_directive(fields)
    return {**fields, "confidence": 1.0} if fields.get("kind") == DIRECTIVE else fields


def _parents(local: Local, identities: Sequence[str]) -> list[str]:
    with local.projection() as reader:
        return [records.found(reader, identity).id for identity in identities]


def _milliseconds(instant: str) -> int:
    seconds = seconds_of(instant)
    if seconds is None:
        raise BadInput(f"{instant[:80]!a} is no instant", hint="write it as 2026-12-31T00:00:00Z")
    return int(seconds * 1000)


def _chosen(name: str, value: Value, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise BadInput(f"`{name}` can't be {str(value)[:80]!a}", hint=f"it is one of {', '.join(known)}")
    return value


def _refuse_unsure_directive(fields: Mapping[str, Value]) -> None:
    if fields.get("kind") == DIRECTIVE and fields.get("confidence") not in (None, 1):
        raise BadInput(
            "a directive is as sure as can be, or none", hint="leave the confidence out, or keep it as memory"
        )


def _hashes(spelled: Sequence[str]) -> list[bytes]:
    try:
        return [bytes.fromhex(text) for text in spelled]
    except ValueError:
        raise BadInput("`base` names entries by their hashes", hint="take `heads` of the history") from None
