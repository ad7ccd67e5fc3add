"""Operations for the tests of the reducer, stamped as the store would stamp them, without signatures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from crdt.operations import Operation, Stamped, Value, encode, mint
from crdt.records import RecordState
from crdt.reducer import reduce

ANN, BEN, CAT = (hashlib.sha256(name.encode()).digest() for name in ("ann", "ben", "cat"))


@dataclass(frozen=True)
class Table:
    """Rights that are the same at every clock."""

    appenders: frozenset[bytes] = frozenset({ANN, BEN, CAT})
    moderators: frozenset[bytes] = frozenset({ANN, BEN, CAT})

    def may(self, author: bytes, right: str, hlc: int) -> bool:
        assert hlc > 0
        return author in (self.moderators if right == "moderate" else self.appenders)


HOME = Table()
"""One person's machines: all may do all."""

TEAM = replace(HOME, moderators=frozenset({CAT}))
"""Members who may only append, and one who moderates."""


def stamp(operation: Operation, hlc: int, author: bytes = ANN) -> Stamped:
    """Seal an operation, but for the signature."""
    name = hashlib.sha256(b"\0".join((encode(operation), author, str(hlc).encode()))).digest()
    return Stamped(operation=operation, hash=name, author=author, hlc=hlc)


def created(text: str | None = "text", *, hlc: int = 10, author: bytes = ANN, **more: Value) -> Stamped:
    """Create a memory; `more` are fields."""
    record, nonce = mint(author)
    fields: dict[str, Value] = {"kind": "memory", **more}
    return stamp(Operation(id=record, type="memory", set=fields, text=text, nonce=nonce), hlc, author)


@dataclass
class Record:
    """A record under construction: every operation that was made, by anybody."""

    creation: Stamped
    operations: list[Stamped] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operations.append(self.creation)

    def say(self, hlc: int, author: bytes = ANN, *, on: Iterable[Stamped], **parts: object) -> Stamped:
        """Add an operation that builds on others."""
        first = self.creation.operation
        draft = {"id": first.id, "type": first.type, "base": sorted({one.hash for one in on}), **parts}
        made = stamp(Operation(**draft), hlc, author)  # type: ignore[arg-type]
        self.operations.append(made)
        return made

    def state(self, rights: Table = HOME) -> RecordState:
        """Reduce what there is."""
        found = reduce(self.operations, rights)
        assert found is not None
        return found
