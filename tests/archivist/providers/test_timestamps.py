"""Every way to write an instant, brought to one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archivist.providers.timestamps import normalised_timestamp


@pytest.mark.parametrize(
    ("given_value", "normal"),
    [
        ("2026-01-05T09:00:00.123Z", "2026-01-05T09:00:00.123Z"),
        ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00.000Z"),
        ("2026-01-05T09:00:00.123456Z", "2026-01-05T09:00:00.123Z"),
        ("2026-01-05T10:00:00+01:00", "2026-01-05T09:00:00.000Z"),
        ("2026-01-05T09:00:00", "2026-01-05T09:00:00.000Z"),
        (" 2026-01-05 09:00 ", "2026-01-05T09:00:00.000Z"),
        ("2026-01-05", "2026-01-05T00:00:00.000Z"),
        (1767603600000, "2026-01-05T09:00:00.000Z"),
        (1767603600123.0, "2026-01-05T09:00:00.123Z"),
        (1767603600, "2026-01-05T09:00:00.000Z"),
        ("1767603600000", "2026-01-05T09:00:00.000Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("noon", None),
        ("aaaaaaaaaaTaaaaaaaa.aaaZ", None),
        ("", None),
        ("9" * 400, None),
        (10**30, None),
        (10**4000, None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
        (["2026"], None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_instants_are_normalised_and_what_is_none_is_left_out(
    given_value: object, normal: str | None
) -> None:
    assert normalised_timestamp(given_value) == normal


@given(st.one_of(st.text(), st.integers(), st.floats()))
def test_nothing_is_fatal_and_a_normal_one_stays(value: object) -> None:
    made = normalised_timestamp(value)
    assert made is None or normalised_timestamp(made) == made
