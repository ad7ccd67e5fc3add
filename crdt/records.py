"""What the operations on a record amount to, and the table of record types.

A state is a value: equal operations give equal bytes on every node, whatever the order they came in, so
that `state_sha256` can be compared across machines.
"""

from __future__ import annotations

import hashlib

import msgspec

from crdt.decisions import DECISION
from crdt.edges import EDGE
from crdt.errors import BadInput
from crdt.field_rules import Content, RecordType
from crdt.memory import FEED_ITEM, MEMORY
from crdt.messages import MESSAGE
from crdt.operations import BASE_MAX, Operation, Value
from crdt.projects import PROJECT
from crdt.sessions import HANDOFF, SESSION_RECORD
from crdt.statements import STATEMENT
from crdt.tasks import TASK

TYPES: dict[str, RecordType] = {
    kind.name: kind
    for kind in (
        MEMORY, TASK, MESSAGE, HANDOFF, SESSION_RECORD, STATEMENT, DECISION, EDGE, PROJECT, FEED_ITEM,
    )
}  # fmt: skip
"""Records of other types are stored and relayed and have no state here."""

CONFLICTS_MAX = 64
"""So many texts are shown beside the served one; `text_heads` names them all, the newest are shown."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A text that nobody has superseded, and that is not part of the served one."""

    hash: bytes
    author: bytes
    agent: str
    hlc: int
    text: str


class RecordState(msgspec.Struct, frozen=True, kw_only=True):
    """A record as its operations leave it.

    `creator` is the key of the node that made it, which also arbitrates a task.  `owners` are the authors
    who may change it without the right to moderate.  `heads` are the operations nobody has built on,
    `text_heads` the texts nobody has replaced, both in order of hash.  `tags` gives each tag's live dots.
    `text_author` is whose text is served (the newer one's, where two were merged).  `created_hlc` and
    `updated_hlc` are the clocks of the first and the last operation, of imported ones those that they had
    where they came from.  `clock` is at least the clock of every operation.  `conflicts` are newest first;
    on a tombstone they are the texts that the deletion had not seen.
    """

    id: str
    type: str
    creator: bytes
    agent: str
    by: str | None = None
    owners: list[bytes]
    created_hlc: int
    updated_hlc: int
    clock: int
    version: int
    heads: list[bytes]
    fields: dict[str, Value] = {}
    tags: dict[str, list[bytes]] = {}
    text: str | None = None
    text_heads: list[bytes] = []
    text_author: bytes = b""
    conflicts: list[Conflict] = []
    deleted: bool = False
    collaborative: bool = False


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_DECODER = msgspec.msgpack.Decoder(RecordState)


def encode_state(state: RecordState) -> bytes:
    """Write a state in its one byte form."""
    return _ENCODER.encode(state)


def decode_state(data: bytes) -> RecordState:
    """Read what `encode_state` wrote; raises `msgspec.MsgspecError` for anything else."""
    return _DECODER.decode(data)


def state_sha256(state: RecordState) -> bytes:
    """Hash a state: 32 bytes, equal on all nodes with the same operations."""
    return hashlib.sha256(encode_state(state)).digest()


def base_of(state: RecordState) -> list[bytes]:
    """Choose what an operation on a state builds on: all its heads, 64 at most.

    Where there are more, the conflicts that are shown come first and then the other texts that stand, so
    that an edit decides what it saw.  What is left out stays a head, and the next operations take it in.
    """
    if len(state.heads) <= BASE_MAX:
        return list(state.heads)
    shown = [conflict.hash for conflict in state.conflicts]
    return sorted(list(dict.fromkeys([*shown, *state.text_heads, *state.heads]))[:BASE_MAX])


def type_of(name: str) -> RecordType:
    """Find a type by name; raises `BadInput` naming those that there are."""
    found = TYPES.get(name)
    if found is None:
        raise BadInput(f"`{name}` is no type of record", hint=f"the types are {', '.join(sorted(TYPES))}")
    return found


def check(operation: Operation, *, new: bool) -> None:
    """Judge an operation before it is written; raises `BadInput` naming the field.

    `new` says that it creates its record.
    """
    kind = type_of(operation.type)
    for name, value in operation.set.items():
        _check_field(kind, name, value)
    _check_content(kind, operation, new=new)
    if new:
        _check_creation(kind, operation)
    elif kind.is_final and (operation.set or operation.text is not None):
        raise BadInput(f"a {kind.name} stays as it was said", hint=f"write another {kind.name} instead")


def _check_field(kind: RecordType, name: str, value: Value) -> None:
    rule = kind.fields.get(name)
    if rule is None:
        raise BadInput(
            f"a {kind.name} has no field `{name}`", hint=f"its fields are {', '.join(sorted(kind.fields))}"
        )
    if value is None:
        if name in kind.required:
            raise BadInput(f"`{name}` of a {kind.name} can't be empty", hint=f"give `{name}`")
    elif not rule.fits(value):
        raise BadInput(f"`{name}` must be {rule.wanted}", hint=f"correct `{name}`")


def _check_content(kind: RecordType, operation: Operation, *, new: bool) -> None:
    text, update = operation.text, operation.update
    if kind.content is Content.ABSENT and text is not None:
        raise BadInput(f"a {kind.name} has no text", hint="leave the text out")
    if update is not None and not kind.is_collaborative:
        raise BadInput(f"a {kind.name} is not edited by several people at once", hint="give the text")
    is_blank = text is None or not text.strip()
    if kind.content is Content.REQUIRED and is_blank and update is None and (new or text is not None):
        raise BadInput(f"a {kind.name} can't be without a text", hint="give the text")


def _check_creation(kind: RecordType, operation: Operation) -> None:
    absent = sorted(kind.required - operation.set.keys())
    if absent:
        raise BadInput(f"a {kind.name} needs `{absent[0]}`", hint=f"give `{absent[0]}`")
    if kind.derive is not None and kind.derive(operation) != operation.id:
        raise BadInput(f"the id of a {kind.name} follows from what it says", hint="leave the id out")
