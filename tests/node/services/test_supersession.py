"""Chains of records that stand in each other's place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from node.services.supersession import Supersession

NAMES = st.sampled_from("abcdef")
EDGES = st.lists(st.tuples(NAMES, NAMES), max_size=12)


def test_a_chain_is_followed_to_its_end():
    chain = Supersession([("b", "a"), ("c", "b")])
    assert [chain.successor(name) for name in "abc"] == ["c", "c", None]


def test_of_several_ends_the_smallest_id_is_named():
    assert Supersession([("c", "a"), ("b", "a")]).successor("a") == "b"


def test_a_circle_hides_nothing_and_what_ends_it_supersedes_all():
    circle = [("b", "a"), ("a", "b"), ("a", "a")]
    assert [Supersession(circle).successor(name) for name in "ab"] == [None, None]
    assert [Supersession([*circle, ("c", "b")]).successor(name) for name in "abc"] == ["c", "c", None]


def test_what_stands_in_whose_place_is_known_through_chains():
    chain = Supersession([("b", "a"), ("c", "b")])
    assert chain.reaches("c", "a")
    assert chain.reaches("a", "a")
    assert not chain.reaches("a", "c")


@given(EDGES)
def test_something_is_always_current(edges):
    graph = Supersession(edges)
    named = {name for edge in edges for name in edge}
    assert not named or any(graph.successor(name) is None for name in named)
    for name in named:
        successor = graph.successor(name)
        assert successor is None or (graph.reaches(successor, name) and graph.successor(successor) is None)
