"""Versions are the operations that count, numbered in an order that every node finds."""

from __future__ import annotations

import random

import pytest

from crdt.errors import NotFound
from crdt.projection_history import counted, state_at
from tests.crdt.record_kit import BEN, CAT, HOME, TEAM, Record, created


def test_versions_are_numbered_alike_whatever_the_order_of_arrival() -> None:
    record = Record(created(hlc=10))
    one = record.say(20, on=[record.creation], text="one")
    other = record.say(20, BEN, on=[record.creation], text="other")
    record.say(30, CAT, on=[one, other], text="both")
    expected = [version.stamped.hash for version in counted(record.operations, HOME)]
    assert len(expected) == 4
    for seed in range(8):
        shuffled = [*record.operations, *record.operations]
        random.Random(seed).shuffle(shuffled)  # noqa: S311
        versions = counted(shuffled, HOME)
        assert [version.stamped.hash for version in versions] == expected
        assert [version.number for version in versions] == [1, 2, 3, 4]


def test_what_is_not_allowed_has_no_number() -> None:
    record = Record(created(hlc=10))
    record.say(20, BEN, on=[record.creation], text="forged")
    assert [version.number for version in counted(record.operations, TEAM)] == [1]
    assert counted([], TEAM) == []


def test_the_last_version_is_the_state_and_each_before_is_what_it_was() -> None:
    record = Record(created("one", hlc=10))
    second = record.say(20, on=[record.creation], text="two", tag=["t"])
    record.say(30, on=[second], deleted=True)
    versions = counted(record.operations, HOME)
    assert state_at(versions, 3, HOME) == record.state()
    assert [state_at(versions, number, HOME).text for number in (1, 2)] == ["one", "two"]
    assert state_at(versions, 1, HOME).version == 1


@pytest.mark.parametrize("number", [-2, 0, 2])
def test_a_version_that_never_was_is_not_found(number: int) -> None:
    versions = counted([created(hlc=10)], HOME)
    with pytest.raises(NotFound, match="the last one is 1"):
        state_at(versions, number, HOME)
