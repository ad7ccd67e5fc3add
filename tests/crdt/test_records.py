"""Operations are judged before they are written; states have one byte form; types have their rules."""

from __future__ import annotations

import msgspec
import pytest

from crdt.edges import edge_id
from crdt.errors import BadInput
from crdt.operations import Operation, Value
from crdt.projects import project_id
from crdt.records import TYPES, base_of, check, decode_state, encode_state, state_sha256, type_of
from crdt.statements import job_key, render
from tests.crdt.record_kit import Record, created

EPISODE: dict[str, Value] = {"title": "t", "summary": "s"}
GOOD = {
    "memory": Operation(id="i", type="memory", set={"kind": "doc", "confidence": 1}, text="t"),
    "task": Operation(id="i", type="task", set={"title": "t", "due_at": 5, "depends_on": ["a"]}),
    "message": Operation(id="i", type="message", set={"to": "ben"}, text="t"),
    "handoff": Operation(id="i", type="handoff", set={"next_steps": ["a"]}, text="t"),
    "decision": Operation(id="i", type="decision", set={"decision": "d"}),
    "feed-item": Operation(id="i", type="feed-item", set={"feed": "f", "guid": "g"}),
    "statement": Operation(id=job_key(EPISODE), type="statement", set=EPISODE, text=render(EPISODE)),
    "edge": Operation(id=edge_id("r", "a", "b"), type="edge", set={"from": "a", "to": "b", "relation": "r"}),
    "project": Operation(id=project_id("p"), type="project", set={"label": "p", "open": True}),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_creation_passes(name: str) -> None:
    check(GOOD[name], new=True)


def test_every_type_has_its_name() -> None:
    assert {name: kind.name for name, kind in TYPES.items()} == {name: name for name in TYPES}
    assert all(kind.required <= kind.fields.keys() for kind in TYPES.values())
    assert all(kind.arbitrated <= kind.fields.keys() for kind in TYPES.values())
    with pytest.raises(BadInput, match="no type") as caught:
        type_of("memo")
    assert "memory" in caught.value.hint


BAD = {
    "unknown type": (Operation(id="i", type="memo"), "memo"),
    "unknown field": (Operation(id="i", type="memory", set={"kind": "doc", "mood": "x"}, text="t"), "mood"),
    "a value that does not fit": (
        Operation(id="i", type="memory", set={"kind": "doc", "confidence": 2}, text="t"),
        "confidence",
    ),
    "a required field left out": (Operation(id="i", type="memory", text="t"), "kind"),
    "a required field emptied": (Operation(id="i", type="memory", set={"kind": None}, text="t"), "kind"),
    "no text": (Operation(id="i", type="memory", set={"kind": "doc"}), "text"),
    "a blank text": (Operation(id="i", type="memory", set={"kind": "doc"}, text=" \n"), "text"),
    "a text where none is": (
        Operation(id=project_id("p"), type="project", set={"label": "p"}, text="t"),
        "text",
    ),
    "an edit by several of what is not": (
        Operation(id="i", type="message", set={"to": "b"}, text="t", update=b"\0\0"),
        "several",
    ),
    "another id than it says": (Operation(id="i", type="project", set={"label": "p"}), "id"),
    "other words than it says": (
        Operation(id=job_key(EPISODE), type="statement", set=EPISODE, text="x"),
        "id",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_creation_is_refused_by_name(name: str) -> None:
    operation, word = BAD[name]
    with pytest.raises(BadInput, match=word) as caught:
        check(operation, new=True)
    assert caught.value.hint


def test_an_edit_may_leave_out_what_a_creation_needs() -> None:
    check(Operation(id="i", type="memory", set={"project": None}), new=False)
    check(Operation(id="i", type="memory", deleted=True), new=False)
    check(Operation(id="i", type="message", deleted=True), new=False)
    with pytest.raises(BadInput, match="stays"):
        check(Operation(id="i", type="message", text="other"), new=False)
    with pytest.raises(BadInput, match="text"):
        check(Operation(id="i", type="memory", text=""), new=False)


def test_what_does_not_fit_is_passed_over_in_operations_from_elsewhere() -> None:
    record = Record(created("t", project="p", confidence=0.5))
    record.say(
        11, on=[record.creation], set={"confidence": "high", "mood": "x", "project": ["p"], "kind": None}
    )
    assert record.state().fields == {"kind": "memory", "project": "p", "confidence": 0.5}


def test_a_state_has_one_byte_form() -> None:
    record = Record(created("t", project="p", headline="h"))
    record.say(11, on=[record.creation], text="a", tag=["z", "a"])
    record.say(12, on=[record.creation], text="b")
    state = record.state()
    assert decode_state(encode_state(state)) == state
    assert len(state_sha256(state)) == 32
    turned = msgspec.structs.replace(state, fields=dict(reversed(state.fields.items())))
    assert encode_state(turned) == encode_state(state)
    with pytest.raises(msgspec.MsgspecError):
        decode_state(b"\x93")


def test_an_operation_builds_on_all_heads() -> None:
    record = Record(created())
    record.say(11, on=[record.creation], tag=["a"])
    record.say(12, on=[record.creation], tag=["b"])
    assert base_of(record.state()) == record.state().heads
