"""Which space is meant: by label, by the beginning of its id, and never by guessing."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt import roster
from crdt.entries import ZERO, Draft, EntryKind
from crdt.errors import BadInput, NotFound
from crdt.keys import node_id
from crdt.roster import Genesis
from node.composition import Local
from node.services.space_names import find_space, name_in, own_key
from tests.node.asking import asked
from tests.node.filled import opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    asked(state, "spaces.create", label="team")
    return state


def make(local: Local, label: str) -> bytes:
    """Make a space as another node could have, whatever its label."""
    body = roster.encode(Genesis(label=label, kind="space", name="", made_ms=0))
    return local.feeds.write([Draft(space=ZERO, kind=EntryKind.GENESIS, body=body)])[0].entry.hash


def test_a_label_or_the_beginning_of_an_id_names_a_space(root: Path) -> None:
    with opened(root, writable=True) as local:
        team = find_space(local.feeds, "team")
        for length in (8, 12, 64):
            assert find_space(local.feeds, team.hex()[:length]) == team
            assert find_space(local.feeds, team.hex()[:length].upper()) == team


def test_home_and_private_are_this_node_s_whatever_others_call_theirs(root: Path) -> None:
    with opened(root, writable=True) as local:
        make(local, "home")
        assert find_space(local.feeds, "home") == local.feeds.home()
        assert find_space(local.feeds, "private") == local.feeds.private()


def test_what_may_mean_two_is_refused_with_both(root: Path) -> None:
    with opened(root, writable=True) as local:
        other = make(local, "team")
        with pytest.raises(BadInput, match="several") as caught:
            find_space(local.feeds, "team")
        assert other.hex()[:12] in caught.value.detail
        assert find_space(local.feeds, other.hex()) == other


def test_a_label_goes_before_an_id(root: Path) -> None:
    with opened(root, writable=True) as local:
        start = find_space(local.feeds, "team").hex()[:8]
        other = make(local, start)
        assert find_space(local.feeds, start) == other


@pytest.mark.parametrize("named", ["", "tea", "teams", "zzzz", "\x1b[31m", "0"])
def test_what_names_nothing_is_not_found(root: Path, named: str) -> None:
    with opened(root) as local, pytest.raises(NotFound) as caught:
        find_space(local.feeds, named)
    assert "\x1b" not in caught.value.detail


def test_a_node_is_named_as_the_space_s_members_do(root: Path) -> None:
    with opened(root) as local:
        found = local.feeds.roster(local.feeds.home())
        key = own_key(local)
        assert key == found.owner
        assert name_in(found, found.owner) == found.members[found.owner].name
        assert name_in(found, bytes(31) + b"\x05") == node_id(bytes(31) + b"\x05")[:8]


def test_a_reader_of_nothing_has_no_key(tmp_path: Path) -> None:
    with opened(tmp_path / "absent") as local:
        assert own_key(local) is None
    assert not (tmp_path / "absent").exists()
