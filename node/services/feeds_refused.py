"""Why nothing of a space in a file of feeds is taken here, and what changes that."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crdt.errors import NotAllowed
from crdt.keys import node_id
from crdt.roster import Roster


class PassedOver(msgspec.Struct, frozen=True, kw_only=True):
    """A space that this node may not take; `why` is a sentence that names it, `hint` what mends it."""

    space: str
    label: str
    why: str
    hint: str


def is_member(roster: Roster, own: bytes) -> bool:
    """Tell whether a key belongs to a space that nodes share."""
    member = roster.members.get(own)
    return member is not None and not member.removed and roster.kind != "private"


def passed_over(roster: Roster, own: bytes) -> PassedOver:
    """Say why a key that is no member takes nothing of a space: never let in, removed, or revoked."""
    label = roster.label
    hint = f"there: `atrium spaces members add {label} {node_id(own)}`, then export again"
    if roster.kind == "private":
        why, hint = f"{label} is private to another node", "nothing: a private space never leaves its node"
    elif not roster.knows(own):
        why = f"this node is no member of {label}"
    elif _may_return(roster, own):
        why = f"this node was removed from {label}"
        hint = f"only if its owner wants it back, {hint}"
    else:
        why = f"this node's key was revoked in {label}"
        hint = "put the key that took its place here: `atrium identity restore FILE`"
    return PassedOver(space=roster.space.hex(), label=label, why=why, hint=hint)


def unknown(space: bytes, entries: int) -> PassedOver:
    """Say that nobody can tell here who may write some entries, for want of the beginning of their space."""
    name = space.hex()
    counted = "1 entry is" if entries == 1 else f"{entries} entries are"
    return PassedOver(
        space=name,
        label=name[:12],
        why=f"{counted} of the space {name[:12]}, which neither the file nor this node knows",
        hint=f"on a node that has it: `atrium feeds export FILE --space {name}`, then import that",
    )


def refusal(found: Iterable[PassedOver]) -> NotAllowed:
    """Make the error for a file of which nothing can be taken."""
    listed = sorted(found, key=lambda item: item.label)
    hints = dict.fromkeys(item.hint for item in listed)
    return NotAllowed("; ".join(item.why for item in listed), hint="; ".join(hints))


def _may_return(roster: Roster, own: bytes) -> bool:
    """Tell whether any owner could add a key again, which nobody can once it was revoked."""
    return any(roster.may_add(key, own) for key, member in roster.members.items() if member.owner)
