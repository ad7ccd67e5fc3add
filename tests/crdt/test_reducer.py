"""What the operations of one record amount to, case by case; the laws are in test_reducer_laws."""

from __future__ import annotations

import msgspec

from crdt.operations import Operation
from crdt.records import decode_state, encode_state
from crdt.reducer import extend, reduce
from tests.crdt.record_kit import ANN, BEN, HOME, Record, created, stamp


def test_a_creation_is_a_state() -> None:
    made = created("hello", project="harbour", confidence=0.5)
    state = reduce([made], HOME)
    assert state is not None
    assert (state.id, state.type, state.text, state.version) == (made.operation.id, "memory", "hello", 1)
    assert state.fields == {"kind": "memory", "project": "harbour", "confidence": 0.5}
    assert (state.creator, state.owners, state.heads) == (ANN, [ANN], [made.hash])
    assert decode_state(encode_state(state)) == state


def test_nothing_is_no_state() -> None:
    assert reduce([], HOME) is None
    assert reduce([stamp(Operation(id="x", type="unheard-of", text="t"), 1)], HOME) is None


def test_a_field_has_its_last_value_and_none_clears_it() -> None:
    record = Record(created(project="old", headline="h"))
    record.say(12, BEN, on=[record.creation], set={"project": "new"})
    record.say(11, ANN, on=[record.creation], set={"project": "other", "headline": None})
    assert record.state().fields == {"kind": "memory", "project": "new"}


def test_who_saw_a_value_replaces_it_even_with_a_slow_clock() -> None:
    record = Record(created(project="old"))
    fast = record.say(500, BEN, on=[record.creation], set={"project": "fast"})
    record.say(20, ANN, on=[fast], set={"project": "later"})
    assert record.state().fields["project"] == "later"


def test_a_tag_that_was_added_again_survives_a_removal_that_had_not_seen_it() -> None:
    record = Record(created())
    first = record.say(11, on=[record.creation], tag=["t", "u"])
    record.say(12, BEN, on=[first], tag=["t"])
    record.say(13, on=[first], untag=[("t", first.hash), ("u", first.hash)])
    assert list(record.state().tags) == ["t"]


def test_an_edit_replaces_the_text_that_it_saw() -> None:
    record = Record(created("one"))
    edit = record.say(11, BEN, on=[record.creation], text="two")
    state = record.state()
    assert (state.text, state.text_heads, state.text_author, state.conflicts) == ("two", [edit.hash], BEN, [])


def test_concurrent_edits_of_the_same_line_are_a_visible_conflict_until_an_edit_saw_both() -> None:
    record = Record(created("one"))
    mine = record.say(11, ANN, on=[record.creation], text="mine")
    yours = record.say(12, BEN, on=[record.creation], text="yours")
    state = record.state()
    assert (state.text, [c.text for c in state.conflicts]) == ("yours", ["mine"])
    assert state.text_heads == state.heads == sorted([mine.hash, yours.hash])
    record.say(13, on=[mine, yours], text="both")
    assert (record.state().text, record.state().conflicts) == ("both", [])


def test_the_same_edit_twice_is_no_conflict() -> None:
    record = Record(created("one"))
    record.say(11, ANN, on=[record.creation], text="same")
    record.say(12, BEN, on=[record.creation], text="same")
    assert (record.state().text, record.state().conflicts) == ("same", [])


def test_a_deletion_is_undone_by_a_restoration_that_saw_it() -> None:
    record = Record(created("kept"))
    gone = record.say(300, BEN, on=[record.creation], deleted=True)
    assert record.state().deleted
    record.say(20, ANN, on=[gone], deleted=False)
    assert (record.state().deleted, record.state().text) == (False, "kept")


def test_an_edit_that_a_deletion_had_not_seen_is_a_conflict_on_the_tombstone() -> None:
    record = Record(created("one"))
    edit = record.say(11, ANN, on=[record.creation], text="worth keeping")
    gone = record.say(12, BEN, on=[record.creation], deleted=True)
    state = record.state()
    assert (state.deleted, [c.text for c in state.conflicts]) == (True, ["worth keeping"])
    record.say(13, on=[edit, gone], deleted=False)
    assert (record.state().text, record.state().conflicts) == ("worth keeping", [])


def test_an_operation_on_all_there_is_extends_the_state() -> None:
    record = Record(created("one", project="p"))
    before = record.state()
    edit = record.say(11, BEN, on=[record.creation], text="two", set={"project": None}, tag=["t"])
    assert extend(before, edit, HOME) == record.state()
    aside = record.say(12, BEN, on=[record.creation], text="three")
    assert extend(before, aside, HOME) is not None
    assert extend(record.state(), edit, HOME) is None


def test_a_deletion_of_a_conflict_extends_to_a_tombstone_without_one() -> None:
    record = Record(created("one"))
    sides = [record.say(11 + number, on=[record.creation], text=f"side {number}") for number in range(2)]
    before = record.state()
    gone = record.say(20, on=sides, deleted=True)
    assert extend(before, gone, HOME) == record.state()
    assert (record.state().deleted, record.state().conflicts) == (True, [])


def test_a_creation_that_comes_on_top_is_reduced() -> None:
    """It makes its author the owner, which a state can't know of."""
    made = created("one", author=ANN).operation
    edit = stamp(Operation(id=made.id, type="memory", text="two"), 5, BEN)
    before = reduce([edit], HOME)
    assert before is not None
    late = stamp(msgspec.structs.replace(made, base=[edit.hash]), 10, ANN)
    assert extend(before, late, HOME) is None
    after = reduce([edit, late], HOME)
    assert after is not None
    assert (before.creator, after.creator, after.owners) == (BEN, ANN, [ANN])
