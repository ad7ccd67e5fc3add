"""The order of a record's operations: nothing before what it builds on, whatever the clocks say."""

from __future__ import annotations

from crdt.causal_order import CausalOrder
from tests.crdt.record_kit import ANN, BEN, Record, created


def test_what_is_later_comes_later_even_with_a_clock_far_behind() -> None:
    record = Record(created(hlc=1000))
    second = record.say(5, BEN, on=[record.creation])
    third = record.say(3, ANN, on=[second])
    causal = CausalOrder(reversed(record.operations))
    assert causal.order == [record.creation, second, third]
    assert [causal.clocks[one.hash] for one in causal.order] == [1000, 1001, 1002]


def test_what_is_concurrent_is_ordered_by_clock_then_author_then_hash() -> None:
    record = Record(created())
    sides = [record.say(hlc, author, on=[record.creation]) for hlc in (12, 11) for author in (BEN, ANN)]
    found = CausalOrder(record.operations).order[1:]
    assert found == sorted(sides, key=lambda one: one.rank)


def test_heads_are_no_ancestors_of_each_other() -> None:
    record = Record(created())
    left = record.say(11, on=[record.creation])
    right = record.say(12, on=[record.creation])
    last = record.say(13, on=[left])
    causal = CausalOrder(record.operations)
    assert causal.heads({one.hash for one in record.operations}) == {right.hash, last.hash}
    assert causal.heads({record.creation.hash, last.hash}) == {last.hash}
    assert causal.heads({left.hash}) == {left.hash}
    assert causal.ancestors(last.hash) == {record.creation.hash, left.hash, last.hash}


def test_what_is_missing_between_leaves_two_that_know_nothing_of_each_other() -> None:
    record = Record(created())
    between = record.say(11, on=[record.creation])
    last = record.say(12, on=[between])
    causal = CausalOrder([last, record.creation])
    assert causal.heads({last.hash, record.creation.hash}) == {last.hash, record.creation.hash}


def test_no_operations_have_an_order() -> None:
    assert CausalOrder([]).order == []


def test_a_long_chain_needs_no_stack() -> None:
    record = Record(created())
    last = record.creation
    for number in range(3_000):
        last = record.say(11 + number, on=[last])
    causal = CausalOrder(reversed(record.operations))
    assert len(causal.ancestors(last.hash)) == 3_001
    assert causal.heads({one.hash for one in record.operations}) == {last.hash}
