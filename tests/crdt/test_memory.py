"""Memory's fields: values of each, and what the API may count on."""

from __future__ import annotations

import pytest

from crdt.memory import MEMORY
from crdt.memory_kinds import KINDS, SCOPES
from crdt.operations import Value


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_kind(kind: str) -> None:
    assert MEMORY.fields["kind"].fits(kind)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("scope", SCOPES[0], "world"),
        ("confidence", 0.5, -0.1),
        ("parents", ["a"], "a"),
        ("expires_at", 1_700_000_000_000, "tomorrow"),
        ("collaborative", True, "yes"),
        ("trust", "untrusted", "some"),
    ],
)
def test_fields_have_their_rules(name: str, good: Value, bad: Value) -> None:
    assert MEMORY.fields[name].fits(good)
    assert not MEMORY.fields[name].fits(bad)


def test_only_memory_is_edited_by_several_at_once() -> None:
    assert MEMORY.is_collaborative
    assert not MEMORY.derived
