"""The ends that a removal names: whose they are, how long they hold, and that no order changes them."""

from __future__ import annotations

import random

import pytest

from crdt.departure import ENDS_OF_ALL_MAX, FEEDS_MAX
from crdt.entries import BODY_BYTES_MAX, EntryKind, FeedId
from crdt.roster import Remove, Revoke, Roster, encode, operation_of
from crdt.roster_operations import SAID_MAX
from tests.crdt.signers import Feed, SeedSigner, add, genesis

ANNA, BEN, NEXT = (SeedSigner(name) for name in ("anna", "ben", "next"))
A, B, N = (signer.public_key for signer in (ANNA, BEN, NEXT))


@pytest.fixture
def home() -> Feed:
    return genesis(ANNA, following=NEXT)


@pytest.fixture
def bens(home: Feed) -> Feed:
    joined = home.roster(add(BEN, following=NEXT))
    feed = Feed(BEN, home.space, inc=5)
    feed.say(EntryKind.RECORD, b"first", hlc=joined.hlc + 1)
    feed.records(2)
    return feed


def test_a_removal_names_the_ends_of_feeds_until_the_member_is_back(home: Feed, bens: Feed) -> None:
    last = bens.entries[-1].hash
    home.roster(Remove(member=B, cut={5: 3}, said={}, ends={5: [last]}))
    removed = Roster.of(home.space, home.entries)
    assert removed.ends(B, 5) == {last}
    assert removed.ends(B, 6) == removed.ends(A, 5) == frozenset()
    assert removed.all_ends() == {FeedId(home.space, B, 5): {last}}
    home.roster(add(BEN))
    assert Roster.of(home.space, home.entries).all_ends() == {}


def test_ends_change_the_standing_of_their_author_alone(home: Feed, bens: Feed) -> None:
    before = home.entries[-1]
    found = []
    for ends in (None, {5: [bens.entries[-1].hash]}, {5: [bens.entries[0].hash]}):
        removal = home.branch(
            before, EntryKind.ROSTER, encode(Remove(member=B, cut={5: 3}, said={}, ends=ends))
        )
        found.append(Roster.of(home.space, [*home.entries, removal]).standings())
    assert len({standings[B] for standings in found}) == 3
    assert len({standings[A] for standings in found}) == 1


def test_who_leaves_by_itself_keeps_the_branch_that_says_so(home: Feed, bens: Feed) -> None:
    last = bens.entries[-1].hash
    left = bens.roster(Remove(member=B, cut={5: 3}, said={}, ends={5: [last]}))
    found = Roster.of(home.space, [*home.entries, *bens.entries])
    assert found.ends(B, 5) == {last, left.hash}
    assert not found.is_void(B, 5, left.seq)


def test_the_genesis_is_an_end_where_nothing_else_counts(home: Feed) -> None:
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.roster(Revoke(old=A, cut={}, said={}, ends={}), hlc=home.entries[-1].hlc + 1)
    found = Roster.of(home.space, home.entries + heirs.entries)
    assert found.all_ends() == {FeedId(home.space, A, home.inc): {home.entries[0].hash}}


def test_a_feed_that_is_cut_without_an_end_is_cut_by_its_number_alone(home: Feed) -> None:
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.roster(Revoke(old=A, cut={home.inc: 1, 7: 1}, said={}, ends={7: []}), hlc=home.entries[-1].hlc + 1)
    assert Roster.of(home.space, home.entries + heirs.entries).all_ends() == {}


def test_of_two_removals_the_first_says_where_feeds_end(home: Feed, bens: Feed) -> None:
    first, second, third = (entry.hash for entry in bens.entries)
    home.roster(Remove(member=B, cut={5: 3}, said={}, ends={5: [third]}))
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.roster(
        Revoke(old=B, cut={5: 3, 6: 1}, said={}, ends={5: [first], 6: [second]}), hlc=home.entries[-1].hlc + 1
    )
    found = Roster.of(home.space, home.entries + heirs.entries)
    assert found.ends(B, 5) == {third}
    assert found.is_void(B, 6, 1), "no later removal brings a feed back"


def test_what_an_older_version_says_names_no_ends(home: Feed, bens: Feed) -> None:
    home.roster(Remove(member=B, cut={5: 3}))
    found = Roster.of(home.space, home.entries)
    assert found.all_ends() == {}
    assert not found.is_void(B, 5, bens.entries[-1].seq)


def test_ends_are_spelled_in_one_way(home: Feed) -> None:
    one, other = b"1" * 32, b"2" * 32
    spelled = {
        encode(Remove(member=B, cut={1: 1, 2: 2}, said={}, ends={2: [other, one], 1: [one]})),
        encode(Remove(member=B, cut={2: 2, 1: 1}, said={}, ends={1: [one], 2: [one, other]})),
    }
    assert len(spelled) == 1
    said = operation_of(home.say(EntryKind.ROSTER, spelled.pop()))
    assert isinstance(said, Remove)
    assert said.ends == {1: [one], 2: [one, other]}


def test_the_longest_removal_fits_into_an_entry() -> None:
    draw = random.Random(1)  # noqa: S311 - a replayable order
    cut = {draw.getrandbits(64): draw.getrandbits(40) for _ in range(FEEDS_MAX)}
    ends = {inc: [draw.randbytes(32)] for inc in list(cut)[:ENDS_OF_ALL_MAX]}
    said = {draw.getrandbits(64): [draw.randbytes(32)] for _ in range(SAID_MAX)}
    for body in (
        Remove(member=B, cut=cut, said=said, ends=ends),
        Revoke(old=B, cut=cut, said=said, ends=ends, next=N),
    ):
        assert len(encode(body)) <= BODY_BYTES_MAX


@pytest.mark.parametrize("seed", range(20))
def test_ends_do_not_depend_on_the_order(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a replayable order
    home = genesis(ANNA, following=NEXT)
    signers = (ANNA, BEN, NEXT)
    feeds = [Feed(signer, home.space, inc=inc) for inc, signer in enumerate(signers, 20)]
    for _ in range(25):
        feed, about = draw.choice(feeds), draw.choice(signers)
        cut = {other.inc: draw.randrange(9) for other in feeds}
        ends = {other.inc: [one.hash for one in other.entries[-2:]] for other in feeds if draw.random() < 0.7}
        operation = draw.choice(
            (
                add(about, owner=draw.random() < 0.7, following=draw.choice((None, NEXT))),
                Remove(member=about.public_key, cut=cut, said={}, ends=ends),
                Revoke(old=about.public_key, cut=cut, ends=draw.choice((None, ends))),
            )
        )
        last = feed.entries[-1].hlc if feed.entries else home.entries[0].hlc
        feed.roster(operation, hlc=last + draw.randrange(1, 40))
    entries = home.entries + [entry for feed in feeds for entry in feed.entries]
    expected = Roster.of(home.space, entries)
    for _ in range(5):
        draw.shuffle(entries)
        again = Roster.of(home.space, entries)
        assert (again.all_ends(), again.standings()) == (expected.all_ends(), expected.standings())


def test_what_was_said_about_members_is_an_end_and_nothing_is_one_without_it(home: Feed, bens: Feed) -> None:
    said, last = bens.entries[0].hash, bens.entries[-1].hash
    before = home.entries[-1]
    for named, ends in (({5: [said], 6: [said]}, {said, last}), ({}, {last}), (None, set())):
        operation = Remove(member=B, cut={5: 3}, said=named, ends={5: [last]})
        removal = home.branch(before, EntryKind.ROSTER, encode(operation))
        assert Roster.of(home.space, [*home.entries, removal]).ends(B, 5) == ends
