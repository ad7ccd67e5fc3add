"""Messages between agents.  The text is the body; what was sent stays as it was sent."""

from __future__ import annotations

from crdt.field_rules import LINE, NAME, RecordType

MESSAGE = RecordType(
    name="message",
    fields={"to": NAME, "subject": LINE, "reply_to": NAME, "project": NAME},
    required=frozenset({"to"}),
    is_final=True,
)
"""`to` is an agent, agent@node, `broadcast` or `project:<label>`."""
