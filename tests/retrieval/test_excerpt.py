"""Excerpts: slices of the original, around the match, within the budget."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.excerpt import excerpt, fold_with_offsets, match_spans
from retrieval.query import fold, parse_query

TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("heron reed é\u0301ﬁ½İß가\n"), st.characters()), max_size=300
)
QUERY = st.text(alphabet="heron rd.é½ﬁ가#", max_size=20)
FILLER = "water " * 1000


@given(text=TEXT, query=QUERY, budget=st.integers(min_value=1, max_value=320))
def test_an_excerpt_is_a_slice_of_the_original_within_the_budget(text, query, budget):
    piece = excerpt(text, parse_query(query), budget)
    assert piece.text == text[piece.start : piece.end]
    assert 0 <= piece.start <= piece.end <= len(text)
    assert len(piece.text) <= budget
    assert piece.truncated is (piece.text != text)
    assert piece.text or not text


@given(text=TEXT)
def test_offsets_lead_back_to_the_original(text):
    folded, offsets = fold_with_offsets(text)
    assert folded == fold(text)
    assert len(offsets) == len(folded) + 1
    assert offsets[-1] == len(text)
    for at, character in enumerate(folded):
        assert character in fold(text[offsets[at]])


def test_a_text_that_fits_comes_whole():
    piece = excerpt("a heron in the reeds", parse_query("reeds"), 20)
    assert (piece.text, piece.start, piece.end, piece.truncated) == ("a heron in the reeds", 0, 20, False)


def test_the_match_is_in_the_middle():
    text = FILLER + "the albatross landed " + FILLER
    piece = excerpt(text, parse_query("albatross"), 500)
    assert "albatross" in piece.text
    before, after = piece.text.split("albatross")
    assert abs(len(before) - len(after)) < 60
    assert len(piece.text) > 440


@pytest.mark.parametrize("query", ["cafe-au-lait", "CAFÉ-au-lait", "cafe\u0301-au-lait"])
def test_a_match_ignores_accents_and_shows_the_original_letters(query):
    text = "über " * 600 + "order a café-au-lait at the pier " + "nai\u0308ve " * 600
    piece = excerpt(text, parse_query(query), 300)
    assert "café-au-lait" in piece.text


def test_a_decomposed_match_keeps_its_marks():
    text = FILLER + "cafe\u0301 " + FILLER
    (span,) = match_spans(text, parse_query("café"))
    assert text[span.start : span.end] == "cafe\u0301"


def test_the_place_with_most_terms_wins():
    text = "heron heron heron " + FILLER + "the heron eats a reed frog " + FILLER + "reed reed"
    assert "heron eats a reed frog" in excerpt(text, parse_query("reed heron frog"), 200).text


def test_terms_too_far_apart_leave_the_first_of_them():
    text = FILLER + "heron " + FILLER + "reed " + FILLER
    assert "heron" in excerpt(text, parse_query("reed heron"), 100).text


def test_stop_words_do_not_draw_the_excerpt():
    text = "the the the " + FILLER + "heron " + FILLER
    assert "heron" in excerpt(text, parse_query("the heron"), 100).text


@pytest.mark.parametrize("query", ["pelican", "...", "wat"])
def test_without_a_match_of_its_own_a_text_is_shown_from_its_start(query):
    piece = excerpt(FILLER, parse_query(query), 100)
    assert piece.start == 0
    assert piece.truncated


def test_a_budget_smaller_than_the_match_shows_its_beginning():
    text = FILLER + "albatross " + FILLER
    assert excerpt(text, parse_query("albatross"), 1).text == "a"
    assert excerpt(text, parse_query("albatross"), 4).text == "alba"


def test_edges_are_between_words():
    piece = excerpt(FILLER + "heron " + FILLER, parse_query("heron"), 101)
    assert {*piece.text.split()} == {"water", "heron"}


def test_no_budget_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="at least one"):
        excerpt("heron", parse_query("heron"), 0)


@pytest.mark.parametrize("piece", ["wall", "a", "é", "a ", "heron ", "½"])
def test_a_megabyte_takes_a_moment(piece):
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    excerpt(text, parse_query("a aa wal heron é 1"), 500)
    assert time.process_time() - started < 5
