"""What sessions leave behind: a handoff for whoever goes on, a record of what was done.

The text of a handoff is its summary.  A session record says what a statement says, about one session up to
one boundary, and is named by all of that.
"""

from __future__ import annotations

from collections.abc import Mapping

from crdt.field_rules import LINE, NAME, NAMES, RecordType, Texts
from crdt.operations import Operation, Value
from crdt.statements import EPISODE_FIELDS, keyed, render, said

HANDOFF = RecordType(
    name="handoff",
    fields={
        "host": NAME,
        "project": NAME,
        "workspace": LINE,
        "in_progress": Texts(),
        "next_steps": Texts(),
        "memory_refs": NAMES,
    },
    is_final=True,
)


def session_key(fields: Mapping[str, Value]) -> str:
    """Name a session record: 32 hex digits over its workspace, session, boundary and what it says."""
    stated = said(fields) | {name: fields.get(name) or "" for name in ("conversation_id", "boundary")}
    return keyed(str(fields.get("workspace") or ""), stated)


def _derive(operation: Operation) -> str:
    return session_key(operation.set) if operation.text == render(operation.set) else ""


SESSION_RECORD = RecordType(
    name="session-record",
    fields={**EPISODE_FIELDS, "conversation_id": NAME, "boundary": NAME, "source": NAME, "host": NAME},
    required=frozenset({"title", "summary", "conversation_id"}),
    derive=_derive,
)
