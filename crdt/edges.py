"""Edges between records, named by their two ends and their relation: the same edge twice is one record."""

from __future__ import annotations

import hashlib

from crdt.field_rules import LINE, NAME, Content, RecordType
from crdt.operations import Operation

SUPERSEDES = "supersedes"
"""The relation from a newer record to the one that it replaces."""


def edge_id(relation: str, start: str, end: str) -> str:
    """Name an edge: 32 hex digits."""
    named = f"atrium-v1\0edge\0{relation}\0{start}\0{end}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(named).hexdigest()[:32]


def _derive(operation: Operation) -> str:
    fields = operation.set
    return edge_id(str(fields.get("relation")), str(fields.get("from")), str(fields.get("to")))


EDGE = RecordType(
    name="edge",
    fields={"from": NAME, "to": NAME, "relation": NAME, "origin": LINE},
    required=frozenset({"from", "to", "relation"}),
    content=Content.ABSENT,
    derive=_derive,
)
