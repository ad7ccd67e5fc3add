"""Spaces and their members: who may say so, what stays as it is, and what is usual where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from crdt import roster
from crdt.clock import wall_ms
from crdt.entries import Draft, EntryKind
from crdt.errors import BadInput, NotAllowed, NotFound
from crdt.keys import node_id
from crdt.roster import Add, Label, Roster
from mesh.identity import generate
from mesh.member_key import spell
from tests.crdt.signers import Feed, SeedSigner, add, genesis
from tests.node.asking import asked, items, part
from tests.node.filled import opened, tree

OTHER = generate()
KEY = spell(OTHER.public_key, OTHER.next_commitment)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state"


def roster_of(root: Path, label: str) -> Roster:
    with opened(root) as local:
        return next(found for found in local.feeds.spaces().values() if found.label == label)


def labels(root: Path) -> list[object]:
    return [space["label"] for space in items(asked(root, "spaces"), "spaces")]


def said(root: Path) -> int:
    with opened(root) as local:
        return local.feeds.head()


def rights_of(document: Mapping[str, object]) -> object:
    return part(document, "member")["rights"]


def test_without_a_state_there_are_no_spaces_and_looking_makes_none(root: Path) -> None:
    assert asked(root, "spaces") == {"schemaVersion": 1, "spaces": []}
    assert asked(root, "spaces.private")["records"] == []
    assert not root.exists()


def test_a_new_space_belongs_to_this_node_and_stands_beside_its_own_two(root: Path) -> None:
    made = asked(root, "spaces.create", label="team")
    assert made["created"] is True
    space = part(made, "space")
    assert (space["label"], space["kind"], space["mine"]) == ("team", "space", True)
    assert space["rights"] == ["read", "append", "moderate"]
    assert labels(root) == ["home", "private", "team"]
    found = roster_of(root, "team")
    assert space["id"] == found.space.hex()
    with opened(root, writable=True) as local:
        assert found.owner == local.identity.public_key
        assert found.promise_of(found.owner) == local.identity.next_commitment


def test_the_same_space_is_made_once(root: Path) -> None:
    first = asked(root, "spaces.create", label="team")
    before = said(root)
    again = asked(root, "spaces.create", label="team")
    assert again["created"] is False
    assert part(again, "space")["id"] == part(first, "space")["id"]
    assert said(root) == before


@pytest.mark.parametrize("label", ["", "Team", "-a", "a b", "a/b", "ä", "a" * 64, "home", "private", "a\n"])
def test_some_labels_are_refused(root: Path, label: str) -> None:
    with pytest.raises(BadInput):
        asked(root, "spaces.create", label=label)


def test_members_of_home_own_it_together(root: Path) -> None:
    added = asked(root, "spaces.add-member", space="home", key=KEY, name="desktop")
    assert added["changed"] is True
    member = part(added, "member")
    assert (member["name"], member["owner"]) == ("desktop", True)
    assert rights_of(added) == ["read", "append", "moderate"]
    home = roster_of(root, "home")
    assert home.may(OTHER.public_key, "moderate", 2**62)
    assert home.promise_of(OTHER.public_key) == OTHER.next_commitment


def test_members_of_other_spaces_read_and_append(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    added = asked(root, "spaces.add-member", space="team", key=node_id(OTHER.public_key))
    assert part(added, "member")["owner"] is False
    assert rights_of(added) == ["read", "append"]
    assert part(added, "member")["name"] == node_id(OTHER.public_key)[:8]


def test_rights_that_are_named_are_those_that_are_given(root: Path) -> None:
    assert rights_of(asked(root, "spaces.add-member", space="home", key=KEY, rights=["read"])) == ["read"]
    assert not roster_of(root, "home").members[OTHER.public_key].owner
    widened = asked(root, "spaces.add-member", space="home", key=KEY, rights=["append", "read"])
    assert (widened["changed"], rights_of(widened)) == (True, ["read", "append"])
    with pytest.raises(BadInput, match="write"):
        asked(root, "spaces.add-member", space="home", key=KEY, rights=["write"])


@pytest.mark.parametrize("name", ["", "a b", "a@b", "\x1b[0m", "-a", "a" * 64])
def test_a_node_s_name_fits_behind_an_agent_s(root: Path, name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        asked(root, "spaces.add-member", space="home", key=KEY, name=name)


def test_what_is_so_already_is_not_said_again(root: Path) -> None:
    asked(root, "spaces.add-member", space="home", key=KEY, name="desktop")
    before = said(root)
    assert asked(root, "spaces.add-member", space="home", key=KEY)["changed"] is False
    asked(root, "spaces.remove-member", space="home", key="desktop")
    assert said(root) == before + 1
    assert asked(root, "spaces.remove-member", space="home", key=KEY)["changed"] is False
    assert said(root) == before + 1


def test_a_removed_member_is_shown_as_such_and_can_come_back(root: Path) -> None:
    asked(root, "spaces.add-member", space="home", key=KEY, name="desktop")
    removed = asked(root, "spaces.remove-member", space="home", key="desktop")
    assert part(removed, "member")["removed"] is True
    assert len(items(part(removed, "space"), "members")) == 1
    shown = part(asked(root, "spaces.members", space="home"), "space")
    assert [member["removed"] for member in items(shown, "members")] == [False, True]
    back = asked(root, "spaces.add-member", space="home", key=KEY)
    assert (back["changed"], part(back, "member")["name"]) == (True, "desktop")


def test_only_an_owner_says_who_is_a_member(root: Path) -> None:
    asked(root, "spaces.add-member", space="home", key=KEY)
    with opened(root, writable=True) as local:
        own, home = local.identity.public_key, local.feeds.home()
        leave = Add(member=own, rights=["read", "append"], name="me", owner=False)
        local.feeds.write([Draft(space=home, kind=EntryKind.ROSTER, body=roster.encode(leave))])
    before = said(root)
    third = generate()
    for name, key in (("add", third.public_key), ("remove", OTHER.public_key)):
        with pytest.raises(NotAllowed, match="no owner"):
            asked(root, f"spaces.{name}-member", space="home", key=node_id(key))
    assert said(root) == before


def test_the_last_owner_can_not_leave(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    with opened(root, writable=True) as local:
        own = node_id(local.identity.public_key)
    with pytest.raises(BadInput, match="nobody else"):
        asked(root, "spaces.remove-member", space="team", key=own)


def test_nobody_joins_what_is_private(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    with pytest.raises(BadInput, match="alone"):
        asked(root, "spaces.add-member", space="private", key=KEY)


def test_who_is_no_member_can_not_be_removed(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    with pytest.raises(NotFound):
        asked(root, "spaces.remove-member", space="team", key=KEY)
    with pytest.raises(BadInput):
        asked(root, "spaces.remove-member", space="team", key="nobody")


def joined(root: Path, label: str, *, owner: bool) -> None:
    """Make a space on another node, whose owner takes this node in."""
    anna = SeedSigner("anna")
    space = genesis(anna, label, kind="space")
    asked(root, "spaces.create", label="own")
    with opened(root, writable=True) as local:
        own = local.identity.public_key
        space.roster(Add(member=own, rights=["read", "append"], name="me", owner=owner))
        assert len(local.feeds.receive([entry.raw for entry in space.entries]).committed) == 2


def test_a_space_of_another_node_is_shown_as_its_owner_s(root: Path) -> None:
    joined(root, "team", owner=False)
    team = items(asked(root, "spaces"), "spaces")[-1]
    assert (team["label"], team["mine"], team["rights"]) == ("team", False, ["read", "append"])
    assert part(team, "owner")["name"] == "anna"
    with pytest.raises(BadInput, match="a space of anna"):
        asked(root, "spaces.create", label="team")
    with pytest.raises(NotAllowed, match="no owner"):
        asked(root, "spaces.add-member", space="team", key=KEY)


def test_an_owner_does_not_remove_its_senior(root: Path) -> None:
    joined(root, "team", owner=True)
    assert asked(root, "spaces.add-member", space="team", key=KEY, name="ben")["changed"] is True
    before = said(root)
    for name in ("add", "remove"):
        with pytest.raises(NotAllowed, match="that member"):
            asked(root, f"spaces.{name}-member", space="team", key=node_id(SeedSigner("anna").public_key))
    assert said(root) == before


def test_a_member_can_leave(root: Path) -> None:
    joined(root, "team", owner=False)
    with opened(root, writable=True) as local:
        own = local.identity.public_key
    assert asked(root, "spaces.remove-member", space="team", key=node_id(own))["changed"] is True
    assert items(asked(root, "spaces"), "spaces")[-1]["rights"] == []


def test_the_cut_of_a_removal_is_what_is_here(root: Path) -> None:
    asked(root, "spaces.add-member", space="home", key=KEY)
    asked(root, "spaces.remove-member", space="home", key=KEY)
    home = roster_of(root, "home")
    assert home.is_void(OTHER.public_key, 7, 1)
    assert not home.is_void(home.owner, 7, 1)


def test_the_key_of_a_removed_owner_makes_no_other_by_a_fork_below_the_cut(root: Path) -> None:
    thief, friend = SeedSigner("thief"), SeedSigner("friend")
    asked(root, "spaces.add-member", space="home", key=node_id(thief.public_key), name="thief")
    with opened(root, writable=True) as local:
        feed = Feed(thief, local.feeds.home(), start_ms=wall_ms())
        first = feed.roster(Label(label="house"))
        feed.records(1)
        local.feeds.receive(entry.raw for entry in feed.entries)
    asked(root, "spaces.remove-member", space="house", key="thief")
    forged = feed.branch(first, EntryKind.ROSTER, roster.encode(add(friend, owner=True)))
    with opened(root, writable=True) as local:
        (refused,) = local.feeds.receive([forged.raw]).refused
        assert "beside what that one had said" in refused.detail
        home = local.feeds.roster(local.feeds.home())
    assert home.label == "house", "what was said before still counts"
    assert not home.knows(friend.public_key)


def test_listing_changes_nothing(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    before = tree(root / "canonical")
    asked(root, "spaces")
    asked(root, "spaces.members", space="team")
    assert tree(root / "canonical") == before
