"""What could go of a record's history, without a change of what people see."""

from __future__ import annotations

import msgspec

from crdt.compaction import OPERATIONS_MAX, droppable
from crdt.operations import Operation, Stamped, mint
from crdt.reducer import reduce
from tests.crdt.signers import SeedSigner

ALICE = SeedSigner("alice")
NAME, NONCE = mint(ALICE.public_key)


class Everyone:
    """Everybody may do everything."""

    def may(self, author: bytes, right: str, hlc: int) -> bool:
        return bool(author and right) and hlc >= 0


def chain(*said: dict[str, object]) -> list[Stamped]:
    """Stamp operations that build on each other; the first creates the record."""
    made: list[Stamped] = []
    for number, fields in enumerate(said, 1):
        operation = Operation(
            id=NAME,
            type="memory",
            base=[made[-1].hash] if made else [],
            nonce=NONCE if number == 1 else None,
            **fields,  # type: ignore[arg-type]
        )
        hash_ = number.to_bytes(32, "big")
        made.append(Stamped(operation=operation, hash=hash_, author=ALICE.public_key, hlc=number))
    return made


def hashes(operations: list[Stamped], before: int = 1_000) -> list[int]:
    return [int.from_bytes(item.hash, "big") for item in droppable(operations, Everyone(), before)]


def test_replaced_texts_and_fields_that_were_set_again_can_go() -> None:
    operations = chain(
        {"text": "first", "set": {"kind": "memory"}},
        {"text": "second"},
        {"set": {"headline": "old"}},
        {"set": {"headline": "new"}},
        {"text": "third"},
    )
    assert hashes(operations) == [1, 2, 3]
    assert hashes(operations, before=2) == [1]


def test_what_shows_stays() -> None:
    assert hashes(chain({"text": "only", "set": {"kind": "memory"}}, {"tag": ["kept"]})) == []
    assert hashes(chain({"text": "only", "set": {"kind": "memory"}})) == []


def test_texts_that_are_in_conflict_stay() -> None:
    first, second, third = chain({"text": "first", "set": {"kind": "memory"}}, {"text": "a"}, {"text": "b"})
    rival = msgspec.structs.replace(
        third, operation=msgspec.structs.replace(third.operation, base=[first.hash])
    )
    assert hashes([first, second, rival]) == [1]
    state = reduce([first, second, rival], Everyone())
    assert state is not None
    assert len(state.conflicts) == 1


def test_a_record_with_too_many_operations_is_passed_over() -> None:
    said = [{"set": {"headline": str(number)}} for number in range(OPERATIONS_MAX)]
    assert hashes(chain({"text": "first", "set": {"kind": "memory"}}, *said)) == []
