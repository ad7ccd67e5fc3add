"""Who may do what in a space, whatever arrives first and whoever lies about the time."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from crdt.entries import EntryKind
from crdt.errors import EntryRefused, NotFound
from crdt.keys import commitment
from crdt.roster import (
    RIGHTS,
    Add,
    Alias,
    Genesis,
    Label,
    Remove,
    Revoke,
    Roster,
    encode,
    genesis_of,
    operation_of,
)
from tests.crdt.signers import Feed, SeedSigner, add, genesis

ANNA, BEN, CARA, NEXT, LATER = (SeedSigner(name) for name in ("anna", "ben", "cara", "next", "later"))
A, B, C, N = (signer.public_key for signer in (ANNA, BEN, CARA, NEXT))


def rights(roster: Roster, key: bytes) -> set[str]:
    """Name the rights that somebody has at the end of all time."""
    return {right for right in RIGHTS if roster.may(key, right, 2**62)}


def test_a_genesis_makes_its_author_the_owner_with_all_rights_for_all_time() -> None:
    home = genesis(ANNA, "home", following=NEXT)
    roster = Roster.of(home.space, home.entries)
    assert (roster.space, roster.label, roster.kind, roster.owner) == (home.space, "home", "home", A)
    assert roster.members[A].rights == RIGHTS
    assert roster.members[A].owner
    assert all(roster.may(A, right, 0) for right in RIGHTS)
    assert not roster.knows(B)
    assert not roster.may(B, "read", 2**62)
    assert roster.alias is None


def test_a_space_without_its_genesis_is_not_found() -> None:
    with pytest.raises(NotFound):
        Roster.of(bytes(32), genesis(ANNA).entries)


def test_a_genesis_that_says_nothing_is_refused() -> None:
    odd = Feed(ANNA, bytes(32)).branch(None, EntryKind.GENESIS, b"\xc1")
    with pytest.raises(EntryRefused):
        genesis_of(odd)


def test_a_member_has_the_rights_that_it_was_given_from_then_on() -> None:
    home = genesis(ANNA)
    added = home.roster(add(BEN, ["read"]))
    widened = home.roster(add(BEN, ["read", "append"]))
    roster = Roster.of(home.space, home.entries)
    assert not roster.may(B, "read", added.hlc - 1)
    assert roster.may(B, "read", added.hlc)
    assert not roster.may(B, "append", widened.hlc - 1)
    assert roster.may(B, "append", widened.hlc)
    assert not roster.may(B, "moderate", 2**62)
    assert roster.members[B].since_hlc == widened.hlc
    assert roster.members[B].name == "ben"


def test_only_owners_say_who_is_a_member() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    meddling = Feed(BEN, home.space)
    meddling.roster(add(CARA), hlc=home.entries[-1].hlc + 1)
    assert not Roster.of(home.space, home.entries + meddling.entries).knows(C)
    home.roster(add(BEN, owner=True))
    late = meddling.roster(add(CARA), hlc=home.entries[-1].hlc + 1)
    roster = Roster.of(home.space, home.entries + meddling.entries)
    assert roster.members[C].since_hlc == late.hlc


def test_what_a_removed_member_says_beyond_the_cut_is_void() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    gone = home.roster(Remove(member=B, cut={7: 3, 2**64 - 1: 1}))
    roster = Roster.of(home.space, home.entries)
    assert roster.members[B].removed
    assert roster.knows(B)
    assert roster.may(B, "append", gone.hlc - 1)
    assert not roster.may(B, "append", gone.hlc)
    assert [roster.is_void(B, 7, seq) for seq in (1, 3, 4)] == [False, False, True]
    assert not roster.is_void(B, 2**64 - 1, 1)
    assert roster.is_void(B, 8, 1)
    assert not roster.is_void(A, 8, 1)


def test_a_member_that_is_added_again_may_go_on_where_it_was() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    home.roster(Remove(member=B, cut={7: 3}))
    home.roster(add(BEN))
    roster = Roster.of(home.space, home.entries)
    assert not roster.is_void(B, 7, 4)
    assert rights(roster, B) == RIGHTS
    assert not roster.members[B].removed


def test_a_member_can_leave_and_its_leaving_is_not_void_by_its_own_cut() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, ["read", "append"]))
    bens = Feed(BEN, home.space, inc=5)
    bens.records(2)
    left = bens.roster(Remove(member=B, cut={}), hlc=home.entries[-1].hlc + 9)
    roster = Roster.of(home.space, home.entries + bens.entries)
    assert roster.members[B].removed
    assert not roster.is_void(B, 5, left.seq)
    assert roster.is_void(B, 5, left.seq + 1)


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


def test_labels_and_aliases_are_the_owner_s() -> None:
    home, other = genesis(ANNA), genesis(BEN)
    home.roster(add(CARA))
    caras = Feed(CARA, home.space)
    caras.roster(Label(label="stolen"), hlc=home.entries[-1].hlc + 1)
    caras.roster(Alias(own=home.space, into=other.space))
    assert Roster.of(home.space, home.entries + caras.entries).alias is None
    home.roster(Alias(own=other.space, into=home.space))
    assert Roster.of(home.space, home.entries).alias is None
    home.roster(Alias(own=home.space, into=other.space))
    home.roster(Label(label="house"))
    roster = Roster.of(home.space, home.entries + caras.entries)
    assert (roster.alias, roster.label) == (other.space, "house")


def test_operations_of_a_later_version_and_unusable_ones_have_no_effect() -> None:
    home = genesis(ANNA)
    before = Roster.of(home.space, home.entries).members
    small_order = bytes([1]) + bytes(31)
    home.say(EntryKind.ROSTER, b"\x81\xa2op\xa6future")
    home.say(EntryKind.ROSTER, b"\xc1")
    home.say(EntryKind.ROSTER, b"")
    home.roster(Add(member=small_order, rights=[], name="x"))
    assert Roster.of(home.space, home.entries).members == before


def test_another_space_s_roster_has_no_effect() -> None:
    home, other = genesis(ANNA), genesis(ANNA, "work", kind="space")
    other.roster(add(BEN))
    assert not Roster.of(home.space, home.entries + other.entries).knows(B)


def test_bodies_are_the_same_whatever_the_order_of_the_cut() -> None:
    assert encode(Remove(member=B, cut={2: 1, 1: 2})) == encode(Remove(member=B, cut={1: 2, 2: 1}))
    home = genesis(ANNA)
    body = Revoke(old=A, cut={2**64 - 1: 2**40, 0: 0}, next=B)
    assert operation_of(home.roster(body)) == body
    assert genesis_of(home.entries[0]) == Genesis(
        label="home", kind="home", name="anna", made_ms=1_700_000_000_000
    )


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


def test_what_would_apply_can_be_asked_before_it_is_said() -> None:
    home = genesis(ANNA, following=NEXT)
    home.roster(add(BEN, owner=True))
    home.roster(add(CARA))
    roster = Roster.of(home.space, home.entries)
    assert roster.may_add(A, B)
    assert roster.may_add(B, C)
    assert not roster.may_add(B, A)
    assert not roster.may_add(C, N)
    assert roster.may_remove(C, C)
    assert not roster.may_remove(C, B)
    assert not roster.may_remove(A, N)
    assert roster.promise_of(A) == commitment(N)
    assert roster.promise_of(B) is roster.promise_of(N) is None
    heir = Feed(NEXT, home.space, start_ms=home.entries[-1].hlc)
    revoked = Roster.of(home.space, [*home.entries, heir.roster(Revoke(old=A, cut={home.inc: 3}))])
    assert not revoked.may_add(N, A)
    assert not revoked.may_remove(N, A)
