"""The text of a record: which texts stand, which one is served, which are conflicts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from crdt.causal_order import CausalOrder
from crdt.field_rules import Content, RecordType
from crdt.merge_text import merge3
from crdt.operations import Stamped
from crdt.records import CONFLICTS_MAX, Conflict

MERGED_MAX = 8
"""Texts that are merged into one; more at the same time are conflicts, so that merging takes bounded time."""


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


def serve(operations: Sequence[Stamped], causal: CausalOrder, kind: RecordType) -> ServedText:
    """Choose what to serve of all that was written, which comes oldest first."""
    if kind.content is Content.ABSENT:
        return ServedText()
    edits = [one for one in operations if one.operation.update is not None and kind.is_collaborative]
    texts = [one for one in operations if one.operation.text is not None]
    if edits:
        return _serve_document(edits, texts, causal)
    return _serve_texts(texts, causal) if texts else ServedText()


def _serve_texts(texts: Sequence[Stamped], causal: CausalOrder) -> ServedText:
    heads = causal.heads({one.hash for one in texts})
    newest_of = {one.operation.text: one for one in texts if one.hash in heads}
    standing = [one for one in texts if newest_of.get(one.operation.text) is one]
    winner = standing[-1]
    merged = _merged(standing, texts, causal) if len(standing) > 1 else None
    return ServedText(
        text=winner.operation.text if merged is None else merged,
        heads=sorted(heads),
        author=winner.author,
        conflicts=_conflicts(standing[:-1]) if merged is None else [],
    )


def _serve_document(edits: Sequence[Stamped], texts: Sequence[Stamped], causal: CausalOrder) -> ServedText:
    """Serve a collaborative document; a text that no edit has seen is a conflict beside it."""
    from crdt.collaboration import read_document

    document = read_document([one.operation.update or b"" for one in edits])
    heads = causal.heads({one.hash for one in (*edits, *texts)})
    beside = [one for one in texts if one.hash in heads and one.operation.text != document.text]
    return ServedText(
        text=document.text,
        heads=sorted(heads),
        author=edits[-1].author,
        conflicts=_conflicts(beside),
        collaborative=True,
    )


def _conflicts(unserved: Sequence[Stamped]) -> list[Conflict]:
    return [conflict_of(one, one.operation.text or "") for one in reversed(unserved)][:CONFLICTS_MAX]


def _merged(standing: Sequence[Stamped], texts: Sequence[Stamped], causal: CausalOrder) -> str | None:
    """Merge standing texts over what they have in common; None if they have no one such text."""
    if len(standing) > MERGED_MAX:
        return None
    seen = set.intersection(*(causal.ancestors(one.hash) for one in standing))
    common = causal.heads({one.hash for one in texts} & seen)
    if len(common) != 1:
        return None
    base = next(one.operation.text or "" for one in texts if one.hash in common)
    merged: str | None = standing[-1].operation.text
    for one in reversed(standing[:-1]):
        merged = None if merged is None else merge3(base, merged, one.operation.text or "")
    return merged
