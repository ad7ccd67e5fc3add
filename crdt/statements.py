"""Statements: what was kept on purpose about a workspace, named by what they say.

The same statement made twice, on one node or on two, is one record: its id is the first 32 hex digits of
SHA-256 over the workspace, a NUL and the canonical JSON of what is stated (DECISIONS.md 18).  The text is
rendered from the fields, so that nobody can put other words under the id of a statement.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from crdt.canonical import encode_canonical
from crdt.field_rules import LINE, NAME, PROSE, RecordType, Rule, Texts
from crdt.operations import Operation, Value

KEY_CHARS = 32
SAID = ("title", "summary", "facts", "open_ends")
"""The fields that a statement says; the others are about it."""


def job_key(fields: Mapping[str, Value]) -> str:
    """Name a statement: 32 hex digits.  Absent lists count as empty ones, absent texts as empty."""
    workspace = fields.get("workspace") or ""
    return keyed(str(workspace), said(fields))


def said(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Give what is stated, in its one form."""
    return {name: fields.get(name) or ([] if name in ("facts", "open_ends") else "") for name in SAID}


def keyed(workspace: str, stated: Mapping[str, Value]) -> str:
    """Hash a workspace and what was said about it."""
    data = workspace.encode("utf-8", "surrogatepass") + b"\0" + encode_canonical(dict(stated))
    return hashlib.sha256(data).hexdigest()[:KEY_CHARS]


def render(fields: Mapping[str, Value]) -> str:
    """Write a statement as one text: title, summary, facts, open ends."""
    stated = said(fields)
    parts = [str(stated["title"]), str(stated["summary"])]
    parts += [_listed(heading, stated[name]) for heading, name in (("Facts", "facts"), ("Open", "open_ends"))]
    return "\n\n".join(part for part in parts if part)


def _listed(heading: str, items: Value) -> str:
    lines = [f"- {item}" for item in items] if isinstance(items, list) else []
    return "\n".join([f"{heading}:", *lines]) if lines else ""


def _derive(operation: Operation) -> str:
    return job_key(operation.set) if operation.text == render(operation.set) else ""


EPISODE_FIELDS: dict[str, Rule] = {
    "title": LINE,
    "summary": PROSE,
    "facts": Texts(chars_max=4_000),
    "open_ends": Texts(chars_max=4_000),
    "workspace": LINE,
    "project": NAME,
}
"""What statements and session records have in common."""

STATEMENT = RecordType(
    name="statement",
    fields=EPISODE_FIELDS,
    required=frozenset({"title", "summary"}),
    derive=_derive,
)
