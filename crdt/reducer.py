"""From a set of operations to the state of a record: pure, and blind to order and repetition.

    part       what is concurrent                 what is later
    fields     the higher (clock, author, hash)   wins
    tags       an addition survives a removal     a removal takes the additions that it saw
    text       merged line by line, else the      replaces what it saw
               newer is served and the others
               are conflicts
    deletion   as a field; texts that it had      an edit of a tombstone stays a conflict there until
               not seen are conflicts             the record is restored

The clock is that of `causal_order`, so that what is later never loses to what it saw.  `record_rights`
decides beforehand which operations count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from crdt.causal_order import CausalOrder
from crdt.content import ServedText, clock_said, conflict_of, serve
from crdt.field_rules import Content, RecordType
from crdt.operations import Operation, Stamped, Value
from crdt.record_rights import APPEND, Admitted, Rights, admit, is_admitted
from crdt.records import CONFLICTS_MAX, TYPES, Conflict, RecordState

__all__ = ["Rights", "extend", "reduce"]


def reduce(stamped: Iterable[Stamped], rights: Rights) -> RecordState | None:
    """Work out the state of one record from all its operations; None if no operation counts."""
    causal = CausalOrder(stamped)
    admitted = admit(causal.order, rights)
    if admitted is None:
        return None
    operations, created = admitted.operations, admitted.created
    deletion = next((one for one in reversed(operations) if one.operation.deleted is not None), None)
    is_deleted = deletion is not None and bool(deletion.operation.deleted)
    served = serve(operations, causal, admitted.kind)
    return RecordState(
        id=created.operation.id,
        type=admitted.kind.name,
        creator=created.author,
        agent=created.operation.agent,
        by=created.operation.by,
        owners=admitted.owners,
        created_hlc=clock_said(created),
        updated_hlc=clock_said(operations[-1]),
        clock=causal.clocks[operations[-1].hash],
        version=len(operations),
        heads=sorted(causal.heads({one.hash for one in operations})),
        fields=_fields(admitted),
        tags=_tags(operations),
        text=served.text,
        text_heads=served.heads,
        text_author=served.author,
        conflicts=_unseen(deletion, served, admitted, causal)
        if is_deleted and deletion
        else served.conflicts,
        deleted=is_deleted,
        collaborative=served.collaborative,
    )


def extend(state: RecordState, stamped: Stamped, rights: Rights) -> RecordState | None:
    """Add an operation that has seen all of a state, as most have; None says to use `reduce`.

    What it gives is what `reduce` gives for all operations together.
    """
    operation = stamped.operation
    kind = TYPES[state.type]
    if not _is_plain(state, operation) or not rights.may(stamped.author, APPEND, stamped.hlc):
        return None
    if not is_admitted(stamped, kind, set(state.owners), rights):
        return None
    replaced = operation.text is not None
    deleted = state.deleted if operation.deleted is None else operation.deleted
    return msgspec.structs.replace(
        state,
        updated_hlc=clock_said(stamped),
        clock=max(stamped.hlc, state.clock + 1),
        version=state.version + 1,
        heads=[stamped.hash],
        fields=_settled(state.fields | _settable(kind, stamped, state.creator)),
        tags=_retagged(state.tags, stamped),
        text=operation.text if replaced else state.text,
        text_heads=[stamped.hash] if replaced else state.text_heads,
        text_author=stamped.author if replaced else state.text_author,
        conflicts=[] if replaced or deleted else state.conflicts,
        deleted=deleted,
    )


def _is_plain(state: RecordState, operation: Operation) -> bool:
    """Tell whether an operation builds on all there is and needs nothing that a state does not keep."""
    kind = TYPES[state.type]
    return (
        (operation.id, operation.type) == (state.id, state.type)
        and sorted(operation.base) == state.heads
        and operation.nonce is None
        and operation.update is None
        and not state.deleted
        and not (state.collaborative and (operation.text is not None or operation.deleted is not None))
        and not (operation.text is not None and kind.content is Content.ABSENT)
    )


def _fields(admitted: Admitted) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    for one in admitted.operations:
        fields.update(_settable(admitted.kind, one, admitted.created.author))
    return _settled(fields)


def _settable(kind: RecordType, one: Stamped, arbiter: bytes) -> dict[str, Value]:
    """Pick the values of an operation that its type has, that fit, and that are its author's to set."""
    return {
        name: value
        for name, value in one.operation.set.items()
        if name in kind.fields
        and (kind.fields[name].fits(value) if value is not None else name not in kind.required)
        and (one.author == arbiter or name not in kind.arbitrated)
    }


def _settled(fields: dict[str, Value]) -> dict[str, Value]:
    return {name: fields[name] for name in sorted(fields) if fields[name] is not None}


def _tags(operations: Sequence[Stamped]) -> dict[str, list[bytes]]:
    added = {(tag, one.hash) for one in operations for tag in one.operation.tag}
    removed = {dot for one in operations for dot in one.operation.untag}
    return _grouped(added - removed)


def _retagged(tags: dict[str, list[bytes]], one: Stamped) -> dict[str, list[bytes]]:
    operation = one.operation
    if not operation.tag and not operation.untag:
        return tags
    dots = {(tag, adder) for tag, adders in tags.items() for adder in adders}
    return _grouped((dots | {(tag, one.hash) for tag in operation.tag}) - set(operation.untag))


def _grouped(dots: set[tuple[str, bytes]]) -> dict[str, list[bytes]]:
    tags: dict[str, list[bytes]] = {}
    for tag, adder in sorted(dots):
        tags.setdefault(tag, []).append(adder)
    return tags


def _unseen(deletion: Stamped, served: ServedText, admitted: Admitted, causal: CausalOrder) -> list[Conflict]:
    """List the standing texts that a deletion had not seen, newest first."""
    unseen = set(served.heads) - causal.ancestors(deletion.hash)
    return [
        conflict_of(one, one.operation.text if one.operation.text is not None else served.text or "")
        for one in reversed(admitted.operations)
        if one.hash in unseen
    ][:CONFLICTS_MAX]
