"""The text of a record: which texts stand, which one is served, which are conflicts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from crdt.causal_order import CausalOrder
from crdt.operations import Stamped
from crdt.records import CONFLICTS_MAX, Conflict


class ServedText(msgspec.Struct, frozen=True, kw_only=True):
    """What a state says about its text."""

    text: str | None = None
    heads: list[bytes] = []
    author: bytes = b""
    conflicts: list[Conflict] = []
    collaborative: bool = False


def clock_said(one: Stamped) -> int:
    """Give the clock of an operation; of an imported one, the clock that it says it had, if that is past."""
    at = one.operation.at
    return one.hlc if at is None or not 0 <= at <= one.hlc else at


def conflict_of(one: Stamped, text: str) -> Conflict:
    """Make a text visible that is not served."""
    return Conflict(
        hash=one.hash, author=one.author, agent=one.operation.agent, hlc=clock_said(one), text=text
    )


def serve(operations: Sequence[Stamped], causal: CausalOrder) -> ServedText:
    """Choose what to serve of all texts that were written, oldest first."""
    written = {one.hash for one in operations if one.operation.text is not None}
    if not written:
        return ServedText()
    heads = causal.heads(written)
    standing = [one for one in operations if one.hash in heads]
    newest_of = {one.operation.text or "": one for one in standing}
    *others, winner = [one for one in standing if newest_of[one.operation.text or ""] is one]
    return ServedText(
        text=winner.operation.text,
        heads=sorted(heads),
        author=winner.author,
        conflicts=[conflict_of(one, one.operation.text or "") for one in reversed(others)][:CONFLICTS_MAX],
    )
