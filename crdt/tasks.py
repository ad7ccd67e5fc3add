"""Tasks.  The text is the description.

The node that created a task is its arbiter: who holds it and how it ended is for that node to say, so that
two claims at the same time on two nodes have one winner.
"""

from __future__ import annotations

from crdt.field_rules import INSTANT, LINE, NAME, NAMES, PROSE, Choice, Content, RecordType

STATES = ("open", "claimed", "completed", "failed")
PRIORITIES = ("low", "normal", "high")

TASK = RecordType(
    name="task",
    fields={
        "title": LINE,
        "expected_outcome": PROSE,
        "project": NAME,
        "workspace": LINE,
        "priority": Choice(PRIORITIES),
        "assigned_to": NAME,
        "due_at": INSTANT,
        "depends_on": NAMES,
        "completion_contract": PROSE,
        "verify": PROSE,
        "output": PROSE,
        "state": Choice(STATES),
        "claimed_by": NAME,
        "lease_until": INSTANT,
    },
    required=frozenset({"title"}),
    content=Content.OPTIONAL,
    arbitrated=frozenset({"state", "claimed_by", "lease_until"}),
)
"""`completion_contract`, `verify` and `output` are JSON."""
