"""What a node hands out comes back as it was, or not at all."""

from __future__ import annotations

import pytest

from crdt.errors import BadInput
from crdt.keys import node_id
from mesh.identity import generate
from mesh.member_key import MemberKey, parse, spell

KEY = generate()
SPELLED = spell(KEY.public_key, KEY.next_commitment)


def test_it_comes_back_as_it_was() -> None:
    expected = MemberKey(key=KEY.public_key, promise=KEY.next_commitment)
    assert parse(SPELLED) == parse(f"  {SPELLED.upper()}\n") == expected
    assert len(SPELLED) == 105


def test_a_key_alone_has_made_no_promise() -> None:
    assert parse(node_id(KEY.public_key)) == MemberKey(key=KEY.public_key)


@pytest.mark.parametrize(
    "text",
    ["", ".", "word", SPELLED[:-1], SPELLED + "a", SPELLED[1:], SPELLED + ".", f"{SPELLED[:53]}", "ü" * 105],
    ids=("empty", "dot", "word", "shorter", "longer", "beheaded", "dotted", "key and dot", "foreign"),
)
def test_nothing_else_is_a_key(text: str) -> None:
    with pytest.raises(BadInput):
        parse(text)


def test_no_other_letter_spells_the_same_key() -> None:
    for at, letter in enumerate(SPELLED):
        other = SPELLED[:at] + ("b" if letter == "a" else "a") + SPELLED[at + 1 :]
        try:
            found = parse(other)
        except BadInput:
            continue
        assert found != parse(SPELLED)
