"""Instants as text, ages, and the stamp of the last refresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.instants import StampInvalid, at_and_age, iso, iso_ms, read_stamp, seconds_of

NOW_S = 1_800_000_000.0


def test_an_instant_is_utc_and_ends_in_z() -> None:
    assert iso(0) == "1970-01-01T00:00:00Z"
    assert iso(NOW_S + 0.9) == "2027-01-15T08:00:00Z"
    assert iso_ms(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-15T08:00:00.000Z", NOW_S),
        ("2027-01-15T10:00:00+02:00", NOW_S),
        ("2027-01-15T08:00:00", NOW_S),
        ("2027-01-15Tlunch", None),
        ("", None),
        (None, None),
    ],
)
def test_instants_of_sources_are_read(text: str | None, expected: float | None) -> None:
    assert seconds_of(text) == expected


@pytest.mark.parametrize(
    ("instant_s", "expected"),
    [
        (NOW_S - 90.5, {"at": "2027-01-15T07:58:29Z", "ageSeconds": 90}),
        (NOW_S + 500, {"at": "2027-01-15T08:08:20Z", "ageSeconds": 0}),
        (None, {"at": None, "ageSeconds": None}),
        (1e300, {"at": None, "ageSeconds": None}),
        (-1.0, {"at": None, "ageSeconds": None}),
    ],
)
def test_an_age_is_never_negative(instant_s: float | None, expected: dict[str, object]) -> None:
    assert at_and_age(instant_s, NOW_S) == expected


@pytest.mark.parametrize("text", ["1799999999", "1799999999\n", " 1799999999.0", "1.799999999e9"])
def test_a_stamp_is_a_number_of_seconds(tmp_path: Path, text: str) -> None:
    (tmp_path / "stamp").write_text(text)
    assert read_stamp(tmp_path / "stamp", NOW_S) == 1_799_999_999


def test_no_stamp_is_no_instant(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_stamp(tmp_path / "absent", NOW_S) is None
    assert read_stamp(tmp_path / "file" / "stamp", NOW_S) is None


@pytest.mark.parametrize("data", [b"", b"x", b"nan", b"-1", b"1800000061", b"\xff", b"9" * 400])
def test_a_stamp_of_no_meaning_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "stamp").write_bytes(data)
    with pytest.raises(StampInvalid):
        read_stamp(tmp_path / "stamp", NOW_S)
