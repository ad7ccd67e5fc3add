"""Evidence: turns, repetitions, fair shares of room, and cuts around the match."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval.evidence import (
    EXCERPT_CHARS_MIN,
    Piece,
    choose,
    cover,
    cut_around,
    fair_shares,
    fit,
    interleave,
    normalized,
)
from retrieval.models import Hit
from retrieval.query import parse_query


def hit(text: str, name: str = "", lane: str = "words") -> Hit:
    return Hit(
        record_id=name or text, row=1, text=text, score=1.0, lane=lane, role="user", provider="p",
        conversation_id="c", title="", event_index=0, source_sha256="s", authored_at=None, workspace=None,
    )  # fmt: skip


def pieces(*texts: str) -> list[Piece]:
    return [Piece(hit=hit(text), via="history") for text in texts]


def test_passes_take_turns_and_the_longer_one_goes_on():
    taken = interleave([pieces("a1", "a2", "a3"), [], pieces("b1")])
    assert [piece.hit.text for piece in taken] == ["a1", "b1", "a2", "a3"]


def test_texts_that_only_look_different_count_once():
    chosen = choose(pieces("Der Kaﬀee", "der  kaffee\n", "DER KAFFEE", "tea"), 10)
    assert [piece.hit.text for piece in chosen.pieces] == ["Der Kaﬀee", "tea"]
    assert chosen.deduplicated == 2
    assert chosen.repeating == {"der  kaffee\n", "DER KAFFEE"}


def test_repetitions_beyond_the_limit_are_not_looked_at():
    chosen = choose(pieces("a", "b", "a"), 2)
    assert (len(chosen.pieces), chosen.deduplicated) == (2, 0)


def test_a_record_that_is_given_is_not_called_repeating():
    twice = [Piece(hit=hit("same", "r1"), via="curated"), Piece(hit=hit("same", "r1"), via="link")]
    assert choose(twice, 5).repeating == frozenset()


def test_white_space_case_and_compatibility_forms_are_evened_out():
    assert normalized(" \uff21\u00a0\ufb01ne\tDAY ") == "a fine day"


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(0, 2_000))
def test_room_is_shared_fairly(wanted, total):
    shares = fair_shares(wanted, total)
    assert sum(shares) <= total
    assert all(share <= want for share, want in zip(shares, wanted, strict=True))
    cut = [share for share, want in zip(shares, wanted, strict=True) if share < want]
    if cut:
        assert max(cut) - min(cut) <= 1
        assert max(shares) <= max(cut) + 1
        assert sum(shares) == total


@given(st.lists(st.text(max_size=120), min_size=1, max_size=10), st.integers(1, 400))
def test_the_budget_holds_and_every_text_is_a_slice(texts, budget):
    fitted = fit(pieces(*texts), "kelp", parse_query("kelp"), budget)
    assert sum(len(item.excerpt.text) for item in fitted) <= budget
    for item in fitted:
        part = item.excerpt
        assert part.text == item.piece.hit.text[part.start : part.end]
        assert part.truncated == (part.text != item.piece.hit.text)


def test_without_room_the_last_ones_go_and_the_first_stays():
    long = ["kelp " * 100, "kelp " * 101, "kelp " * 102]
    query = parse_query("kelp")
    fitted = fit(pieces(*long), "kelp", query, 2 * EXCERPT_CHARS_MIN)
    assert [item.piece.hit.text for item in fitted] == long[:2]
    (only,) = fit(pieces(*long), "kelp", query, 1)
    assert (only.piece.hit.text, len(only.excerpt.text)) == (long[0], 1)


def test_short_texts_leave_their_room_to_long_ones():
    fitted = fit(pieces("short", "x" * 1_000), "x", parse_query("x"), 500)
    assert [len(item.excerpt.text) for item in fitted] == [5, 495]


def test_letters_are_cut_around_where_they_stand():
    text = "über " * 500 + "the albatross landed " + "naïve " * 500
    part = cut_around(hit(text, lane="substrings"), "BATROSS  lan", parse_query("batross lan"), 60)
    assert "albatross landed" in part.text
    assert part.text == text[part.start : part.end]
    assert part.truncated
    assert len(part.text) == 60


def test_letters_that_lower_case_makes_longer_still_give_a_slice():
    text = "İ" * 300 + " anchor " + "İ" * 300
    part = cut_around(hit(text, lane="substrings"), "anchor", parse_query("anchor"), 50)
    assert "anchor" in part.text
    assert part.text == text[part.start : part.end]


def test_cover_is_the_share_of_the_words_that_matter():
    query = parse_query("why does the relay restart at night")
    assert cover(query, "The relay was slow; a restart helped.") == 2 / 3
    assert cover(query, "nothing of it") == 0
    assert cover(parse_query("!?"), "!?") == 0
