"""Tell what of the operations on a record no longer shows in it: what a compaction could drop.

An operation itself must stay, since later ones build on it; what it said may go: a text that was replaced,
fields that were set again.  History is lost by that, so nobody does it by itself, and it may only be done
where every member has said that it has what came after.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from crdt.operations import Operation, Stamped, encode
from crdt.record_rights import Rights
from crdt.records import RecordState
from crdt.reducer import reduce

OPERATIONS_MAX = 200
"""Of records with more operations nothing is told: each one asked about costs a reduction of them all."""


class Droppable(msgspec.Struct, frozen=True, kw_only=True):
    """An operation whose content, or part of it, could go, and the bytes that it takes."""

    hash: bytes
    size_bytes: int


def droppable(operations: Sequence[Stamped], rights: Rights, before_hlc: int) -> list[Droppable]:
    """Choose operations older than a clock whose content no longer shows, oldest first, all together."""
    if len(operations) < 2 or len(operations) > OPERATIONS_MAX:
        return []
    kept = sorted(operations, key=_rank)
    shown = _shown(reduce(kept, rights))
    found = []
    for at, stamped in enumerate(kept):
        if stamped.hlc >= before_hlc:
            break
        for hollow in _hollowed(stamped.operation):
            fewer = msgspec.structs.replace(stamped, operation=hollow)
            if _shown(reduce([*kept[:at], fewer, *kept[at + 1 :]], rights)) == shown:
                kept[at] = fewer
                size_bytes = len(encode(stamped.operation)) - len(encode(hollow))
                found.append(Droppable(hash=stamped.hash, size_bytes=size_bytes))
                break
    return found


def _hollowed(operation: Operation) -> list[Operation]:
    """Give what could be left of an operation, the least first; nothing for one that says nothing."""
    has_text, has_fields = bool(operation.text), bool(operation.set)
    without_text = msgspec.structs.replace(operation, text="" if has_text else operation.text)
    without_both = msgspec.structs.replace(without_text, set={})
    if has_text and has_fields:
        return [without_both, without_text]
    return [without_both] if has_text or has_fields else []


def _rank(stamped: Stamped) -> tuple[int, bytes, bytes]:
    return stamped.rank


def _shown(state: RecordState | None) -> RecordState | None:
    """Give what people see of a state: without what is about history alone."""
    return None if state is None else msgspec.structs.replace(state, clock=0)
