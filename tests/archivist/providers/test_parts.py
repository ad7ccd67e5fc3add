"""What several adapters do with parts."""

from __future__ import annotations

import pytest

from archivist.providers.parts import TOO_DEEP, call_text, canonical_text, decoded_object, plain_name, strings


def test_a_call_is_canonical_whatever_the_order_it_came_in() -> None:
    assert call_text("Bash", {"b": [1], "a": None}) == '{"input":{"a":null,"b":[1]},"name":"Bash"}'
    assert call_text(None, "x\u2028") == '{"input":"x\\u2028","name":""}'


def test_a_value_that_nests_beyond_use_has_a_marker() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert canonical_text(value) == TOO_DEEP


@pytest.mark.parametrize("name", ["", None, "two words", "a" * 41, "sk-ant-api03-" + "x" * 40, "é", "1st"])
def test_a_name_that_is_no_plain_word_is_not_repeated(name: str | None) -> None:
    assert plain_name(name, "unknown") == "unknown"


@pytest.mark.parametrize("name", ["file-history-snapshot", "turn_context", "Part2"])
def test_a_plain_name_is_kept(name: str) -> None:
    assert plain_name(name, "unknown") == name


def test_strings_come_in_the_order_of_their_names() -> None:
    assert list(strings({"a": "1", "b": 2, "c": "3"}, "c", "b", "a", "d")) == ["3", "1"]
    assert list(strings(["a"], "a")) == []


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        ('{"a":"\\ud800"}', {"a": "\ufffd"}),
        (b"[1]", None),
        (b'{"a":', None),
        (b'{"a":"\xff"}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_objects_are_decoded_and_nothing_else(data: bytes | str, value: object) -> None:
    assert decoded_object(data) == value
