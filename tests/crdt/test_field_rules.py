"""What a field may hold."""

from __future__ import annotations

import pytest

from crdt.field_rules import INSTANT, LINE, NAMES, Choice, Flag, Number, Rule, Texts, Words
from crdt.operations import Value

FRACTION = Number(low=0, high=1)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (LINE, ""),
        (Words(chars_max=2), "äö"),
        (Choice(("a", "b")), "b"),
        (FRACTION, 0),
        (FRACTION, 1.0),
        (INSTANT, 0),
        (Flag(), False),
        (NAMES, []),
        (Texts(items_max=2, chars_max=1), ["a", "b"]),
    ],
)
def test_what_fits(rule: Rule, value: Value) -> None:
    assert rule.fits(value)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (LINE, 1),
        (Words(chars_max=2), "abc"),
        (Choice(("a", "b")), "c"),
        (Choice(("a", "b")), ["a"]),
        (FRACTION, 1.1),
        (FRACTION, float("nan")),
        (FRACTION, True),
        (FRACTION, "0.5"),
        (INSTANT, 1.5),
        (INSTANT, -1),
        (INSTANT, 1 << 47),
        (Flag(), 1),
        (NAMES, "a"),
        (Texts(items_max=2, chars_max=1), ["a", "b", "c"]),
        (Texts(items_max=2, chars_max=1), ["ab"]),
    ],
)
def test_what_does_not(rule: Rule, value: Value) -> None:
    assert not rule.fits(value)
    assert rule.wanted
