"""What the index keeps of each type of record: its words, what is known of it, and where it belongs."""

from __future__ import annotations

import pytest

from crdt.clock import pack
from crdt.ids import conversation_id, event_id, record_id
from crdt.operations import Value
from crdt.records import RecordState, state_sha256
from retrieval.memory_rows import FILINGS, Memory, memory_of

MADE_MS, CHANGED_MS = 1_772_700_000_000, 1_772_800_000_000


def state(kind: str, text: str | None = None, /, **parts: object) -> RecordState:
    """Make a state."""
    fields: dict[str, Value] = parts.pop("fields", {})  # type: ignore[assignment]
    made = {
        "id": "r1", "type": kind, "creator": b"k" * 32, "agent": "local", "owners": [], "version": 1,
        "created_hlc": pack(MADE_MS), "updated_hlc": pack(CHANGED_MS), "clock": 0, "heads": [],
        "text": text, "fields": fields,
    }  # fmt: skip
    return RecordState(**(made | parts))  # type: ignore[arg-type]


def kept(made: RecordState) -> Memory:
    """Give what the index keeps, which is something."""
    found = memory_of(made, "local@desk")
    assert found is not None
    return found


def test_ids_follow_from_source_and_record_alone():
    memory = kept(state("memory", "a text"))
    conversation = conversation_id("memory", "r1")
    event = event_id(conversation, "1")
    assert memory.conversation_id == conversation
    assert (memory.draft.event_id, memory.draft.record_id.hex()) == (event, record_id(conversation, event))
    assert kept(state("statement", "a text")).conversation_id == conversation_id("atrium", "r1")


def test_the_revision_is_the_state():
    one, other = state("memory", "a text"), state("memory", "a text", version=2)
    assert kept(one).draft.source_sha256 == state_sha256(one) != kept(other).draft.source_sha256
    assert kept(one).draft.content_sha256 == kept(other).draft.content_sha256


@pytest.mark.parametrize(
    "made",
    [
        state("memory", "a text", deleted=True),
        state("memory", "  \n"),
        state("memory", None),
        state("task", "a text"),
        state("edge"),
        state("message", "a text"),
    ],
    ids=["deleted", "blank", "without a text", "task", "edge", "message"],
)
def test_some_records_are_not_kept(made):
    assert memory_of(made, "local@desk") is None


def test_memory_is_dated_by_its_last_change_and_what_is_said_once_by_its_first():
    assert kept(state("memory", "a text")).draft.authored_at == "2026-03-06T12:26:40.000Z"
    for kind in ("statement", "session-record", "decision", "handoff"):
        assert kept(state(kind, "a text")).draft.authored_at == "2026-03-05T08:40:00.000Z"


def test_a_decision_reads_with_its_reasons():
    fields: dict[str, Value] = {
        "decision": "Use the tall crane",
        "rationale": "It reaches further",
        "alternatives": ["two short", "a ship"],
    }
    assert kept(state("decision", "Asked by Ana", fields=fields)).draft.text == (
        "Use the tall crane\n\nIt reaches further\n\nAlternatives:\n- two short\n- a ship\n\nAsked by Ana"
    )
    assert kept(state("decision", fields={"decision": "Yes", "alternatives": []})).draft.text == "Yes"


def test_a_handoff_reads_with_what_is_open():
    fields: dict[str, Value] = {"in_progress": ["the hook"], "next_steps": ["grease it", "test it"]}
    assert kept(state("handoff", "Half done", fields=fields)).draft.text == (
        "Half done\n\nIn progress:\n- the hook\n\nNext:\n- grease it\n- test it"
    )


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"title": "Crane"}, "Crane"),
        ({"headline": "Gantry"}, "Gantry"),
        ({"headline": " "}, "The first line"),
        ({}, "The first line"),
    ],
)
def test_a_title_is_given_or_the_first_line(fields, title):
    assert kept(state("memory", "\nThe first line\nand another", fields=fields)).title == title


def test_a_first_line_is_no_title_of_any_length():
    assert len(kept(state("memory", "long " * 100)).title) < 101


@pytest.mark.parametrize(
    ("fields", "workspace", "project"),
    [
        ({"workspace": "[HOME]/yard", "project": "yard"}, "[HOME]/yard", None),
        ({"project": "Yard"}, None, "yard"),
        ({"workspace": "", "project": ""}, None, None),
        ({}, None, None),
    ],
    ids=["both", "label", "empty", "none"],
)
def test_a_workspace_says_more_than_a_label(fields, workspace, project):
    memory = kept(state("memory", "a text", fields=fields))
    assert (memory.workspace, memory.draft.project) == (workspace, project)


def test_what_is_known_beside_the_text_is_searched_beside_it():
    made = state(
        "memory", "a text", fields={"kind": "skill", "headline": "Gantry"}, tags={"lift": [], "crane": []}
    )
    assert kept(made).draft.headings == "Gantry\ncrane lift\nskill\n2026-03-06 march"
    assert kept(state("memory", "a text", fields={"kind": "memory"})).draft.headings == "2026-03-06 march"


def test_an_expiry_is_kept():
    assert kept(state("memory", "a text", fields={"expires_at": 7})).draft.expires_ms == 7
    assert kept(state("memory", "a text")).draft.expires_ms is None


def test_every_filing_names_a_source_of_its_own_kind():
    assert {name: (filing.source, filing.role) for name, filing in FILINGS.items()} == {
        "memory": ("memory", "memory"),
        "statement": ("atrium", "synthesis"),
        "session-record": ("atrium", "synthesis"),
        "decision": ("decision", "memory"),
        "handoff": ("handoff", "memory"),
    }
