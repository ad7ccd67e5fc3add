"""Chunks of notes: limits, coverage, names that survive insertions."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.chunk import MAX_CHUNK_CHARS, NoteChunk, heading_of, split_note

LINE = st.one_of(
    st.sampled_from(
        ["", "", "# One", "## Two", "### Three", "# One", "```", "~~~~", "#hash", "    # code", "- item"]
    ),
    st.text(alphabet="word é.!。#`~ ", max_size=30),
    st.integers(1, 400).map(lambda count: "kelp. " * count),
    st.integers(1, 5000).map(lambda count: "k" * count),
)
TEXT = st.lists(LINE, max_size=20).map("\n".join)
SECTIONS = st.lists(
    st.tuples(st.sampled_from(["## A", "## B", "### C"]), st.integers(0, 600)), min_size=1, max_size=6
).map(lambda items: "\n\n".join(f"{heading}\n\n{'kelp. ' * count}" for heading, count in items))


def pieces(text: str) -> list[tuple[str, int, str]]:
    return [(chunk.heading_path, chunk.ordinal, chunk.text) for chunk in split_note(text).chunks]


def names(text: str) -> dict[tuple[str, int], str]:
    return {(chunk.heading_path, chunk.ordinal): chunk.text for chunk in split_note(text).chunks}


@given(text=TEXT)
def test_pieces_are_small_slices_in_order_that_hold_everything(text):
    rest = text
    skipped = ""
    for _, _, piece in pieces(text):
        assert 0 < len(piece) <= MAX_CHUNK_CHARS
        before, found, rest = rest.partition(piece)
        assert found
        skipped += before
    assert not (skipped + rest).strip()


@given(text=TEXT)
def test_words_within_the_limit_stay_whole(text):
    words = {word for word in re.findall(r"\w+", text) if len(word) <= MAX_CHUNK_CHARS}
    assert words <= {word for _, _, piece in pieces(text) for word in re.findall(r"\w+", piece)}


@given(text=TEXT)
def test_names_are_unique_and_count_from_zero(text):
    ordinals: dict[str, list[int]] = {}
    for path, ordinal, _ in pieces(text):
        ordinals.setdefault(path, []).append(ordinal)
    assert all(found == list(range(len(found))) for found in ordinals.values())


@given(sections=SECTIONS, inserted=st.integers(1, 900))
def test_an_insertion_at_the_top_renames_nothing_below_other_headings(sections, inserted):
    note = "# Top\n\n" + sections
    before = names(note)
    new = "# New\n\n" + "weed " * inserted + "\n\n" + note
    assert before.items() <= names(new).items()


def test_paragraphs_of_a_section_are_packed_up_to_the_limit():
    paragraph = "kelp " * 150
    found = pieces(f"# Kelp\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n")
    assert [(path, ordinal) for path, ordinal, _ in found] == [("Kelp", 0), ("Kelp", 1)]
    assert found[0][2].startswith("# Kelp\n\nkelp")
    assert found[0][2].count("kelp") == 300


def test_headings_nest_and_repeat():
    text = "intro\n# A\na\n## B\nb\n# C\nc\n## B\nb2\n# A\na2\n"
    assert pieces(text) == [
        ("", 0, "intro"),
        ("A", 0, "# A\na"),
        ("A > B", 0, "## B\nb"),
        ("C", 0, "# C\nc"),
        ("C > B", 0, "## B\nb2"),
        ("A", 1, "# A\na2"),
    ]


def test_a_heading_without_text_opens_the_piece_below_it():
    assert pieces("# A\n\n## B\n\ntext\n\n## C\n") == [
        ("A > B", 0, "# A\n\n## B\n\ntext"),
        ("A > C", 0, "## C"),
    ]


def test_front_matter_is_one_paragraph_that_opens_the_first_piece():
    front = "---\ntitle: x\n# no heading\n---\n"
    assert pieces("") == []
    split = split_note(front + "# A\n\ntext", len(front))
    assert split.top_heading == "A"
    assert split.chunks == (NoteChunk(heading_path="A", ordinal=0, text=front + "# A\n\ntext"),)


@pytest.mark.parametrize("fence", ["```", "~~~", "````sh", "   ```"])
def test_a_code_fence_has_no_headings(fence):
    close = re.sub(r"\w", "", fence)
    text = f"# A\n\n{fence}\n# comment\n\n## other\n{close}\n\n# B\nend"
    assert [path for path, _, _ in pieces(text)] == ["A", "B"]


def test_a_fence_closes_only_by_its_own_kind():
    text = "# A\n````\n```\n# x\n~~~~\n# y\n````` \n# B\n```inline``` code\n# C\nend"
    assert [path for path, _, _ in pieces(text)] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# One", (1, "One")),
        ("###### Six ##", (6, "Six")),
        ("   ## Two\t", (2, "Two")),
        ("#", (1, "")),
        ("# #", (1, "")),
        ("# C#", (1, "C#")),
        ("#tag", None),
        ("####### seven", None),
        ("    # code", None),
        ("text # x", None),
        ("", None),
    ],
)
def test_headings_are_atx_headings(line, heading):
    assert heading_of(line) == heading


def test_a_long_paragraph_is_cut_after_sentences():
    sentence = "The harbour is closed tonight! "
    found = [piece for _, _, piece in pieces(sentence * 300)]
    assert len(found) == 5
    assert all(piece.endswith("tonight!") for piece in found)


def test_a_long_list_is_cut_at_lines():
    found = [piece for _, _, piece in pieces("- one two three\n" * 400)]
    assert len(found) > 3
    assert all(piece.startswith("- one") and piece.endswith("three") for piece in found)


def test_a_paragraph_without_any_break_is_cut_all_the_same():
    assert [len(piece) for _, _, piece in pieces("k" * 18_000)] == [2000] * 9


def test_a_cut_keeps_a_letter_and_its_marks_together():
    text = "k" + "e\u0301" * 5000
    found = [piece for _, _, piece in pieces(text)]
    assert "".join(found) == text
    assert all(piece[0] in "ke" for piece in found)
    marks = "\u0301" * 5000
    assert "".join(piece for _, _, piece in pieces(marks)) == marks


def test_only_line_feeds_end_a_line():
    assert pieces("a\u2028# b\x0b# c\x85# d") == [("", 0, "a\u2028# b\x0b# c\x85# d")]


@pytest.mark.parametrize(
    "piece", ["\n", "a", ".", "# a\n", "```\n", " ", "e\u0301", "a. ", "#", "- x\n", ">"]
)
def test_a_large_note_takes_a_moment(piece):
    started = time.process_time()
    split_note(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 5
