"""Members who leave, return and are followed: what is admitted does not depend on what was heard first."""

from __future__ import annotations

from itertools import permutations

from crdt.entries import EntryKind
from crdt.roster import Remove, Revoke
from tests.crdt.memory_chains import MemoryChains
from tests.crdt.signers import START_MS, Feed, SeedSigner, add, genesis

ANNA, BEN, NEXT = (SeedSigner(name) for name in ("anna", "ben", "next"))


def test_a_key_takes_another_s_place_whatever_was_heard_first_of_its_removal() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, following=NEXT))
    taken = Feed(NEXT, home.space, inc=9).roster(
        Revoke(old=BEN.public_key, cut={}), hlc=home.entries[-1].hlc + 1
    )
    home.roster(add(NEXT), hlc=taken.hlc + 1)
    home.roster(Remove(member=NEXT.public_key, cut={}))
    for order in permutations([taken, *home.entries[1:]]):
        node = MemoryChains()
        node.receive(home.entries[:1])
        for entry in order:
            node.receive([entry])
        assert taken.hash in node.committed
        found = node.roster(home.space)
        assert found is not None
        assert [found.members[key].removed for key in (BEN.public_key, NEXT.public_key)] == [True, True]
        assert not found.is_void(NEXT.public_key, 9, 1)


def test_what_was_said_between_removal_and_return_holds_nothing_up() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    bens = Feed(BEN, home.space, inc=3, start_ms=START_MS + 9)
    before = bens.records(1)[0]
    home.roster(Remove(member=BEN.public_key, cut={3: 1}), hlc=before.hlc + 1)
    away = bens.say(EntryKind.RECORD, b"away", hlc=before.hlc + 2)
    home.roster(add(BEN), hlc=before.hlc + 3)
    back = bens.say(EntryKind.RECORD, b"back", hlc=before.hlc + 4)
    knows_all, was_told_late = MemoryChains(), MemoryChains()
    knows_all.receive([*home.entries, *bens.entries])
    was_told_late.receive([*home.entries[:2], before, away])
    was_told_late.receive([*home.entries[2:], back])
    assert knows_all.committed == was_told_late.committed
    assert knows_all.committed.keys() >= {away.hash, back.hash}
    settled = knows_all.roster(home.space)
    assert settled is not None
    assert [settled.may(BEN.public_key, "append", said.hlc) for said in bens.entries] == [True, False, True]
