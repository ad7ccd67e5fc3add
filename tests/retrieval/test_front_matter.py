"""Front matter: the fields that are read, and everything that must not break reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.front_matter import FrontMatter, read_front_matter


@pytest.mark.parametrize(
    ("block", "title", "tags", "aliases"),
    [
        ("title: Plain words", "Plain words", (), ()),
        ("title: 'Quoted: # yes' # comment", "Quoted: # yes", (), ()),
        ("Title: bare # comment", "bare", (), ()),
        ("tags: [a, 'b, c', \"d\"]", "", ("a", "b, c", "d"), ()),
        ("tags: a, b", "", ("a", "b"), ()),
        ("tags: a b #c", "", ("a", "b"), ()),
        ("tags:\n  - a\n  - '#b'\n- c\n  - a", "", ("a", "b", "c"), ()),
        ("aliases: One name, Two", "", (), ("One name", "Two")),
        ("alias: One\ntag: x", "", ("x",), ("One",)),
        ("other:\n  - a\ntags:\n  - b\nmore: 1\n  - c", "", ("b",), ()),
        ("tags:\n\n  - a\n# comment\n  - b", "", ("a", "b"), ()),
        ("tags: []\naliases: ''\ntitle:", "", (), ()),
        ("date: 2026-01-01\nnested:\n  title: no", "", (), ()),
    ],
)
def test_title_tags_and_aliases_are_read(block, title, tags, aliases):
    text = f"---\n{block}\n---\nbody"
    found = read_front_matter(text)
    assert (found.title, found.tags, found.aliases) == (title, tags, aliases)
    assert text[found.size_chars :] == "body"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "---",
        "---\ntitle: x",
        "----\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
        "x\n---\ntitle: x\n---\n",
    ],
)
def test_without_a_closed_block_at_the_start_there_is_none(text):
    assert read_front_matter(text) == FrontMatter()


def test_a_block_ends_at_dots_too_and_at_the_end_of_the_note():
    assert read_front_matter("---\ntitle: x\n...\nbody").title == "x"
    assert read_front_matter("---\ntitle: x\n---").size_chars == len("---\ntitle: x\n---")


def test_a_block_that_does_not_close_soon_is_text():
    assert read_front_matter("---\n" + "x: y\n" * 20_000 + "---\n") == FrontMatter()


def test_items_are_bounded():
    found = read_front_matter("---\ntags:\n" + "".join(f"- t{number}\n" for number in range(500)) + "---\n")
    assert len(found.tags) == 100
    assert len(read_front_matter(f"---\ntitle: {'x' * 900}\n---\n").title) == 200


@given(text=st.text(alphabet="---\n\n:title tags-[]'\",#.", max_size=120))
def test_no_text_makes_reading_fail(text):
    for candidate in (text, f"---\n{text}\n---\n"):
        found = read_front_matter(candidate)
        assert 0 <= found.size_chars <= len(candidate)
