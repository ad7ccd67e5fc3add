"""Tell which operations on a record no longer show in it: what a compaction could drop the bodies of.

History is lost by dropping them, so nobody does it by itself; and an operation may go only where every member
has said that it has what came after.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from crdt.operations import Stamped
from crdt.record_rights import Rights
from crdt.records import RecordState
from crdt.reducer import reduce

OPERATIONS_MAX = 200
"""Of records with more operations nothing is told: each one asked about costs a reduction of the rest."""


def without_effect(operations: Sequence[Stamped], rights: Rights, before_hlc: int) -> list[Stamped]:
    """Choose operations older than a clock without which the record shows the same, oldest first.

    They are so all together: each is asked about after those before it were left out.
    """
    if len(operations) < 2 or len(operations) > OPERATIONS_MAX:
        return []
    shown = _shown(reduce(operations, rights))
    kept, dropped = sorted(operations, key=_rank), []
    for operation in list(kept):
        if operation.hlc >= before_hlc:
            break
        rest = [item for item in kept if item is not operation]
        if rest and _shown(reduce(rest, rights)) == shown:
            kept = rest
            dropped.append(operation)
    return dropped


def _rank(stamped: Stamped) -> tuple[int, bytes, bytes]:
    return stamped.rank


def _shown(state: RecordState | None) -> RecordState | None:
    """Reduce a state to what people see of it; versions and clocks of history apart."""
    if state is None:
        return None
    return msgspec.structs.replace(
        state, version=0, heads=[], text_heads=[], created_hlc=0, updated_hlc=0, clock=0
    )
