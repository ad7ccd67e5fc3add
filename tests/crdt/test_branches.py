"""Which branch of a removed member's feed counts."""

from __future__ import annotations

from crdt.branches import strays

TREE = {b"1": b"0", b"2": b"1", b"3": b"2", b"x": b"1", b"y": b"x", b"z": b"2"}
"""Behind 1 come 2 and x; behind 2 come 3 and z; behind x comes y."""


def test_what_leads_to_no_end_is_a_stray() -> None:
    assert strays([b"3"], TREE) == {b"x", b"y", b"z"}
    assert strays([b"3", b"x"], TREE) == {b"y", b"z"}
    assert strays([b"2", b"1"], TREE) == {b"3", b"x", b"y", b"z"}
    assert strays([b"3", b"y", b"z"], TREE) == set()


def test_before_all_ends_are_here_nothing_is_a_stray() -> None:
    assert strays([b"3", b"later"], TREE) == set()
    assert strays([], TREE) == set()


def test_hashes_that_go_round_in_a_damaged_file_end_the_walk() -> None:
    assert strays([b"1"], {b"1": b"2", b"2": b"1", b"x": b"1"}) == {b"x"}
