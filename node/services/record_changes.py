"""Operations on a record, made from what is wanted and what the record is now.  Pure.

Each names all heads of the record, and so has seen everything that there is: a new text decides every
conflict.  None stands for a change that would change nothing, which is not worth a version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from crdt.operations import BASE_MAX, Operation, Value, mint
from crdt.records import RecordState


def created(author: bytes, what: Operation) -> Operation:
    """Give a new record its id, and the nonce that shows whose it is."""
    identity, nonce = mint(author)
    return msgspec.structs.replace(what, id=identity, nonce=nonce)


def edited(state: RecordState, agent: str, text: str | None, fields: Mapping[str, Value]) -> Operation | None:
    """Replace the text, where one is given, and set fields; None as a value takes a field away."""
    changed = {name: value for name, value in fields.items() if state.fields.get(name) != value}
    is_said = text is not None and (text != state.text or bool(state.conflicts))
    if not changed and not is_said:
        return None
    return msgspec.structs.replace(_on(state, agent), set=changed, text=text if is_said else None)


def tagged(state: RecordState, agent: str, add: Sequence[str], remove: Sequence[str]) -> Operation | None:
    """Add tags and remove tags; a tag that is both is added."""
    new = [tag for tag in add if tag not in state.tags]
    gone = [(tag, dot) for tag in remove if tag not in add for dot in state.tags.get(tag, ())]
    if not new and not gone:
        return None
    return msgspec.structs.replace(_on(state, agent), tag=new, untag=gone)


def deleted(state: RecordState, agent: str) -> Operation | None:
    """Delete the record."""
    return None if state.deleted else msgspec.structs.replace(_on(state, agent), deleted=True)


def restored(state: RecordState, agent: str) -> Operation | None:
    """Bring the record back."""
    return msgspec.structs.replace(_on(state, agent), deleted=False) if state.deleted else None


def reverted(state: RecordState, agent: str, earlier: RecordState) -> Operation | None:
    """Make the record say what it said earlier: text, fields, tags, and whether it is deleted."""
    fields = {name: earlier.fields.get(name) for name in (*state.fields, *earlier.fields)}
    said = edited(state, agent, earlier.text, fields) or _on(state, agent)
    tags = tagged(state, agent, list(earlier.tags), [t for t in state.tags if t not in earlier.tags])
    change = msgspec.structs.replace(
        said,
        tag=tags.tag if tags else [],
        untag=tags.untag if tags else [],
        deleted=earlier.deleted if earlier.deleted != state.deleted else None,
    )
    return None if change == _on(state, agent) else change


def _on(state: RecordState, agent: str) -> Operation:
    return Operation(id=state.id, type=state.type, agent=agent, base=state.heads[:BASE_MAX])
