"""Which edges count: not those of ghosts, nor those of one space against records of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval.record_edges import Here, Newest
from tests.crdt.projection_kit import reader_of
from tests.retrieval.memory_kit import Shared, index_id, link, state_it

GHOST = "9" * 64


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    made = Shared(tmp_path)
    yield made
    made.close()


def answers(shared: Shared, here: Here | None = None) -> list[dict[str, str]]:
    """Follow, and tell what is superseded as the index has it, and as the projection alone says."""
    shared.follow()
    rows = shared.index.connection.execute("SELECT record_id, superseded_by FROM records").fetchall()
    indexed = {old.hex(): new.hex() for old, new in rows if new is not None}
    with reader_of(shared.root / "projection.db", shared.feeds) as reader:
        projected = Newest(reader, here or shared.here).of([old.hex() for old, _ in rows])
    return [indexed, projected]


def test_an_edge_of_the_same_space_counts_whoever_says_it(shared: Shared) -> None:
    laptop = shared.member("laptop")
    old, new = state_it(shared.desk, "Limit", "nine"), state_it(shared.desk, "Raised", "twelve")
    older, newer = index_id("atrium", old.id), index_id("atrium", new.id)
    link(laptop, newer, older)
    assert answers(shared) == [{older: newer}] * 2


def test_a_ghost_hides_nothing(shared: Shared) -> None:
    old = state_it(shared.desk, "Limit", "nine")
    link(shared.desk, GHOST, index_id("atrium", old.id))
    assert answers(shared) == [{}, {}]


def test_a_member_of_a_team_hides_nothing_of_a_home(shared: Shared) -> None:
    old = state_it(shared.desk, "Limit", "nine")
    team = shared.space("mallory", kind="space")
    new = state_it(team, "Raised", "twelve")
    link(team, index_id("atrium", new.id), index_id("atrium", old.id))
    assert answers(shared) == [{}, {}]


@pytest.mark.parametrize("is_edge_first", [True, False])
def test_what_this_node_says_counts_against_another_space(shared: Shared, is_edge_first: bool) -> None:
    team = shared.space("team", kind="space")
    new = state_it(shared.desk, "Raised", "twelve")
    if is_edge_first:
        # What the older record is called follows from its words, before anybody has said it here.
        elsewhere = state_it(shared.space("elsewhere"), "Limit", "nine")
        older = index_id("atrium", elsewhere.id)
        shared.authors.pop()
    else:
        older = index_id("atrium", state_it(team, "Limit", "nine").id)
    link(shared.desk, index_id("atrium", new.id), older)
    shared.follow()
    if is_edge_first:
        state_it(team, "Limit", "nine")
    assert answers(shared) == [{older: index_id("atrium", new.id)}] * 2


def test_an_edge_that_came_before_its_older_record_is_judged_again(shared: Shared) -> None:
    team = shared.space("team", kind="space")
    new = state_it(team, "Raised", "twelve")
    held = shared.space("held", kind="space")
    old = state_it(held, "Limit", "nine")
    older, newer = index_id("atrium", old.id), index_id("atrium", new.id)
    shared.authors.remove(held)
    link(team, newer, older)
    assert answers(shared) == [{}, {}]
    state_it(team, "Limit", "nine")
    assert answers(shared) == [{older: newer}] * 2


def test_what_is_no_shared_memory_belongs_to_the_home(shared: Shared) -> None:
    message = "7" * 64
    team = shared.space("team", kind="space")
    new = state_it(team, "Raised", "twelve")
    link(team, index_id("atrium", new.id), message)
    shared.follow()
    assert shared.index.superseded.every() == []
    link(shared.desk, index_id("atrium", new.id), message)
    shared.follow()
    assert len(shared.index.superseded.every()) == 1


def test_edges_that_an_earlier_rule_let_in_are_judged_again(shared: Shared) -> None:
    team = shared.space("mallory", kind="space")
    old, new = state_it(shared.desk, "Limit", "nine"), state_it(team, "Raised", "twelve")
    ends = index_id("atrium", new.id), index_id("atrium", old.id)
    edge = link(team, *ends)
    shared.follow()
    with shared.index.transaction():
        shared.index.superseded.put(team.space, edge.id, bytes.fromhex(ends[0]), bytes.fromhex(ends[1]))
        shared.index.set_meta("memory_edge_rule", "0")
    assert answers(shared) == [{}, {}]
