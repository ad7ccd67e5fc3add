"""The lines that two texts share: what the hunks say makes the new text of the old one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt.line_diff import Hunk, TooDifferent, hunks

TEXTS = st.lists(st.sampled_from("abcd"), max_size=14)


def applied(old: list[str], changes: list[Hunk]) -> list[str]:
    new: list[str] = []
    at = 0
    for hunk in changes:
        new += [*old[at : hunk.start], *hunk.lines]
        at = hunk.stop
    return new + old[at:]


@given(TEXTS, TEXTS)
def test_hunks_make_the_new_of_the_old(old: list[str], new: list[str]) -> None:
    changes = hunks(old, new)
    assert applied(old, changes) == new
    assert all(one.stop < other.start for one, other in pairwise(changes))
    assert all(hunk.low <= hunk.start <= hunk.stop <= hunk.high for hunk in changes)


@given(TEXTS)
def test_equal_texts_have_no_hunk(text: list[str]) -> None:
    assert hunks(text, text) == []


def test_unique_lines_anchor_the_comparison() -> None:
    old = ["{", "one", "}", "{", "two", "}"]
    (block,) = hunks(old, [*old[:3], "{", "new", "}", *old[3:]])
    assert (sorted(block.lines), block.low, block.high) == (["new", "{", "}"], 2, 4)


def test_a_hunk_says_where_else_it_could_be() -> None:
    (gone,) = hunks(["a", "x", "x", "x", "b"], ["a", "x", "x", "b"])
    assert (gone.stop - gone.start, gone.low, gone.high) == (1, 1, 4)
    (new,) = hunks(["a", "x", "b"], ["a", "x", "x", "b"])
    assert (new.is_insertion, new.low, new.high) == (True, 1, 2)


def test_a_shortest_script_is_found_where_no_line_is_unique() -> None:
    assert sum(len(hunk.lines) for hunk in hunks(list("abcabba"), list("cbabac"))) == 2


def test_texts_without_any_order_in_common_are_given_up() -> None:
    old = [str(number * 7919 % 2) for number in range(4000)]
    new = [str(number * 104729 % 3 % 2) for number in range(4000)]
    with pytest.raises(TooDifferent):
        hunks(old, new)
