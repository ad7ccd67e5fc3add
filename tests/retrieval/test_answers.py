"""Routing: which lane answers, and that each lane asked for by name is the only one asked."""

from __future__ import annotations

import pytest

from retrieval.answers import Lookup, Routed, look_up
from retrieval.models import Deadline, Filter, LaneName
from retrieval.query import MAX_TERMS, parse_query
from tests.retrieval.archive_kit import Indexed, body


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    texts = ("the albatross landed", "我们昨天修改了数据库设置", "deploy 数据库 now", "what => is this")
    return made.tell(*(body(f"c{n}", [text]) for n, text in enumerate(texts)))


def asked(indexed: Indexed, text: str, lane: LaneName = "auto", budget_s: float = 60) -> Routed:
    """Look something up everywhere."""
    lookup = Lookup(text=text, query=parse_query(text), lane=lane, wanted=Filter(), limit=10)
    with indexed.reader() as reader:
        return look_up(reader, lookup, Deadline(budget_s))


@pytest.mark.parametrize(
    ("text", "lane", "count"),
    [
        ("albatross", "words", 1),
        ("albatr", "substrings", 1),
        ("atross lan", "substrings", 1),
        ("数据库", "substrings", 2),
        ("设置", "substrings", 1),
        ("deploy 设置", "words", 1),
        ("pelican", "words", 0),
        ("never here at all pelican stork", "words", 0),
        ("=>", "words", 0),
    ],
)
def test_auto_takes_the_lane_that_can_see(indexed, text, lane, count):
    found = asked(indexed, text)
    assert (found.lane, len(found.candidates)) == (lane, count)
    assert not found.is_exhausted


def test_dense_is_answered_like_auto_while_there_are_no_vectors(indexed):
    for text in ("albatross", "albatr"):
        assert asked(indexed, text, "dense") == asked(indexed, text, "auto")


def test_a_lane_asked_for_is_the_only_one_asked(indexed):
    assert asked(indexed, "albatr", "words") == Routed(lane="words", candidates=(), is_exhausted=False)
    assert asked(indexed, "设置", "words").candidates == ()
    assert asked(indexed, "albatross landed the", "substring").candidates == ()
    assert len(asked(indexed, "=> is", "substring").candidates) == 1


@pytest.mark.parametrize("lane", ["auto", "words", "substring", "dense"])
def test_time_that_is_up_is_said_in_every_lane(indexed, lane):
    assert asked(indexed, "albatross", lane, 0).is_exhausted


def test_a_question_too_long_to_be_searched_whole_says_so(indexed):
    many = " ".join(f"word{n}" for n in range(MAX_TERMS + 1))
    assert asked(indexed, many).is_exhausted
    assert not asked(indexed, " ".join(many.split()[:MAX_TERMS])).is_exhausted
