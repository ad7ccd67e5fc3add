"""This node's identity: show it, back it up, put it back, and revoke its key.

The secrets never leave these functions but for the file of a backup; documents have public halves only.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput, IndexUnavailable, NotFound, StateBusy
from crdt.keys import fingerprint, node_id
from crdt.roster import Roster
from mesh import identity, identity_backup
from mesh.identity import Identity
from mesh.member_key import spell
from node.composition import open_local
from node.instants import iso_ms
from node.paths import write_error
from node.services.catalog import Document, Progress
from node.services.requests import Request
from node.services.space_requests import IdentityBackup, IdentityRestore, IdentityRevoke
from node.succession import Reach, reach_of

if TYPE_CHECKING:
    from node.composition import Local


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Show it; `{schemaVersion, node, fingerprint, key, created, nextKey, spaces, former}`.

    `key` is what another node's `spaces members add` takes.  `nextKey` tells where the promised key is.
    `former` are keys that wrote here before this one without being followed by it.
    """
    found = _load(local)
    spaces = _spaces(local)
    return {
        "schemaVersion": 1,
        **_names(found),
        "key": spell(found.public_key, found.next_commitment),
        "created": iso_ms(found.created_ms),
        "nextKey": "here" if found.has_next else "elsewhere",
        "spaces": [
            {"label": one.label, "id": one.space.hex(), "kind": one.kind, "owner": one.members[key].owner}
            for one in spaces
            for key in (found.public_key,)
            if key in one.members and not one.members[key].removed
        ],
        "former": sorted(
            node_id(one.owner) for one in spaces if one.kind == "private" and one.owner != found.public_key
        ),
    }


def backup(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Write both keys to a new file; `{schemaVersion, output, sealed, nextKey, node, fingerprint}`.

    With `take_next` the promised key is taken off this machine, after the file is durable.
    """
    if not isinstance(request, IdentityBackup):
        raise TypeError(request)
    found = _load(local)
    target = Path(request.path)
    if local.paths.root.resolve() in target.resolve().parents:
        raise BadInput(
            "a backup in the state directory is lost with it", hint="name a file on another disk or machine"
        )
    if request.take_next and not found.has_next:
        raise NotFound("the promised key is not on this machine any more", hint="leave out --take-next")
    try:
        identity_backup.write(target, found, request.passphrase)
    except OSError as error:
        raise write_error(error, target) from error
    if request.take_next:
        found = found.without_next()
        identity.replace(local.paths.identity, found)
    return {
        "schemaVersion": 1,
        **_names(found),
        "output": str(target),
        "sealed": request.passphrase is not None,
        "nextKey": "here" if found.has_next else "elsewhere",
    }


def restore(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Put a backup's key where there is none; `{schemaVersion, restored, node, fingerprint, nextKey}`.

    The same key is there already: nothing is done.  Another one: raises `BadInput`.
    """
    if not isinstance(request, IdentityRestore):
        raise TypeError(request)
    kept = identity_backup.read(Path(request.path), request.passphrase)
    if request.leave_next:
        kept = kept.without_next()
    is_new = True
    try:
        identity.create(local.paths.identity, kept)
    except FileExistsError:
        present = identity.load(local.paths.identity)
        if present.public_key != kept.public_key:
            raise BadInput(
                "this node has another key already, which signed what is here",
                hint="use another state directory (ATRIUM_STATE), or move identity.key away first",
            ) from None
        is_new, kept = False, present
    return {
        "schemaVersion": 1,
        **_names(kept),
        "restored": is_new,
        "nextKey": "here" if kept.has_next else "elsewhere",
    }


def revoke(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001
    """Put the promised key in the present one's place, or tell what that would do.

    `{schemaVersion, applied, old, new, spaces, unpromised}`; spaces are labels with ids.
    """
    if not isinstance(request, IdentityRevoke):
        raise TypeError(request)
    present = _load(local)
    old = present.replaces or present.public_key
    heir = present if present.replaces is not None else _heir(present, request)
    reach = _reach(local, old, heir)
    if request.apply:
        _take_over(local, present, heir)
    return {
        "schemaVersion": 1,
        "applied": request.apply,
        "old": {"node": node_id(old), "fingerprint": fingerprint(old)},
        "new": _names(heir),
        "spaces": [{"label": one.label, "id": one.space.hex()} for one in reach.inherited],
        "unpromised": [{"label": one.label, "id": one.space.hex()} for one in reach.unpromised],
    }


def _load(local: Local) -> Identity:
    try:
        return identity.load(local.paths.identity)
    except FileNotFoundError as error:
        raise NotFound(
            "this node has no key yet", hint="the first capture makes one: `atrium up`, or `atrium capture`"
        ) from error


def _heir(present: Identity, request: IdentityRevoke) -> Identity:
    """Make the identity that comes after, by the promised key here or in a backup."""
    if request.source is None:
        return present.successor()
    kept = identity_backup.read(Path(request.source), request.passphrase)
    if (kept.public_key, kept.next_commitment) != (present.public_key, present.next_commitment):
        raise BadInput(
            f"this is the backup of another key ({fingerprint(kept.public_key)})",
            hint=f"the key of this node is {fingerprint(present.public_key)}",
        )
    return kept.successor()


def _spaces(local: Local) -> list[Roster]:
    try:
        return list(local.feeds.spaces().values())
    except IndexUnavailable:
        return []


def _reach(local: Local, old: bytes, heir: Identity) -> Reach:
    """Tell which spaces are concerned, by a reader's eyes: a writer would already sign with a key."""
    with closing(open_local(local.config, writable=False)) as reading:
        try:
            return reach_of(reading.feeds, old, heir.public_key)
        except IndexUnavailable:
            return Reach(inherited=[], unpromised=[])


def _take_over(local: Local, present: Identity, heir: Identity) -> None:
    """Make the heir this node's key; opening the feeds then tells every space, now or after a crash."""
    if local.served_by == "node":
        raise StateBusy(
            "the running node signs with the key that is to be revoked",
            hint="`atrium down`, then the same command again",
        )
    if present is not heir:
        identity.replace(local.paths.identity, heir)
    local.feeds.head()


def _names(found: Identity) -> dict[str, object]:
    return {"node": node_id(found.public_key), "fingerprint": fingerprint(found.public_key)}
