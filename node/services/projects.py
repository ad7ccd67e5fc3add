"""Projects: what several agents work on together, who owns it, and who takes part.

A project that nobody made is closed: only its own workspace knows it.  Whoever may moderate a space makes
its projects; the label is their name, so that two nodes that make one at the same time make the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from crdt.errors import BadInput, IndexUnavailable, NotAllowed, NotFound
from crdt.operations import Operation, Value
from crdt.projects import project_id
from node.instants import iso_ms
from node.services import records
from node.services.catalog import Document, Progress
from node.services.requests import Request
from node.services.space_names import find_space, refuse_secret
from node.services.space_requests import ProjectCreate, ProjectMembers, ProjectShow, ProjectsRequest

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local

TYPE = "project"
LABEL_CHARS_MAX = 128
PROJECTS_MAX = 500
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\]")
_MEMBER = re.compile(r"[A-Za-z0-9_-]{1,64}@[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
_NOW = (1 << 63) - 1
"""As a reading of the clock: after everything that was ever said."""


def overview(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List the projects; `{schemaVersion, projects: [{label, id, space, owner, members, open, …}]}`."""
    if not isinstance(request, ProjectsRequest):
        raise TypeError(request)
    try:
        with local.projection() as reader:
            views = _all(reader, _spaces(local, request.space))
            projects = [_project(view) for view in views]
    except IndexUnavailable:
        projects = []
    projects.sort(key=lambda project: (str(project["label"]), str(project["space"])))
    return {"schemaVersion": 1, "projects": projects}


def show(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Show one; `{schemaVersion, project}`.  Raises `BadInput` where several spaces have it."""
    if not isinstance(request, ProjectShow):
        raise TypeError(request)
    with local.projection() as reader:
        view = _found(reader, request.label, _spaces(local, request.space))
        return {"schemaVersion": 1, "project": _project(view)}


def create(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Make a project, or open or close one that is there; `{schemaVersion, created, changed, project}`.

    It belongs to this node's home unless another space is named.  Raises `NotAllowed` where this node may
    not moderate.
    """
    if not isinstance(request, ProjectCreate):
        raise TypeError(request)
    label = refuse_secret(local.redactor, checked_label(request.label))
    agent = records.checked_agent(request.agent)
    space = local.feeds.home() if request.space is None else find_space(local.feeds, request.space)
    with records.changing(local) as reader:
        present = _present(reader, label, space)
        is_there = present is not None and not present.state.deleted
        if present is not None and is_there and request.is_open in (None, present.field("open")):
            return _done(present, created=False, changed=False)
        wanted: dict[str, Value] = {"open": bool(request.is_open)}
        if present is None:
            name = records.speaker_of(local, space, (local.feeds.author(), agent, None))
            wanted |= {"label": label, "owner": "@".join(name), "members": []}
        _commit(local, space, label, _Change(agent=agent, fields=wanted, present=present))
    return _after(local, label, space, created=not is_there)


def add_members(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Let agents take part in a project; `{schemaVersion, created, changed, project}`."""
    return _change_members(local, request, is_leaving=False)


def remove_members(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """End the part of agents in a project; `{schemaVersion, created, changed, project}`."""
    return _change_members(local, request, is_leaving=True)


def checked_label(label: str) -> str:
    """Give a project's label as it is compared: trimmed, in lower case; raises `BadInput`."""
    folded = label.strip().lower()
    if not folded or len(folded) > LABEL_CHARS_MAX or _UNUSABLE.search(folded):
        raise BadInput(
            f"{label[:80]!a} can't be a project's label",
            hint=f"give at most {LABEL_CHARS_MAX} characters without slashes",
        )
    return folded


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about a project, by whom, and how it is now."""

    agent: str
    fields: dict[str, Value]
    present: RecordView | None


def _change_members(local: Local, request: Request, *, is_leaving: bool) -> Document:
    if not isinstance(request, ProjectMembers):
        raise TypeError(request)
    named = [_checked_member(member) for member in request.members]
    agent = records.checked_agent(request.agent)
    with records.changing(local) as reader:
        present = _found(reader, request.label, _spaces(local, request.space))
        before = _texts(present.field("members"))
        after = [name for name in before if not (is_leaving and name in named)]
        if not is_leaving:
            after += [name for name in dict.fromkeys(named) if name not in before]
        if after == before:
            return _done(present, created=False, changed=False)
        label = str(present.field("label"))
        change = _Change(agent=agent, fields={"members": after}, present=present)
        _commit(local, present.space, label, change)
    return _after(local, label, present.space, created=False)


def _commit(local: Local, space: bytes, label: str, change: _Change) -> None:
    found = local.feeds.roster(space)
    if not found.may(local.feeds.author(), "moderate", _NOW):
        raise NotAllowed(
            f"this node may not moderate the space `{found.label}`",
            hint="ask an owner of the space for the right to moderate",
        )
    operation = Operation(
        id=project_id(label),
        type=TYPE,
        agent=change.agent,
        set=change.fields,
        base=[] if change.present is None else change.present.state.heads,
        deleted=False if change.present is not None and change.present.state.deleted else None,
    )
    records.commit(local, [records.Write(space=space, operation=operation, is_new=change.present is None)])


def _after(local: Local, label: str, space: bytes, *, created: bool) -> Document:
    with local.projection() as reader:
        return _done(reader.get(project_id(label), space=space), created=created, changed=True)


def _done(view: RecordView, *, created: bool, changed: bool) -> Document:
    return {"schemaVersion": 1, "created": created, "changed": changed, "project": _project(view)}


def _spaces(local: Local, named: str | None) -> tuple[bytes, ...]:
    """Name the spaces to look in; none stand for all."""
    return () if named is None else (find_space(local.feeds, named),)


def _all(reader: ProjectionReader, spaces: tuple[bytes, ...]) -> list[RecordView]:
    from crdt.projection_filters import RecordFilter

    return reader.list_records(RecordFilter(types=(TYPE,), spaces=spaces), limit=PROJECTS_MAX).records


def _found(reader: ProjectionReader, label: str, spaces: tuple[bytes, ...]) -> RecordView:
    """Find a project that is not deleted by its label."""
    wanted = project_id(checked_label(label))
    try:
        view = reader.get(wanted, space=spaces[0] if spaces else None, types=(TYPE,))
    except NotFound:
        view = None
    if view is None or view.state.deleted:
        raise NotFound(
            f"there is no project {label[:80]!a}", hint="run `atrium project list` to see which there are"
        )
    return view


def _present(reader: ProjectionReader, label: str, space: bytes) -> RecordView | None:
    try:
        return reader.get(project_id(label), space=space, types=(TYPE,))
    except NotFound:
        return None


def _project(view: RecordView) -> Document:
    return {
        "label": view.field("label"),
        "id": view.id,
        "space": view.space_label,
        "spaceId": view.space.hex(),
        "owner": view.field("owner"),
        "members": _texts(view.field("members")),
        "open": view.field("open") is True,
        "created": iso_ms(view.created_ms),
        "updated": iso_ms(view.updated_ms),
        "version": view.state.version,
    }


def _texts(value: Value) -> list[str]:
    return list(value) if isinstance(value, list) else []


def _checked_member(name: str) -> str:
    if _MEMBER.fullmatch(name) is None:
        raise BadInput(f"{name[:80]!a} is no agent on a node", hint="name members as agent@node")
    return name
