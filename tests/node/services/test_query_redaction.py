"""Logged questions are redacted again; everything else of the log stays as it is."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from crdt.errors import ReadOnlyState
from node.paths import StatePaths
from node.services import query_redaction
from node.services.query_redaction import redact_questions


def redact(text: str) -> tuple[str, int]:
    """Know one word."""
    return text.replace("heron", "[REDACTED:bird]"), text.count("heron")


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """Give a state directory with a log of one day."""
    made = StatePaths(tmp_path)
    made.queries.mkdir(parents=True)
    return made


def log(paths: StatePaths, day: str, *lines: str) -> Path:
    """Write the log of a day."""
    path = paths.queries / f"{day}.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def asked(query: str) -> str:
    """Make a line of the log."""
    return json.dumps({"query": query, "lane": "words", "evidence": [{"record_id": "r", "score": 1.0}]})


def test_a_question_is_redacted_and_the_rest_of_its_line_stays(paths: StatePaths) -> None:
    path = log(paths, "2026-03-01", asked("where is the heron"), asked("straße\u2028pier"))
    untouched = path.read_text().splitlines()[1]
    assert redact_questions(paths, redact) == 1
    first, second = path.read_text(encoding="utf-8").split("\n")[:2]
    assert json.loads(first) == {**json.loads(asked("x")), "query": "where is the [REDACTED:bird]"}
    assert second == untouched
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert redact_questions(paths, redact) == 0


def test_a_line_that_is_no_question_is_redacted_whole(paths: StatePaths) -> None:
    path = log(paths, "2026-03-01", '{"query": "a heron', "[7]", '{"query": 7, "by": "heron"}', "")
    assert redact_questions(paths, redact) == 2
    assert path.read_text() == '{"query": "a [REDACTED:bird]\n[7]\n{"query": 7, "by": "[REDACTED:bird]"}\n\n'


def test_a_day_without_a_finding_is_not_written(paths: StatePaths) -> None:
    path = log(paths, "2026-03-01", asked("where is the pier"))
    other = log(paths, "2026-03-02", asked("a heron"))
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert redact_questions(paths, redact) == 1
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before
    assert "heron" not in other.read_text()
    assert sorted(item.name for item in paths.queries.iterdir()) == [path.name, other.name]


def test_no_log_is_no_trouble(tmp_path: Path) -> None:
    assert redact_questions(StatePaths(tmp_path), redact) == 0


def test_what_can_t_be_written_is_told_and_the_day_stays(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(paths, "2026-03-01", asked("a heron"))

    def refused(*_given: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(query_redaction.os, "open", refused)
    with pytest.raises(ReadOnlyState, match=path.name):
        redact_questions(paths, redact)
    assert "heron" in path.read_text()
