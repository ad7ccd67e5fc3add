"""Why a space of a file is passed over: each reason has its own words and its own way out."""

from __future__ import annotations

import pytest

from crdt.keys import node_id
from crdt.roster import Remove, Roster, SpaceKind
from node.services.feeds_refused import is_member, passed_over, refusal
from tests.crdt.signers import SeedSigner, add, genesis

OWNER, GUEST, STRANGER = (SeedSigner(name) for name in ("owner", "guest", "stranger"))


def roster_of(label: str, kind: SpaceKind = "home", *, removed: bool = False) -> Roster:
    """Make a space of an owner and a guest, who may be removed again."""
    feed = genesis(OWNER, label, kind=kind)
    feed.roster(add(GUEST))
    if removed:
        feed.roster(Remove(member=GUEST.public_key, cut={}))
    return Roster.of(feed.entries[0].hash, feed.entries)


def test_who_is_and_who_is_no_member() -> None:
    assert is_member(roster_of("team"), GUEST.public_key)
    assert not is_member(roster_of("team", removed=True), GUEST.public_key)
    assert not is_member(roster_of("team"), STRANGER.public_key)
    assert not is_member(roster_of("own", "private"), OWNER.public_key)


@pytest.mark.parametrize(
    ("roster", "signer", "why", "hint"),
    [
        (roster_of("team"), STRANGER, "this node is no member of team", node_id(STRANGER.public_key)),
        (roster_of("team", removed=True), GUEST, "this node was removed from team", "only if its owner"),
        (roster_of("own", "private"), STRANGER, "own is private to another node", "never leaves"),
    ],
)
def test_each_reason_is_said_with_what_changes_it(
    roster: Roster, signer: SeedSigner, why: str, hint: str
) -> None:
    found = passed_over(roster, signer.public_key)
    assert (found.space, found.label, found.why) == (roster.space.hex(), roster.label, why)
    assert hint in found.hint


def test_a_file_of_which_nothing_can_be_taken_names_each_space() -> None:
    rosters = [roster_of("team"), roster_of("crew")]
    error = refusal(passed_over(roster, STRANGER.public_key) for roster in rosters)
    assert error.detail == "this node is no member of crew; this node is no member of team"
    assert "add crew" in error.hint
    assert "add team" in error.hint
