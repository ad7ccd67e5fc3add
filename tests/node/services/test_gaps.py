"""Gaps: questions that found nothing or little, most asked first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from crdt.errors import BadInput
from node.services import gaps
from node.services.context import handle as ask_context
from node.services.gaps import DAYS_MAX, handle, is_weak
from node.services.query_log import LoggedQuestion, PastQuestion, log_question
from node.services.requests import ContextRequest, GapsRequest
from tests.retrieval.archive_kit import Indexed, body, ignore, record

Document = dict[str, object]
NOW = datetime.now(UTC)


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def look(indexed: Indexed, days: int = 14) -> Document:
    with indexed.opened() as local:
        return handle(local, GapsRequest(days=days), ignore)


def listed(document: Document, name: str = "gaps") -> list[Document]:
    return cast("list[Document]", document[name])


def log(
    indexed: Indexed, query: str, *, age_days: float = 0, scores: tuple[float, ...] = (), covered: float = 1
) -> None:
    evidence: list[dict[str, object]] = [
        {"record_id": str(n) * 64, "score": score, "lane": "words", "via": "history"}
        for n, score in enumerate(scores)
    ]
    logged = LoggedQuestion(
        query=query, asked_at=NOW - timedelta(days=age_days), scope=None, lane="auto", evidence=evidence,
        covered=covered, warnings=[], elapsed_ms=1,
    )  # fmt: skip
    with indexed.opened(writable=True) as local:
        assert log_question(local, logged)


def test_what_was_asked_and_not_answered_is_listed_most_asked_first(indexed):
    indexed.tell(body("a", ["the kittiwake nests at pier nine"]))
    with indexed.opened() as local:
        for query in (
            "lantern supplier",
            "umbrella budget",
            "Umbrella  BUDGET",
            "umbrella budget",
            "kittiwake pier",
        ):
            ask_context(local, ContextRequest(query=query, lane="words"), ignore)
    document = look(indexed)
    assert document.keys() == {
        "schemaVersion", "days", "questions", "malformed", "truncated", "gaps", "served",
    }  # fmt: skip
    assert (document["questions"], document["malformed"], document["truncated"]) == (5, 0, False)
    assert [(gap["query"], gap["times"]) for gap in listed(document)] == [
        ("umbrella budget", 3),
        ("lantern supplier", 1),
    ]
    assert listed(document)[0].keys() == {"query", "times", "last_asked", "best_score", "evidence"}
    assert listed(document, "served") == [{"record_id": record("a"), "times": 1}]


def test_a_gap_that_was_filled_is_none(indexed):
    log(indexed, "where is it", age_days=2)
    log(indexed, "where is it", age_days=1, scores=(1.5,))
    log(indexed, "and now", age_days=2, scores=(1.5,))
    log(indexed, "and now", age_days=1)
    (gap,) = listed(look(indexed))
    assert (gap["query"], gap["times"], gap["best_score"], gap["evidence"]) == ("and now", 1, 1.5, 0)


@pytest.mark.parametrize(
    ("scores", "covered", "weak"),
    [
        ((), None, True),
        ((-0.5,), 1.0, True),
        ((-0.5, 0.9), 0.5, False),
        ((0.9,), 0.4, True),
        ((0.9,), None, False),
    ],
)
def test_little_is_neighbours_alone_or_few_of_the_words(scores, covered, weak):
    evidence = [("r", score) for score in scores]
    assert is_weak(PastQuestion(query="q", asked_at=NOW, evidence=evidence, covered=covered)) is weak


def test_only_the_days_asked_for_count(indexed):
    log(indexed, "recent", age_days=0.5)
    log(indexed, "old", age_days=5)
    assert [gap["query"] for gap in listed(look(indexed, 1))] == ["recent"]
    assert {gap["query"] for gap in listed(look(indexed, 14))} == {"recent", "old"}


@pytest.mark.parametrize("days", [0, -1, DAYS_MAX + 1])
def test_days_have_bounds(indexed, days):
    with pytest.raises(BadInput):
        look(indexed, days)


def test_without_a_log_there_is_nothing_to_say(indexed):
    document = look(indexed)
    assert (document["gaps"], document["served"], document["questions"]) == ([], [], 0)
    assert not indexed.state.exists()


def test_what_is_told_apart_is_bounded(indexed, monkeypatch):
    monkeypatch.setattr(gaps, "DISTINCT_MAX", 2)
    for name in ("one", "two", "three", "one"):
        log(indexed, name)
    document = look(indexed)
    assert document["truncated"] is True
    assert {gap["query"]: gap["times"] for gap in listed(document)} == {"one": 2, "two": 1}
    assert document["questions"] == 4
