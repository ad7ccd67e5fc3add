"""What counts of the entries of a record: readable operations that lie beyond nobody's cut."""

from __future__ import annotations

import msgspec
import pytest

from crdt.entries import EntryKind
from crdt.projection_feeds import operation_of, stamp, valid
from tests.crdt.projection_kit import Author
from tests.crdt.signers import add


@pytest.fixture
def ann() -> Author:
    return Author("ann")


def test_an_operation_is_read_with_what_its_entry_says(ann: Author) -> None:
    made = ann.memory("text")
    assert operation_of(made.entry) == made.operation
    stamped = stamp(made.entry, made.operation)
    assert (stamped.hash, stamped.author, stamped.hlc) == (made.entry.hash, ann.key, made.entry.hlc)


def test_an_erased_body_and_one_that_is_no_operation_say_nothing(ann: Author) -> None:
    erased = msgspec.structs.replace(ann.memory().entry, body=None)
    nonsense = ann.feed.say(EntryKind.RECORD, b"\xc1")
    limits = ann.memory("x").operation
    beyond = ann.feed.say(
        EntryKind.RECORD, msgspec.msgpack.encode(msgspec.structs.replace(limits, agent="a" * 65))
    )
    assert [operation_of(entry) for entry in (erased, nonsense, beyond)] == [None, None, None]


def test_only_records_that_are_not_void_are_valid(ann: Author) -> None:
    ben = Author("ben", ann.space, later_ms=1_000)
    first, second = ben.memory(), ben.memory()
    added = ann.feed.roster(add(ben.signer))
    entries = dict(enumerate([*ben.entries, added], 1))
    assert [one.hash for one in valid(entries, ())] == [first.entry.hash, second.entry.hash]
    assert [one.hash for one in valid(entries, {2})] == [first.entry.hash]
