"""Owners, thieves and removed members who lie about the time: who wins does not depend on what came first."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from crdt.entries import EntryKind
from crdt.roster import (
    RIGHTS,
    Label,
    Remove,
    Revoke,
    Roster,
    encode,
)
from tests.crdt.signers import Feed, SeedSigner, add, genesis

ANNA, BEN, CARA, NEXT, LATER = (SeedSigner(name) for name in ("anna", "ben", "cara", "next", "later"))
A, B, C, N = (signer.public_key for signer in (ANNA, BEN, CARA, NEXT))


def rights(roster: Roster, key: bytes) -> set[str]:
    """Name the rights that somebody has at the end of all time."""
    return {right for right in RIGHTS if roster.may(key, right, 2**62)}


def test_a_removed_owner_can_not_remove_its_remover_by_an_earlier_clock() -> None:
    home = genesis(ANNA)
    joined = home.roster(add(BEN, owner=True))
    bens = Feed(BEN, home.space, inc=5)
    home.records(3)
    home.roster(Remove(member=B, cut={}))
    bens.roster(Remove(member=A, cut={}), hlc=joined.hlc + 1)
    roster = Roster.of(home.space, home.entries + bens.entries)
    assert roster.members[B].removed
    assert rights(roster, A) == RIGHTS


@pytest.mark.parametrize("said", [None, {}])
def test_a_revoked_key_stays_revoked_when_the_one_in_its_place_is_removed(
    said: dict[int, list[bytes]] | None,
) -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, following=NEXT))
    heirs = Feed(NEXT, home.space, inc=9)
    taken = heirs.roster(Revoke(old=B, cut={}), hlc=home.entries[-1].hlc + 1)
    heirs.say(EntryKind.RECORD, b"beyond the cut", hlc=taken.hlc + 1)
    home.roster(Remove(member=N, cut={}, said=said), hlc=taken.hlc + 2)
    roster = Roster.of(home.space, home.entries + heirs.entries)
    assert [roster.members[key].removed for key in (B, N)] == [True, True]
    assert [roster.is_void(N, 9, seq) for seq in (1, 2)] == [False, True]
    home.roster(add(BEN))
    assert rights(Roster.of(home.space, home.entries + heirs.entries), B) == set()


def test_a_revocation_is_the_first_entry_of_a_feed_or_nothing() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, following=NEXT))
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.say(EntryKind.RECORD, b"before", hlc=home.entries[-1].hlc + 1)
    late = heirs.roster(Revoke(old=B, cut={}))
    roster = Roster.of(home.space, home.entries + heirs.entries)
    assert not roster.takes_over(late)
    assert (rights(roster, B), rights(roster, N)) == (RIGHTS, set())


def test_who_follows_a_removed_key_brings_nothing_of_it_back() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, following=NEXT))
    home.roster(Remove(member=B, cut={7: 2}))
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.roster(Revoke(old=B, cut={7: 5, 8: 5}), hlc=home.entries[-1].hlc + 1)
    heirs.say(EntryKind.RECORD, b"as if it were a member", hlc=heirs.entries[-1].hlc + 1)
    roster = Roster.of(home.space, home.entries + heirs.entries)
    assert [roster.is_void(B, inc, seq) for inc, seq in ((7, 2), (7, 3), (8, 1))] == [False, True, True]
    assert [roster.is_void(N, 9, seq) for seq in (1, 2)] == [False, True]
    assert rights(roster, N) == set()
    home.roster(add(BEN), hlc=heirs.entries[-1].hlc + 1)
    home.roster(add(NEXT))
    again = Roster.of(home.space, home.entries + heirs.entries)
    assert (rights(again, B), rights(again, N)) == (set(), RIGHTS)
    assert not again.is_void(N, 9, 2)


def test_a_thief_who_removes_the_key_itself_does_not_keep_the_next_one_out() -> None:
    home = genesis(ANNA, following=NEXT)
    home.records(3)
    kept = home.entries[-1].seq
    home.roster(Remove(member=A, cut={}))
    heirs = Feed(NEXT, home.space, inc=9)
    heirs.roster(Revoke(old=A, cut={home.inc: kept}), hlc=home.entries[-1].hlc + 1)
    roster = Roster.of(home.space, home.entries + heirs.entries)
    assert (rights(roster, A), rights(roster, N)) == (set(), RIGHTS)
    assert [roster.is_void(A, home.inc, seq) for seq in (kept, kept + 1)] == [False, True]


def test_an_owner_may_append_whatever_else_it_may() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, ["read"], owner=True))
    assert rights(Roster.of(home.space, home.entries), B) == {"read", "append"}
    said = Feed(BEN, home.space).roster(add(CARA), hlc=home.entries[-1].hlc + 1)
    assert Roster.of(home.space, home.entries).admits(said)


def test_an_owner_is_changed_by_a_senior_one_and_not_by_a_junior_one() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, owner=True))
    home.roster(add(CARA, owner=True))
    caras = Feed(CARA, home.space)
    caras.roster(Remove(member=B, cut={}), hlc=home.entries[-1].hlc + 1)
    caras.roster(add(BEN, []), hlc=home.entries[-1].hlc + 2)
    assert rights(Roster.of(home.space, home.entries + caras.entries), B) == RIGHTS
    bens = Feed(BEN, home.space)
    bens.roster(Remove(member=C, cut={}), hlc=home.entries[-1].hlc + 3)
    assert Roster.of(home.space, home.entries + caras.entries + bens.entries).members[C].removed


def test_voiding_an_owner_undoes_what_it_did_beyond_the_cut() -> None:
    home = genesis(ANNA)
    joined = home.roster(add(BEN, owner=True))
    bens = Feed(BEN, home.space, inc=5)
    bens.roster(add(CARA, owner=True), hlc=joined.hlc + 1)
    caras = Feed(CARA, home.space, inc=6)
    caras.roster(Label(label="mine"), hlc=joined.hlc + 2)
    everything = home.entries + bens.entries + caras.entries
    assert Roster.of(home.space, everything).label == "mine"
    home.roster(Remove(member=B, cut={}))
    roster = Roster.of(home.space, home.entries + bens.entries + caras.entries)
    assert not roster.knows(C)
    assert roster.label == "home"


def test_the_promised_key_takes_over_and_the_thief_s_operations_are_void() -> None:
    home = genesis(ANNA, following=NEXT)
    home.roster(add(BEN, owner=True))
    stolen_from = home.entries[-1].seq
    home.roster(Remove(member=B, cut={}))
    home.roster(add(ANNA, following=CARA))
    heirs = Feed(NEXT, home.space, inc=9)
    over = heirs.branch(
        None,
        EntryKind.ROSTER,
        encode(Revoke(old=A, cut={home.inc: stolen_from})),
        hlc=home.entries[-1].hlc + 5,
    )
    assert Roster.of(home.space, home.entries).admits(over)
    roster = Roster.of(home.space, [*home.entries, over])
    assert roster.owner == N
    assert rights(roster, N) == RIGHTS == rights(roster, B)
    assert rights(roster, A) == set()
    assert roster.is_void(A, home.inc, stolen_from + 1)
    assert not roster.is_void(A, home.inc, 1)


def test_a_thief_can_not_promise_another_key() -> None:
    home = genesis(ANNA, following=NEXT)
    home.roster(add(ANNA, owner=True, following=CARA))
    thiefs = Feed(CARA, home.space).roster(Revoke(old=A, cut={}), hlc=home.entries[-1].hlc + 1)
    before = Roster.of(home.space, home.entries)
    assert not before.admits(thiefs)
    assert Roster.of(home.space, [*home.entries, thiefs]).members == before.members


def test_a_revoked_key_never_comes_back_and_its_successor_can_be_followed_too() -> None:
    home = genesis(ANNA, following=NEXT)
    heirs = Feed(NEXT, home.space)
    first = heirs.roster(
        Revoke(old=A, cut={}, next=add(CARA, following=LATER).next), hlc=home.entries[-1].hlc + 1
    )
    heirs.roster(add(ANNA, owner=True), hlc=first.hlc + 1)
    last = Feed(LATER, home.space).roster(Revoke(old=N, cut={heirs.inc: 9}), hlc=first.hlc + 9)
    roster = Roster.of(home.space, [*home.entries, *heirs.entries, last])
    assert roster.owner == LATER.public_key
    assert rights(roster, A) == set() == rights(roster, N)
    assert rights(roster, LATER.public_key) == RIGHTS


def test_even_a_cut_of_nothing_keeps_the_genesis() -> None:
    home = genesis(ANNA, following=NEXT)
    over = Feed(NEXT, home.space).roster(Revoke(old=A, cut={}), hlc=home.entries[-1].hlc + 1)
    roster = Roster.of(home.space, [*home.entries, over])
    assert not roster.is_void(A, home.inc, 1)
    assert roster.is_void(A, home.inc, 2)


def test_any_order_and_duplicates_give_the_same_roster() -> None:
    home = genesis(ANNA, following=NEXT)
    joined = home.roster(add(BEN, owner=True))
    bens = Feed(BEN, home.space, inc=5)
    bens.roster(add(CARA, owner=True), hlc=joined.hlc + 1)
    caras = Feed(CARA, home.space, inc=6)
    caras.roster(Remove(member=B, cut={}), hlc=joined.hlc + 2)
    home.roster(Remove(member=B, cut={5: 0}))
    entries = home.entries + bens.entries + caras.entries
    expected = Roster.of(home.space, entries).members
    for order in permutations(entries):
        assert Roster.of(home.space, order + order[:2]).members == expected


@pytest.mark.parametrize("seed", range(40))
def test_random_rosters_do_not_depend_on_order(seed: int) -> None:
    """Owners add, remove and revoke at random, with clocks dated back at random."""
    draw = random.Random(seed)  # noqa: S311
    home = genesis(ANNA, following=NEXT)
    start = home.entries[0].hlc
    feeds = [Feed(signer, home.space, inc=inc) for inc, signer in enumerate((ANNA, BEN, CARA, NEXT), 20)]
    for _ in range(30):
        feed, about = draw.choice(feeds), draw.choice((ANNA, BEN, CARA, NEXT))
        cut = {other.inc: draw.randrange(9) for other in feeds}
        operation = draw.choice(
            (
                add(about, owner=draw.random() < 0.7, following=draw.choice((None, NEXT))),
                Remove(member=about.public_key, cut=cut),
                Revoke(old=about.public_key, cut=cut),
                Label(label=f"l{draw.random()}"),
            )
        )
        last = feed.entries[-1].hlc if feed.entries else start
        feed.roster(operation, hlc=last + draw.randrange(1, 40))
    entries = home.entries + [entry for feed in feeds for entry in feed.entries]
    expected = Roster.of(home.space, entries)
    for _ in range(5):
        draw.shuffle(entries)
        again = Roster.of(home.space, entries)
        assert (again.members, again.label, again.owner) == (expected.members, expected.label, expected.owner)
