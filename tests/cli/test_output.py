"""Documents as lines for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cli import output


@pytest.fixture
def colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_wants_colour", lambda: True)


def test_a_document_is_one_line_of_utf8_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"text": "café 🦩 \udcff", "n": 1})
    (line,) = capsys.readouterr().out.splitlines()
    assert "café 🦩" in line
    assert json.loads(line) == {"text": "café 🦩 \udcff", "n": 1}


def test_no_control_reaches_a_terminal_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"text": "a\x1b[31mb\x07c\x9b31md\u202ee\x7ff\x80", "\x9fkey": "\u2028"}
    output.print_json(document)
    (line,) = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert not [char for char in line if output.plain(char) != char]
    assert "\\u009b31m" in line
    assert json.loads(line) == document


def test_foreign_text_can_not_steer_the_terminal() -> None:
    assert output.plain("a\x1b[31mb\x07c\x9bd\u202ee\nf\tg") == "a[31mbcde\nf\tg"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "now"),
        (5, "5 s"),
        (61, "1 min"),
        (7200, "2 h"),
        (200_000, "2 d"),
        (3e6, "1 mo"),
        (4e7, "1 y"),
        (-5, "now"),
    ],
)
def test_a_span_is_said_in_its_largest_unit(seconds: float, said: str) -> None:
    assert output.span(seconds) == said


def test_an_age_is_read_from_an_instant() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert output.age("2026-01-01T00:00:00.000Z", now) == "1 d"
    assert output.age("2026-01-01T22:00:00", now) == "2 h"
    assert output.age("2027-01-01T00:00:00Z", now) == "now"
    assert output.age("yesterday", now) == ""
    assert output.age("", now) == ""


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (7e12, "7000.0 GB")],
)
def test_sizes_are_said_in_decimal_units(count: float, said: str) -> None:
    assert output.size(count) == said


def test_counts_agree_with_their_noun() -> None:
    assert output.plural(1, "entry", "entries") == "1 entry"
    assert output.plural(2, "entry", "entries") == "2 entries"
    assert output.plural(1234, "hit") == "1,234 hits"


def test_an_excerpt_is_cut_around_the_match(colour: None) -> None:
    text = "before " * 100 + "the albatross landed" + " after" * 100
    shown = output.excerpt(text, "ALBATROSS")
    assert "\x1b[1malbatross\x1b[0m" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < output.EXCERPT_CHARS + 20


def test_a_short_text_comes_whole_on_one_line(colour: None) -> None:
    assert output.excerpt("a heron\n  stands", "reeds") == "a heron stands"
    assert output.excerpt("a heron", "") == "a heron"
    assert output.excerpt("a (heron", "(") == "a (heron"


def test_without_colour_nothing_is_set_apart() -> None:
    assert output.excerpt("a heron", "heron") == "a heron"
    assert output.strong("x") + output.faint("y") == "xy"


def test_wrong_types_in_a_document_are_empty() -> None:
    document = {"text": 7, "number": "x", "part": [], "list": {}, "texts": [1, "a"], "items": [{}, 1]}
    assert output.text_of(document, "text", "?") == "?"
    assert output.number_of(document, "number") == 0
    assert output.part_of(document, "part") == {}
    assert output.list_of(document, "list") == []
    assert output.list_of(document, "items") == [{}]
    assert output.texts_of(document, "texts") == ["a"]


def test_a_document_of_counts_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    output.counts({"schemaVersion": 1, "records_before": 1200, "status": "ready", "applied": True, "x": {}})
    assert capsys.readouterr().out == "records before  1,200\nstatus          ready\napplied         yes\n"
