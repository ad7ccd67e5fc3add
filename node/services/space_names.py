"""Which space somebody means, and who this node is in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crdt.errors import BadInput, NotFound

if TYPE_CHECKING:
    from archivist.redact import Redactor
    from crdt.roster import Roster
    from crdt.store import FeedStore
    from node.composition import Local

LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
"""What stands behind the `@` of `agent@node`."""
_ID = re.compile(r"[0-9a-f]{4,64}", re.ASCII)
_LIST = "run `atrium spaces` to see which there are"


def check_label(label: str) -> str:
    """Give a label as it is; raises `BadInput` for one that no space can have."""
    if LABEL.fullmatch(label) is None:
        raise BadInput(
            f"{label[:80]!a} can't be a label",
            hint="a label is at most 63 of a-z, 0-9, `.`, `_`, `-` and begins with a letter or digit",
        )
    return label


def check_node_name(name: str) -> str:
    """Give a node's name as it is; raises `BadInput` for one that can't stand in `agent@node`."""
    if NODE_NAME.fullmatch(name) is None:
        raise BadInput(
            f"{name[:80]!a} can't be a node's name",
            hint="a name is at most 63 letters, digits, `.`, `_` and `-`",
        )
    return name


def refuse_secret(redactor: Redactor, name: str) -> str:
    """Give a name as it is; raises `BadInput` for one with a secret in it.

    A name can't be redacted as a text is: it is signed as it was given, or not at all.
    """
    if redactor.redact(name)[1]:
        raise BadInput("the name holds what looks like a secret", hint="take another name")
    return name


def find_space(feeds: FeedStore, named: str) -> bytes:
    """Find a space by its label or the beginning of its id.

    `home` and `private` are this node's own, whatever others call theirs.  Raises `NotFound`, and `BadInput`
    where several are meant.
    """
    own = {"home": feeds.home, "private": feeds.private}.get(named)
    if own is not None:
        return own()
    rosters = feeds.spaces()
    found = [space for space, roster in rosters.items() if roster.label == named]
    if not found and _ID.fullmatch(named.lower()):
        found = [space for space in rosters if space.hex().startswith(named.lower())]
    if not found:
        raise NotFound(f"there is no space {named[:80]!a}", hint=_LIST)
    if len(found) > 1:
        ids = ", ".join(space.hex()[:12] for space in found)
        raise BadInput(
            f"{named!a} may mean several spaces: {ids}", hint="name one by the beginning of its id"
        )
    return found[0]


def own_key(local: Local) -> bytes | None:
    """Give this node's public key, None for a reader of a state directory without one."""
    if local.writable:
        return local.identity.public_key
    from mesh.identity import load

    try:
        return load(local.paths.identity).public_key
    except FileNotFoundError:
        return None


def name_in(roster: Roster, key: bytes) -> str:
    """Name a node as the space's members do, or by the beginning of its id."""
    from crdt.keys import node_id

    member = roster.members.get(key)
    return member.name if member is not None and member.name else node_id(key)[:8]
