"""Fragments and conversations in their stored form."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt.archive import decode_fragment
from crdt.canonical import encode_canonical
from crdt.errors import Damaged
from crdt.events import Event, Fragment, Kind, Origin, Role
from tests.crdt.samples import body, event, fragment

EVENTS = st.builds(
    Event,
    id=st.none() | st.text(max_size=8),
    kind=st.sampled_from([kind.value for kind in Kind]),
    role=st.sampled_from([role.value for role in Role]),
    text=st.text(max_size=30),
    seq=st.integers(0, 2**40),
    timestamp=st.none() | st.text(max_size=24),
    parent=st.none() | st.text(max_size=8),
)


@given(st.lists(EVENTS, max_size=5), st.dictionaries(st.text(max_size=4), st.integers(1, 9), max_size=2))
def test_a_fragment_comes_back_from_its_bytes(events: list[Event], redactions: dict[str, int]) -> None:
    made = fragment(*events, redactions=redactions)
    assert decode_fragment(encode_canonical(made)) == made


def test_a_field_of_a_newer_program_is_passed_over() -> None:
    made = fragment(event("a", 0))
    document = {**json.loads(body(made).data), "later": [1]}
    assert decode_fragment(msgspec.json.encode(document)) == made


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"version":1}'])
def test_bytes_that_are_no_fragment_are_damage(data: bytes) -> None:
    with pytest.raises(Damaged, match="can't be read"):
        decode_fragment(data)


def test_events_can_not_be_changed() -> None:
    with pytest.raises(AttributeError):
        event("a", 0).text = "other"  # type: ignore[misc]


def test_kinds_roles_and_origins_are_the_words_of_the_archive() -> None:
    assert {kind.value for kind in Kind} == {
        "message", "reasoning", "summary", "tool-call", "tool-result", "metadata",
    }  # fmt: skip
    assert {role.value for role in Role} == {"user", "assistant", "system", "developer", "tool", "unknown"}
    assert msgspec.convert("ingest", Origin) is Origin.INGEST
    assert Fragment.__struct_config__.frozen
