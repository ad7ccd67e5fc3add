"""Projects: a label, who owns it, who takes part.  Named by the label, so that a space has one of each."""

from __future__ import annotations

import hashlib

from crdt.field_rules import LINE, NAME, NAMES, Content, Flag, RecordType
from crdt.operations import Operation


def project_id(label: str) -> str:
    """Name a project by its label, trimmed and in lower case: 32 hex digits."""
    named = f"atrium-v1\0project\0{label.strip().lower()}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(named).hexdigest()[:32]


def _derive(operation: Operation) -> str:
    return project_id(str(operation.set.get("label")))


PROJECT = RecordType(
    name="project",
    fields={"label": NAME, "owner": NAME, "members": NAMES, "open": Flag(), "space": NAME, "workspace": LINE},
    required=frozenset({"label"}),
    content=Content.ABSENT,
    derive=_derive,
    is_claimable=False,
)
"""Anybody can derive the id of a label, so a project is made by whoever may moderate.

`owner` and `members` are agent@node; `space` binds the project to another space (its id in hex).
"""
