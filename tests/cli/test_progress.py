"""How far something is, as people read it."""

from __future__ import annotations

import sys

import pytest

from cli import progress
from cli.progress import Pace


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def step(done: int, **more: object) -> dict[str, object]:
    return {"phase": "capture", "done": done, "total": 100_000_000, "unit": "bytes", **more}


def test_amount_rate_and_time_left_are_said() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.describe(step(0)) == "0 B of 100.0 MB"
    clock.now_s += 10
    said = pace.describe(step(50_000_000, conversations=12, redactions=1))
    assert said == "50.0 MB of 100.0 MB, 12 conversations, 1 secret redacted, 5.0 MB/s, 10 s left"


def test_each_phase_has_a_pace_of_its_own() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.describe(step(0))
    clock.now_s += 100
    records = {"phase": "substrings", "done": 10, "total": 20, "unit": "records"}
    assert pace.describe(records) == "10 records of 20 records"
    clock.now_s += 1
    assert pace.describe({**records, "done": 15}) == "15 records of 20 records, 5 records/s, 1 s left"


def test_without_a_total_there_is_no_time_left() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.describe({"phase": "x", "done": 1, "unit": "notes"})
    clock.now_s += 1
    assert pace.describe({"phase": "x", "done": 3, "unit": "notes"}) == "3 notes, 2 notes/s"


def test_in_a_pipe_nothing_is_shown_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown() as report:
        report(step(1))
    assert capsys.readouterr() == ("", "")
    with progress.shown(lines=True) as report:
        for done in range(50):
            report(step(done))
        report({"phase": "substrings", "done": 1, "total": 2, "unit": "records"})
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.split(":")[0] for line in said.err.splitlines()] == [
        "reading transcripts",
        "indexing fragments",
    ]


def test_the_last_line_of_a_phase_says_that_all_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(lines=True) as report:
        for done in (0, 1, 100_000_000, 100_000_000):
            report(step(done))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "reading transcripts: 0 B of 100.0 MB",
        "reading transcripts: 100.0 MB of 100.0 MB",
    ]


def test_on_a_terminal_a_bar_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.shown() as report:
        report(step(50_000_000, conversations=3, redactions=2))
    said = capsys.readouterr()
    assert said.out == ""
    assert "reading transcripts" in said.err
    assert "2 secrets redacted" in said.err
