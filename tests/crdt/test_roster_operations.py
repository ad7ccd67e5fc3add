"""The bodies of what is said about a space: one spelling, and unreadable ones without effect."""

from __future__ import annotations

import pytest

from crdt.entries import EntryKind
from crdt.errors import EntryRefused
from crdt.roster import (
    Add,
    Genesis,
    Remove,
    Revoke,
    Roster,
    encode,
    genesis_of,
    operation_of,
)
from tests.crdt.signers import Feed, SeedSigner, genesis

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")
A, B = ANNA.public_key, BEN.public_key


def test_a_genesis_that_says_nothing_is_refused() -> None:
    odd = Feed(ANNA, bytes(32)).branch(None, EntryKind.GENESIS, b"\xc1")
    with pytest.raises(EntryRefused):
        genesis_of(odd)


def test_operations_of_a_later_version_and_unusable_ones_have_no_effect() -> None:
    home = genesis(ANNA)
    before = Roster.of(home.space, home.entries).members
    small_order = bytes([1]) + bytes(31)
    home.say(EntryKind.ROSTER, b"\x81\xa2op\xa6future")
    home.say(EntryKind.ROSTER, b"\xc1")
    home.say(EntryKind.ROSTER, b"")
    home.roster(Add(member=small_order, rights=[], name="x"))
    assert Roster.of(home.space, home.entries).members == before


def test_bodies_are_the_same_whatever_the_order_of_the_cut() -> None:
    assert encode(Remove(member=B, cut={2: 1, 1: 2})) == encode(Remove(member=B, cut={1: 2, 2: 1}))
    home = genesis(ANNA)
    body = Revoke(old=A, cut={2**64 - 1: 2**40, 0: 0}, next=B)
    assert operation_of(home.roster(body)) == body
    assert genesis_of(home.entries[0]) == Genesis(
        label="home", kind="home", name="anna", made_ms=1_700_000_000_000
    )
