"""Laws of the reducer over histories that several authors with bad clocks make on views of each other."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt.causal_order import CausalOrder
from crdt.operations import Operation, Stamped, decode, encode, mint
from crdt.records import RecordState, base_of, encode_state, state_sha256
from crdt.reducer import extend, reduce
from tests.crdt.record_kit import ANN, BEN, CAT, HOME, TEAM, Record, Table, created, stamp

AUTHORS = (ANN, BEN, CAT)
LINES = "\n".join(f"line {number}" for number in range(6))
fewer = settings(max_examples=25, deadline=None)


def test_operations_survive_their_bytes() -> None:
    made = created().operation
    assert decode(encode(made)) == made


def seen_by(record: Record, chosen: set[int]) -> list[Stamped]:
    """Give the operations at some places and all that they build on."""
    causal = CausalOrder(record.operations)
    names = {name for at in chosen for name in causal.ancestors(record.operations[at].hash)}
    return [one for one in record.operations if one.hash in names]


def act(draw: st.DrawFn, record: Record, number: int) -> None:
    """Let somebody who has seen a part of the history do one thing."""
    places = st.integers(0, len(record.operations) - 1)
    view = seen_by(record, draw(st.sets(places, min_size=1, max_size=3)))
    state = reduce(view, HOME)
    assert state is not None
    parts: dict[str, object] = {}
    lines = (state.text or "").split("\n")
    match draw(st.sampled_from(["text", "text", "set", "tag", "untag", "delete", "restore"])):
        case "text":
            lines[draw(st.integers(0, len(lines) - 1))] = f"by {number}"
            parts["text"] = "\n".join(lines)
        case "set":
            parts["set"] = {"project": f"p{number}", "headline": draw(st.sampled_from([None, "h"]))}
        case "tag":
            parts["tag"] = [draw(st.sampled_from("tu"))]
        case "untag":
            parts["untag"] = [(tag, dot) for tag, dots in state.tags.items() for dot in dots]
        case what:
            parts["deleted"] = what == "delete"
    by = draw(st.sampled_from(AUTHORS))
    heads = [one for one in view if one.hash in set(state.heads)]
    record.say(draw(st.integers(1, 40)), by, on=heads, **parts)


@st.composite
def histories(draw: st.DrawFn) -> Record:
    record = Record(created(LINES, hlc=draw(st.integers(1, 40))))
    for number in range(draw(st.integers(0, 9))):
        act(draw, record, number)
    return record


@fewer
@given(histories(), st.randoms(use_true_random=False), st.sampled_from([HOME, TEAM]))
def test_order_and_repetition_change_nothing(record: Record, random: Random, rights: Table) -> None:
    whole = record.state(rights)
    again = [*record.operations, *record.operations]
    random.shuffle(again)
    other = reduce(again, rights)
    assert other is not None
    assert encode_state(other) == encode_state(whole)
    assert state_sha256(other) == state_sha256(whole)


@fewer
@given(histories(), st.integers(0, 2**10), st.sampled_from([HOME, TEAM]))
def test_extending_is_reducing(record: Record, chosen: int, rights: Table) -> None:
    """Whatever part arrived before, an operation that extends its state gives what reducing gives."""
    for at, one in enumerate(record.operations):
        others = [o for n, o in enumerate(record.operations) if n != at and (chosen >> n) & 1]
        before = reduce(others, rights)
        extended = None if before is None else extend(before, one, rights)
        assert extended is None or extended == reduce([*others, one], rights)


@fewer
@given(histories(), st.data())
def test_what_saw_everything_extends(record: Record, data: st.DataObject) -> None:
    state = record.state()
    heads = [one for one in record.operations if one.hash in set(state.heads)]
    edit = record.say(
        data.draw(st.integers(1, 40)), BEN, on=heads, text="all", set={"project": "x"}, tag=["t"]
    )
    extended, after = extend(state, edit, HOME), record.state()
    assert extended == (None if state.deleted else after)
    assert (after.text, after.fields["project"]) == ("all", "x")
    assert state.deleted or (after.conflicts == [] and after.heads == [edit.hash])


@fewer
@given(histories())
def test_no_text_is_lost(record: Record) -> None:
    """Each text that nobody replaced is served, is merged into what is served, or is a visible conflict."""
    state = record.state()
    texts = {one.hash: one.operation.text for one in record.operations if one.operation.text is not None}
    heads = CausalOrder(record.operations).heads(set(texts))
    assert sorted(heads) == state.text_heads
    shown = [state.text, *(conflict.text for conflict in state.conflicts)]
    served = (state.text or "").split("\n")
    for number, one in enumerate(record.operations, -1):
        if one.hash in heads and not state.deleted:
            assert texts[one.hash] in shown or (not state.conflicts and f"by {number}" in served)


@fewer
@given(histories())
def test_a_deletion_hides_only_what_it_saw_and_a_restoration_brings_all_back(record: Record) -> None:
    before = record.state()
    heads = [one for one in record.operations if one.hash in set(before.heads)]
    gone = record.say(2, CAT, on=heads, deleted=True)
    assert (record.state().deleted, record.state().conflicts) == (True, [])
    record.say(1, ANN, on=[gone], deleted=False)
    after = record.state()
    assert not after.deleted
    assert after.text == before.text
    assert before.deleted or uncounted(after, before) == before


def uncounted(after: RecordState, before: RecordState) -> RecordState:
    """Put aside what any operation changes."""
    same = ("version", "heads", "clock", "updated_hlc")
    return msgspec.structs.replace(after, **{name: getattr(before, name) for name in same})


@dataclass(frozen=True)
class Forgery:
    """An operation of somebody without rights, on whatever he likes."""

    hlc: int
    part: str
    on: tuple[int, ...]
    has_nonce: bool


FORGERIES = st.builds(
    Forgery,
    hlc=st.integers(1, 1 << 62),
    part=st.sampled_from(["text", "set", "tag", "untag", "delete", "restore", "update", "type", "create"]),
    on=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    has_nonce=st.booleans(),
)


def forged(record: Record, forgery: Forgery) -> Stamped:
    first = record.creation.operation
    on = [record.operations[at % len(record.operations)] for at in forgery.on]
    parts: dict[str, object] = {
        "text": {"text": "mine now"},
        "set": {"set": {"project": "stolen", "kind": "directive"}},
        "tag": {"tag": ["t", "stolen"]},
        "untag": {"untag": [("t", one.hash) for one in record.operations]},
        "delete": {"deleted": True},
        "restore": {"deleted": False},
        "update": {"update": b"\0\0"},
        "type": {"type": "statement", "text": "x"},
        "create": {"text": "mine", "set": {"kind": "memory"}},
    }[forgery.part]  # type: ignore[assignment]
    nonce = mint(BEN)[1] if forgery.has_nonce else first.nonce
    draft = {"id": first.id, "type": first.type, "base": sorted({one.hash for one in on}), "nonce": nonce}
    return stamp(Operation(**{**draft, **parts}), forgery.hlc, BEN)  # type: ignore[arg-type]


@fewer
@given(histories(), st.lists(FORGERIES, min_size=1, max_size=4))
def test_who_may_only_append_changes_nothing_of_another_s_record(
    record: Record, forgeries: list[Forgery]
) -> None:
    """Whatever clock, parents, type or nonce he gives: not a byte of the state differs."""
    operations = [one for one in record.operations if one.author != BEN]
    before = reduce(operations, TEAM)
    after = reduce([*operations, *(forged(record, one) for one in forgeries)], TEAM)
    assert before is not None
    assert after is not None
    assert encode_state(after) == encode_state(before)


def test_who_may_only_append_cannot_make_a_record_under_an_id_that_is_not_his() -> None:
    made = created(author=ANN)
    assert reduce([made], TEAM) is not None
    assert reduce([stamp(made.operation, 1, BEN)], TEAM) is None


@pytest.mark.parametrize("count", [3, 64, 65, 150])
def test_any_number_of_heads_is_taken_in_by_and_by(count: int) -> None:
    record = Record(created())
    for number in range(count):
        record.say(11 + number, on=[record.creation], text=f"text {number}")
    state = record.state()
    for round_ in range(4):
        by_hash = {one.hash: one for one in record.operations}
        base = base_of(state)
        assert len(base) <= 64
        assert base == sorted(set(base))
        record.say(1000 + round_, on=[by_hash[name] for name in base], text="decided")
        state = record.state()
    assert (state.text, state.conflicts, len(state.heads)) == ("decided", [], 1)


def test_an_edit_decides_the_conflicts_that_it_was_shown() -> None:
    record = Record(created())
    for number in range(100):
        record.say(11 + number, on=[record.creation], text=f"text {number}")
    before = record.state()
    by_hash = {one.hash: one for one in record.operations}
    record.say(1000, on=[by_hash[name] for name in base_of(before)], text="decided")
    shown = {conflict.hash for conflict in before.conflicts}
    assert len(shown) == 64
    assert shown.isdisjoint(conflict.hash for conflict in record.state().conflicts)


def test_rights_are_those_at_the_clock_of_the_operation() -> None:
    class Until:
        def may(self, author: bytes, right: str, hlc: int) -> bool:
            return author == ANN or (right == "append" or hlc < 50)

    record = Record(created("one"))
    record.say(49, BEN, on=[record.creation], set={"project": "in time"})
    record.say(51, BEN, on=[record.creation], set={"project": "too late"})
    state = reduce(record.operations, Until())
    assert state is not None
    assert (state.fields["project"], state.version) == ("in time", 2)
