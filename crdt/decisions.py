"""Decisions: said once; another decision supersedes one, by an edge.  The text, if any, is context."""

from __future__ import annotations

from crdt.field_rules import LINE, NAME, NAMES, PROSE, Content, RecordType, Texts

DECISION = RecordType(
    name="decision",
    fields={
        "decision": PROSE,
        "rationale": PROSE,
        "alternatives": Texts(chars_max=4_000),
        "task_id": NAME,
        "supersedes": NAMES,
        "project": NAME,
        "workspace": LINE,
    },
    required=frozenset({"decision"}),
    content=Content.OPTIONAL,
    is_final=True,
)
