"""What a node hands out to be made a member: its key and the promise of the one that may follow.

    <node id>.<promise>      52 and 52 characters of base32, lower case, without padding

The promise is the SHA-256 of the next public key.  Without it the member can be removed by others but can't
revoke its own key when that was stolen.
"""

from __future__ import annotations

import base64

import msgspec

from crdt.errors import BadInput
from crdt.keys import KEY_BYTES, node_id, parse_node_id

_HINT = "`atrium identity show` on the other machine prints its key"


class MemberKey(msgspec.Struct, frozen=True, kw_only=True):
    """A node's public key, and the promise where it gave one."""

    key: bytes
    promise: bytes | None = None


def spell(key: bytes, promise: bytes) -> str:
    """Write what another node takes."""
    return f"{node_id(key)}.{_base32(promise)}"


def parse(text: str) -> MemberKey:
    """Read it, with or without the promise; raises `BadInput` for anything else."""
    head, dot, tail = text.strip().lower().partition(".")
    key = parse_node_id(head)
    if not dot:
        return MemberKey(key=key)
    try:
        promise = base64.b32decode(tail.upper() + "====")
    except ValueError:
        promise = b""
    if len(promise) != KEY_BYTES or _base32(promise) != tail:
        raise BadInput("the second half of this key is not whole", hint=_HINT)
    return MemberKey(key=key, promise=promise)


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode("ascii").rstrip("=").lower()
