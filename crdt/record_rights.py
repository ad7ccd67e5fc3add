"""Which operations on a record count: the one place where a foreign operation meets the rights.

Pure, and blind to when an operation arrived.  An operation counts if its author may append at its clock and
(a) may moderate, or (b) is the record's sole owner, or (c) claims a record whose id follows from what it
says.  The owner of a minted record is the author that its id certifies; owners of a derived record are all
who claimed it, and as soon as there are two, neither may change it for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from crdt.field_rules import RecordType
from crdt.operations import Stamped, minted
from crdt.records import TYPES

APPEND = "append"
MODERATE = "moderate"


class Rights(Protocol):
    """Who may do what in a space."""

    def may(self, author: bytes, right: str, hlc: int) -> bool:
        """Tell whether an author had a right at a clock."""
        ...


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """The operations that count, oldest first, at least one; `created` is the one that made the record."""

    kind: RecordType
    owners: list[bytes]
    created: Stamped
    operations: list[Stamped]


def admit(order: Sequence[Stamped], rights: Rights) -> Admitted | None:
    """Pick the operations that count, from all there are, oldest first; None if none does."""
    writers = [one for one in order if rights.may(one.author, APPEND, one.hlc)]
    certified = [one for one in writers if _certifies(one)]
    founders = certified or [one for one in writers if _founds(one, rights)]
    kind = TYPES.get(founders[0].operation.type) if founders else None
    if kind is None:
        return None
    same = [one for one in writers if one.operation.type == kind.name]
    owners = {one.author for one in certified} or {o.author for o in same if kind.is_claim(o.operation)}
    operations = [one for one in same if is_admitted(one, kind, owners, rights)]
    if not operations:
        return None
    return Admitted(
        kind=kind,
        owners=sorted(owners),
        created=certified[0] if certified else operations[0],
        operations=operations,
    )


def is_admitted(one: Stamped, kind: RecordType, owners: set[bytes], rights: Rights) -> bool:
    """Tell whether an operation counts whose author may append."""
    operation = one.operation
    if kind.is_final and operation.base and (operation.set or operation.text is not None):
        return False
    return owners == {one.author} or rights.may(one.author, MODERATE, one.hlc) or kind.is_claim(operation)


def _certifies(one: Stamped) -> bool:
    nonce = one.operation.nonce
    return nonce is not None and minted(one.author, nonce) == one.operation.id


def _founds(one: Stamped, rights: Rights) -> bool:
    kind = TYPES.get(one.operation.type)
    if kind is None:
        return False
    return kind.is_claim(one.operation) or rights.may(one.author, MODERATE, one.hlc)
