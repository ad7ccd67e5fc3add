"""Canonical JSON: one value, one line of bytes."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from crdt.canonical import encode_canonical
from crdt.events import Fragment
from tests.crdt.samples import event, fragment

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LINE_ENDS = ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@given(PLAIN)
def test_a_value_comes_back_and_its_form_is_one_line(value: object) -> None:
    data = encode_canonical(value)
    assert json.loads(data) == value
    assert b"\n" not in data
    assert encode_canonical(json.loads(data)) == data


@given(st.dictionaries(st.text(), st.integers(), min_size=2, max_size=6))
def test_the_order_in_which_keys_were_entered_does_not_show(value: dict[str, int]) -> None:
    turned = dict(reversed(list(value.items())))
    assert encode_canonical(turned) == encode_canonical(value)
    assert list(json.loads(encode_canonical(value))) == sorted(value, key=lambda key: key.encode())


def test_line_and_paragraph_separators_are_escaped_in_texts_and_in_keys() -> None:
    text = "a" + "".join(LINE_ENDS) + "b"
    data = encode_canonical({text: text})
    assert not {"\u2028", "\u2029"} & set(data.decode())
    assert data.count(b"\\u2028") == data.count(b"\\u2029") == 2
    assert json.loads(data) == {text: text}


def test_neighbours_of_the_separators_are_left_alone() -> None:
    text = "“quoted” … \u2027\u202a\u2030"
    assert encode_canonical(text) == f'"{text}"'.encode()


def test_absent_optionals_and_defaults_are_omitted() -> None:
    found = json.loads(encode_canonical(fragment(event("a", 0))))
    assert "title" not in found
    assert "automation" not in found
    assert set(found["events"][0]) == {"id", "kind", "role", "text", "seq"}
    assert list(found) == sorted(found)
    assert set(found) < {field.encode_name for field in msgspec.structs.fields(Fragment)}
