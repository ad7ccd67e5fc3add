"""The history of a record: each operation that counts is a version.

Versions are numbered in causal order, which is the same on all nodes.  When operations from elsewhere
arrive late, numbers behind them move up by as many; a version's hash stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from crdt.causal_order import CausalOrder
from crdt.content import clock_said
from crdt.errors import NotFound
from crdt.operations import Stamped
from crdt.record_rights import Rights, admit
from crdt.records import RecordState
from crdt.reducer import reduce


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One operation that counts, and the number of the version that it made."""

    number: int
    stamped: Stamped

    @property
    def clock(self) -> int:
        """The clock of its author; of an imported one, the clock that it had where it came from."""
        return clock_said(self.stamped)


def counted(stamped: Iterable[Stamped], rights: Rights) -> list[Version]:
    """Pick and number the operations of one record that count, oldest first."""
    admitted = admit(CausalOrder(stamped).order, rights)
    operations = [] if admitted is None else admitted.operations
    return [Version(number=number, stamped=one) for number, one in enumerate(operations, 1)]


def state_at(versions: Sequence[Version], number: int, rights: Rights) -> RecordState:
    """Give what a record was at a version; raises `NotFound` for a version that it never had."""
    state = reduce((one.stamped for one in versions[: max(number, 0)]), rights)
    if state is None or number > len(versions):
        raise NotFound(
            f"there is no version {number}, the last one is {len(versions)}",
            hint="run `atrium memory history ID` to see the versions",
        )
    return state
