"""Queries: which terms they have, FTS5 expressions that are always valid, and matching on folded text."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.query import (
    MATCHES_NOTHING,
    MAX_QUERY_CHARS,
    MAX_TERM_PARTS,
    MAX_TERMS,
    STOP_WORDS,
    Query,
    adjacent,
    content_terms,
    fold,
    match_all,
    match_any,
    own_match,
    parse_query,
)

CREATE = "CREATE VIRTUAL TABLE t USING fts5(own, near, tokenize = 'unicode61 remove_diacritics 2')"
SEVERAL_CALLS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from("\"'*(){}:^+-. ,NEARANDOT\0\ud800é\u0301🦩\u2028"),
        st.characters(exclude_categories=[]),
    ),
    max_size=60,
)
# Scripts whose letters, digits, marks and punctuation every Unicode version sees alike.
PLAIN = st.text(
    alphabet="abzAZ059 .,;-_#/éÉüñÑçøŁßπΣж漢字カ\u0300\u0301\u0303\u0308²½\ue000", min_size=1, max_size=30
)


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(CREATE)
    connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(t, 'instance')")
    yield connection
    connection.close()


def found(index: sqlite3.Connection, text: str, expression: str) -> bool:
    index.execute("DELETE FROM t")
    index.execute("INSERT INTO t (own, near) VALUES (?, '')", (text,))
    return index.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).fetchone() == (1,)


def parts(text: str) -> list[tuple[str, ...]]:
    return [term.parts for term in parse_query(text).terms]


def test_terms_are_cut_at_white_space_and_parts_at_punctuation():
    assert parts("release 3.7.0 of snake_case_name") == [
        ("release",),
        ("3", "7", "0"),
        ("of",),
        ("snake", "case", "name"),
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("learn C today", ["learn", "today"]),
        ("learn C# today", ["learn", "c#", "today"]),
        ("C++", ["c++"]),
        ("(C#),", ["c#"]),
        ("C", ["c"]),
        ("a b", ["a", "b"]),
        ("plan B?", ["plan", "b"]),
    ],
)
def test_a_single_character_counts_with_its_punctuation_or_alone(query, expected):
    assert [term.exact for term in parse_query(query).terms] == expected


@pytest.mark.parametrize(
    "query", ["", " \n", "🐟🐠", "...", '"', "*", "\0", "\ud800\udfff", "(((", "# -- ?!"]
)
def test_a_query_without_letters_or_digits_has_no_terms(query):
    parsed = parse_query(query)
    assert parsed == Query(terms=())
    assert match_all(parsed) == match_any(parsed.terms) == MATCHES_NOTHING


def test_a_term_counts_once_however_it_is_spelled():
    assert [term.text for term in parse_query("Café café CAFE\u0301 cafe tea").terms] == ["Café", "tea"]


def test_a_query_is_bounded_and_says_so():
    many = parse_query(" ".join(f"w{number}" for number in range(MAX_TERMS + 1)))
    assert (len(many.terms), many.truncated) == (MAX_TERMS, True)
    assert parse_query(" ".join(f"w{number}" for number in range(MAX_TERMS))).truncated is False
    (long,) = parse_query("a." * (MAX_TERM_PARTS + 1)).terms
    assert len(long.parts) == MAX_TERM_PARTS
    assert parse_query("a." * (MAX_TERM_PARTS + 1)).truncated is True
    assert parse_query("heron " * MAX_QUERY_CHARS).truncated is True


@pytest.mark.parametrize("piece", ["a", "a.", "heron ", "🦩", '"', "\0", "\u0301", "w\u0301 "])
def test_a_hundred_thousand_characters_are_parsed_at_once(piece):
    started = time.process_time()
    parsed = parse_query(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 1
    assert len(parsed.terms) <= 1


@SEVERAL_CALLS
@given(query=HOSTILE)
def test_no_query_is_an_invalid_expression(index, query):
    parsed = parse_query(query)
    for expression in (match_all(parsed), match_any(parsed.terms), match_all(parsed, ["own", "near"])):
        index.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()


@SEVERAL_CALLS
@given(query=HOSTILE)
def test_a_text_is_found_by_itself(index, query):
    parsed = parse_query(query)
    typed = " ".join(term.text for term in parsed.terms)
    index.execute("DELETE FROM t")
    index.execute("INSERT INTO t (own, near) VALUES (?, '')", (typed,))
    if index.execute("SELECT count(*) FROM tokens").fetchone() != (0,):
        assert found(index, typed, match_all(parsed))
        assert found(index, typed, match_any(parsed.terms, ["own"]))


@SEVERAL_CALLS
@given(text=PLAIN)
def test_parts_are_the_tokens_of_the_index(index, text):
    index.execute("DELETE FROM t")
    index.execute("INSERT INTO t (own, near) VALUES (?, '')", (text,))
    tokens = [token for (token,) in index.execute("SELECT term FROM tokens ORDER BY offset")]
    ours = [part for piece in text.split() for term in parse_query(piece).terms for part in term.parts]
    assert [fold(part) for part in ours] == [fold(token) for token in tokens]


def test_a_punctuated_term_is_a_phrase_and_columns_filter(index):
    query = parse_query("snake_case_name")
    assert found(index, "the snake case name here", match_all(query))
    assert not found(index, "name of a case for a snake", match_all(query))
    assert found(index, "snake_case_name", match_all(query, ["own"]))
    assert not found(index, "snake_case_name", match_all(query, ["near"]))


def test_all_terms_or_any_of_them(index):
    query = parse_query("heron reed")
    assert not found(index, "a heron", match_all(query))
    assert found(index, "a heron", match_any(query.terms))


@pytest.mark.parametrize("columns", [[], ["own} : x {"], ["Own"], [""]])
def test_columns_are_names_of_our_own(columns):
    with pytest.raises(ValueError, match="columns"):
        match_all(parse_query("heron"), columns)


@pytest.mark.parametrize("query", ["cafe-au-lait", "café-au-lait", "CAFÉ-AU-LAIT", "cafe\u0301-au-lait"])
def test_accents_and_case_do_not_matter(index, query):
    parsed = parse_query(query)
    assert found(index, "Order a café-au-lait.", match_all(parsed))
    assert own_match(parsed, fold("Order a café-au-lait."))


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("where is the heron", ["heron"]),
        ("¿dónde está la garza?", ["garza"]),
        ("the who", ["the", "who"]),
        ("to-do list", ["to-do", "list"]),
    ],
)
def test_stop_words_are_left_out_unless_there_is_nothing_else(query, left):
    assert [term.exact for term in content_terms(parse_query(query))] == left


def test_stop_words_are_folded():
    assert {fold(word) for word in STOP_WORDS} == STOP_WORDS


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("3.7.0", "released 3.7.0 today", True),
        ("3.7.0", "ends with 3.7.0", True),
        ("3.7.0", "released 3 7 0 today", False),
        ("3.7.0", "released 13.7.0 or 3.7.01", False),
        ("3.7.0", "released 13.7.0 or (3.7.0)", True),
        ("C#", "written in C# here", True),
        ("C#", "written in C here", False),
        ("C#", "written in ABC# here", False),
        ("wal", "wall wallow", False),
        ("wal", "WAL, reverted", True),
        ("heron?", "a heron.", True),
        ("naïve", "a NAIVE one", True),
    ],
)
def test_a_term_is_matched_exactly_and_on_word_boundaries(query, text, expected):
    (term,) = parse_query(query).terms
    assert adjacent(term, fold(text)) is expected


def test_a_match_behind_many_near_misses_is_found_quickly():
    (term,) = parse_query("wal").terms
    started = time.process_time()
    assert adjacent(term, "wall" * 250_000 + " wal")
    assert not adjacent(term, "wall" * 250_000)
    assert time.process_time() - started < 2


def test_own_match_needs_a_term_that_means_something():
    query = parse_query("the heron of the pier")
    assert own_match(query, "on a pier")
    assert not own_match(query, "the gull of the harbour")
    assert not own_match(parse_query("..."), "anything")


def test_only_queries_of_punctuated_terms_need_adjacency():
    assert parse_query("3.7.0 C#").every_term_punctuated
    assert not parse_query("version 3.7.0").every_term_punctuated
    assert not parse_query("heron?").every_term_punctuated
    assert not parse_query("").every_term_punctuated


@given(text=st.text(max_size=80))
def test_folding_is_idempotent_and_by_character(text):
    assert fold(fold(text)) == fold(text)
    assert fold(text) == "".join(fold(character) for character in text)
