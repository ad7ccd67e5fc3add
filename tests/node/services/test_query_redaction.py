"""The log of questions is redacted again, and nothing else of it changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from node.paths import StatePaths
from node.services.query_redaction import redact_questions


def redact(text: str) -> tuple[str, int]:
    """Know one word."""
    return text.replace("heron", "[REDACTED:bird]"), text.count("heron")


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    made = StatePaths(tmp_path, tmp_path)
    made.queries.mkdir(parents=True)
    return made


def test_a_question_is_redacted_and_the_rest_of_its_line_stays(paths: StatePaths) -> None:
    day = paths.queries / "2026-03-05.jsonl"
    day.write_text('{"query":"where is the heron","lane":"words"}\n{"query":"the pier","lane":"words"}\n')
    assert redact_questions(paths, redact) == 1
    first, second, rest = day.read_text().split("\n")
    assert json.loads(first) == {"query": "where is the [REDACTED:bird]", "lane": "words"}
    assert (json.loads(second)["query"], rest) == ("the pier", "")
    assert day.stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_no_document_is_redacted_whole(paths: StatePaths) -> None:
    day = paths.queries / "2026-03-05.jsonl"
    day.write_text("half a line with a heron")
    assert redact_questions(paths, redact) == 1
    assert day.read_text() == "half a line with a [REDACTED:bird]"


def test_days_without_anything_to_take_out_are_not_written(paths: StatePaths) -> None:
    day = paths.queries / "2026-03-05.jsonl"
    day.write_text('{"query": "the pier"}\n')
    before = day.stat().st_mtime_ns
    assert redact_questions(paths, redact) == 0
    assert day.stat().st_mtime_ns == before
