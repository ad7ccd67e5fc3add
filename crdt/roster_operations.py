"""What is said about a space and its members: the bodies of entries of kind `genesis` and `roster`.

Each is msgpack with its name in `op`.  What a later version says is passed over, and so has no effect.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from crdt.entries import Entry
from crdt.errors import EntryRefused
from crdt.keys import is_acceptable

RIGHTS = frozenset(("read", "append", "moderate"))
NAME_CHARS_MAX = 100

Right = Literal["read", "append", "moderate"]
SpaceKind = Literal["home", "private", "space"]
Cut = dict[int, int]
"""The last valid seq per incarnation; an incarnation that is not listed has none."""
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
SAID_MAX = 6_000
"""Hashes that fit into an entry beside a cut and its ends; of more the oldest count."""
Said = dict[int, list[_Bytes32]]
"""The hashes of what an incarnation has said about members."""
Ends = dict[int, list[_Bytes32]]
"""The hashes of the entries with which an incarnation ends, more than one where it is forked."""
_Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)]


class _Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower, omit_defaults=True):
    """The body of an entry about a space."""


class Genesis(_Body, frozen=True, kw_only=True):
    """The making of a space: its label, and its owner's node as people call it.

    `next` is the commitment (`keys.commitment`) of the key that will follow the owner's.
    """

    label: _Name
    kind: SpaceKind
    name: _Name
    made_ms: int
    next: _Bytes32 | None = None


class Add(_Body, frozen=True, kw_only=True):
    """Make a member, or change what one may do; adding a removed one again lifts its cut."""

    member: _Bytes32
    rights: list[Right]
    name: _Name
    owner: bool = False
    next: _Bytes32 | None = None


class Remove(_Body, frozen=True, kw_only=True):
    """End a membership; a member can also remove itself.

    `said` names what the member has said about members up to the cut, and nothing else of its counts: whoever
    has its key could put another branch beside what was said.  None, as older versions say, counts it all.
    `ends` are where the feeds end that count, for the same reason (`branches`); an incarnation of the cut
    that is not among them is cut by its number alone, as are all without `said`.
    """

    member: _Bytes32
    cut: Cut
    said: Said | None = None
    ends: Ends | None = None


class Revoke(_Body, frozen=True, kw_only=True):
    """Say that a key was stolen or lost: its author, the promised next key, stands in its place from now on.

    It has to be the first entry of a feed, so that nothing can be cut off in front of it.
    `next` is the commitment of the key after this one; `said` and `ends` are as in `Remove`.
    """

    old: _Bytes32
    cut: Cut
    said: Said | None = None
    ends: Ends | None = None
    next: _Bytes32 | None = None


class Alias(_Body, frozen=True, kw_only=True):
    """Treat the space `own`, whose roster this is, as one with `into`."""

    own: _Bytes32
    into: _Bytes32


class Label(_Body, frozen=True, kw_only=True):
    """Give the space another label."""

    label: _Name


RosterOperation = Add | Remove | Revoke | Alias | Label

_ENCODER = msgspec.msgpack.Encoder()
_GENESIS = msgspec.msgpack.Decoder(Genesis)
_OPERATION = msgspec.msgpack.Decoder(RosterOperation)


def encode(body: Genesis | RosterOperation) -> bytes:
    """Write the body of an entry of kind `genesis` or `roster`."""
    if isinstance(body, Remove | Revoke):
        body = msgspec.structs.replace(
            body, cut=dict(sorted(body.cut.items())), said=_sorted(body.said), ends=_sorted(body.ends)
        )
    return _ENCODER.encode(body)


def _sorted(hashes: dict[int, list[_Bytes32]] | None) -> dict[int, list[_Bytes32]] | None:
    return None if hashes is None else {inc: sorted(hashes[inc]) for inc in sorted(hashes)}


def genesis_of(entry: Entry) -> Genesis:
    """Read what a genesis says; raises `EntryRefused` for one that says nothing."""
    try:
        return _GENESIS.decode(entry.body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EntryRefused(f"the first entry of a space can't be read ({error})") from error


def operation_of(entry: Entry) -> RosterOperation | None:
    """Read what a roster entry says; None for what this version doesn't know, which has no effect."""
    try:
        operation = _OPERATION.decode(entry.body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    named = operation.member if isinstance(operation, Add | Remove) else None
    return operation if named is None or is_acceptable(named) else None
