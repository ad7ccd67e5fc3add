"""Spaces: what there is, who belongs to it, and who may say so.

A space is the unit of sharing.  What changes a roster is an entry signed by this node's key; the roster tells
beforehand whether it would apply, so that nothing is signed in vain.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from crdt import roster
from crdt.clock import milliseconds_of, wall_ms
from crdt.departure import departure_of
from crdt.entries import ZERO, Draft, EntryKind
from crdt.errors import BadInput, IndexUnavailable, NotAllowed, NotFound
from crdt.keys import fingerprint, node_id
from crdt.projection_filters import RecordFilter
from crdt.roster import RIGHTS, Add, Genesis, Member, Remove, Right, Roster
from mesh.member_key import MemberKey, parse
from node.instants import iso_ms
from node.services.catalog import Document, Progress
from node.services.requests import Request
from node.services.space_names import (
    check_label,
    check_node_name,
    find_space,
    name_in,
    own_key,
    refuse_secret,
)
from node.services.space_requests import MemberAdd, MemberRemove, PrivateRequest, SpaceCreate, SpaceMembers

if TYPE_CHECKING:
    from crdt.projection_reader import RecordView
    from crdt.store import FeedStore
    from node.composition import Local

HEADLINE_CHARS = 100
OWN_LABELS = ("home", "private")
ALL_RIGHTS: tuple[Right, ...] = ("read", "append", "moderate")
USUAL_RIGHTS: tuple[Right, ...] = ("read", "append")
"""In a space that is not one person's machines."""


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List them; `{schemaVersion, spaces: [{label, id, kind, owner, members, entries, …}]}`."""
    try:
        feeds = local.feeds
    except IndexUnavailable:
        return {"schemaVersion": 1, "spaces": []}
    counts = Counter[bytes]()
    for head in feeds.heads():
        counts[head.feed.space] += head.count
    own = own_key(local)
    listed = [_space(found, own, counts[space]) for space, found in feeds.spaces().items()]
    order = {"home": 0, "private": 1, "space": 2}
    listed.sort(key=lambda space: (not space["mine"], order[str(space["kind"])], space["label"], space["id"]))
    return {"schemaVersion": 1, "spaces": listed}


def create(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Make a space; `{schemaVersion, created, space}`.  One that this node made before is that one."""
    if not isinstance(request, SpaceCreate):
        raise TypeError(request)
    label = refuse_secret(local.redactor, check_label(request.label))
    if label in OWN_LABELS:
        raise BadInput(f"every node has its own `{label}`", hint="take another label")
    with local.records_lock:
        feeds, own = local.feeds, local.identity.public_key
        present = [found for found in feeds.spaces().values() if found.label == label]
        for found in present:
            if found.owner == own:
                return {"schemaVersion": 1, "created": False, "space": _one(feeds, found.space, own)}
        if present:
            owner = name_in(present[0], present[0].owner)
            raise BadInput(f"`{label}` is a space of {owner} already", hint="take another label")
        home = feeds.roster(feeds.home())
        body = Genesis(
            label=label,
            kind="space",
            name=name_in(home, own),
            next=local.identity.next_commitment,
            made_ms=wall_ms(),
        )
        draft = Draft(space=ZERO, kind=EntryKind.GENESIS, body=roster.encode(body))
        made = feeds.write([draft])[-1].entry.hash
        return {"schemaVersion": 1, "created": True, "space": _one(feeds, made, own)}


def members(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """List the members of one space, former ones too; `{schemaVersion, space}`."""
    if not isinstance(request, SpaceMembers):
        raise TypeError(request)
    space = find_space(local.feeds, request.space)
    return {"schemaVersion": 1, "space": _one(local.feeds, space, own_key(local), with_former=True)}


def add_member(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Make a node a member, or change its rights; `{schemaVersion, changed, space, member}`.

    Raises `NotAllowed` where this node is no owner of the space, or not senior to the one to be changed.
    """
    if not isinstance(request, MemberAdd):
        raise TypeError(request)
    joining = parse(request.key)
    refuse_secret(local.redactor, request.name or "")
    with local.records_lock:
        space = find_space(local.feeds, request.space)
        found = local.feeds.roster(space)
        added = _wanted(found, joining, request)
        is_new = not _stands_so(found.members.get(joining.key), added)
        if is_new:
            _refuse_stranger(found, local.identity.public_key)
            if not found.may_add(local.identity.public_key, joining.key):
                raise NotAllowed(f"this node can't change that member of `{found.label}`", hint=_OWNERS)
            _say(local.feeds, space, added)
    return _changed(local, space, joining.key, is_new=is_new)


def remove_member(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """End a membership; `{schemaVersion, changed, space, member}`.

    What the member said counts as far as it is here now; what it may say later is void everywhere.  Raises
    `NotAllowed` as `add_member` does.
    """
    if not isinstance(request, MemberRemove):
        raise TypeError(request)
    with local.records_lock:
        feeds, own = local.feeds, local.identity.public_key
        space = find_space(feeds, request.space)
        found = feeds.roster(space)
        key = find_member(found, request.key)
        is_new = not found.members[key].removed
        if is_new:
            if key != own:
                _refuse_stranger(found, own)
            _refuse_last_owner(found, key)
            if not found.may_remove(own, key):
                raise NotAllowed(f"this node can't remove that member of `{found.label}`", hint=_OWNERS)
            cut, ends = departure_of(feeds, space, key)
            _say(feeds, space, Remove(member=key, cut=cut, said=found.said_by(key), ends=ends))
    return _changed(local, space, key, is_new=is_new)


def private(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Tell what lies in the space that never leaves this machine, newest first.

    `{schemaVersion, space, records: [{id, type, kind, headline, updated}]}`; `space` is None where none is.
    """
    if not isinstance(request, PrivateRequest):
        raise TypeError(request)
    try:
        space = local.feeds.private()
        with local.projection() as reader:
            wanted = RecordFilter(spaces=(space,))
            records = [_record(view) for view in reader.list_records(wanted, limit=request.limit).records]
    except (IndexUnavailable, NotFound):
        return {"schemaVersion": 1, "space": None, "records": []}
    return {"schemaVersion": 1, "space": _one(local.feeds, space, own_key(local)), "records": records}


def find_member(found: Roster, named: str) -> bytes:
    """Find who is or was a member, by its key or its name; raises `NotFound` and `BadInput`."""
    by_name = [key for key, member in found.members.items() if member.name == named]
    if len(by_name) > 1:
        raise BadInput(f"several members of `{found.label}` are named {named[:80]!a}", hint="give the key")
    key = by_name[0] if by_name else parse(named).key
    if not found.knows(key):
        hint = f"run `atrium spaces members {found.label}`"
        raise NotFound(f"{node_id(key)[:8]} is no member of `{found.label}`", hint=hint)
    return key


_OWNERS = "its owners are listed by `atrium spaces members`; ask a senior one"


def _wanted(found: Roster, joining: MemberKey, request: MemberAdd) -> Add:
    """Word what is asked for, with what is usual in such a space."""
    if found.kind == "private":
        raise BadInput(
            "the private space is this node's alone", hint="make one: `atrium spaces create LABEL`"
        )
    unknown = sorted(set(request.rights) - RIGHTS)
    if unknown:
        raise BadInput(f"{unknown[0][:80]!a} is no right", hint=f"the rights are {', '.join(ALL_RIGHTS)}")
    present = found.members.get(joining.key)
    is_home = found.kind == "home"
    usual = ALL_RIGHTS if is_home else USUAL_RIGHTS
    given = cast("tuple[Right, ...]", request.rights)
    usual_name = present.name if present is not None else node_id(joining.key)[:8]
    name = usual_name if request.name is None else check_node_name(request.name)
    return Add(
        member=joining.key,
        rights=[right for right in ALL_RIGHTS if right in (given or usual)],
        owner=is_home and not given,
        name=name,
        next=joining.promise,
    )


def _stands_so(present: Member | None, added: Add) -> bool:
    return (
        present is not None
        and not present.removed
        and (present.rights, present.owner, present.name)
        == (frozenset(added.rights), added.owner, added.name)
    )


def _refuse_stranger(found: Roster, own: bytes) -> None:
    """Hold the roster to its owners."""
    present = found.members.get(own)
    if present is None or not present.owner:
        raise NotAllowed(f"this node is no owner of `{found.label}`", hint=_OWNERS)


def _refuse_last_owner(found: Roster, key: bytes) -> None:
    owners = [other for other, member in found.members.items() if member.owner]
    if owners == [key]:
        raise BadInput(
            f"nobody else owns `{found.label}`", hint="a space without an owner could never change again"
        )


def _say(feeds: FeedStore, space: bytes, operation: Add | Remove) -> None:
    feeds.write([Draft(space=space, kind=EntryKind.ROSTER, body=roster.encode(operation))])


def _changed(local: Local, space: bytes, key: bytes, *, is_new: bool) -> Document:
    own = local.identity.public_key
    found = local.feeds.roster(space)
    return {
        "schemaVersion": 1,
        "changed": is_new,
        "space": _one(local.feeds, space, own),
        "member": _member(key, found.members[key], own),
    }


def _one(feeds: FeedStore, space: bytes, own: bytes | None, *, with_former: bool = False) -> Document:
    count = sum(head.count for head in feeds.heads(space))
    return _space(feeds.roster(space), own, count, with_former=with_former)


def _space(found: Roster, own: bytes | None, entries: int, *, with_former: bool = False) -> Document:
    standing = found.members.get(own) if own is not None else None
    return {
        "label": found.label,
        "id": found.space.hex(),
        "kind": found.kind,
        "mine": found.owner == own,
        "rights": _rights(standing) if standing is not None else [],
        "owner": {
            "node": node_id(found.owner),
            "fingerprint": fingerprint(found.owner),
            "name": name_in(found, found.owner),
        },
        "members": [
            _member(key, member, own)
            for key, member in found.members.items()
            if with_former or not member.removed
        ],
        "entries": entries,
        "alias": None if found.alias is None else found.alias.hex(),
    }


def _member(key: bytes, member: Member, own: bytes | None) -> Document:
    return {
        "node": node_id(key),
        "fingerprint": fingerprint(key),
        "name": member.name,
        "rights": _rights(member),
        "owner": member.owner,
        "removed": member.removed,
        "since": iso_ms(milliseconds_of(member.since_hlc)) if member.since_hlc else None,
        "self": key == own,
    }


def _record(view: RecordView) -> Document:
    said = view.field("headline") or view.field("title") or view.state.text or ""
    first = str(said).strip().partition("\n")[0]
    return {
        "id": view.id,
        "type": view.type,
        "kind": view.field("kind"),
        "headline": first[:HEADLINE_CHARS],
        "updated": iso_ms(view.updated_ms),
    }


def _rights(member: Member) -> list[str]:
    return [right for right in ALL_RIGHTS if right in member.rights]
