"""What becomes of entries that come from elsewhere: honest ones in any order, and those of attackers."""

from __future__ import annotations

import random
from itertools import permutations

import msgspec
import pytest

from crdt import chains, entries, roster
from crdt.chains import Outcome, Reason
from crdt.clock import AHEAD_MS_MAX, milliseconds_of, pack
from crdt.entries import SIGNATURE_BYTES, Entry, EntryKind, hash_of, parse
from crdt.errors import EntryRefused
from crdt.roster import Remove, Revoke
from tests.crdt.memory_chains import MemoryChains
from tests.crdt.signers import START_MS, Feed, SeedSigner, add, genesis

ANNA, BEN, CARA, NEXT = (SeedSigner(name) for name in ("anna", "ben", "cara", "next"))


def outcome(node: MemoryChains, entry: Entry) -> tuple[Outcome, Reason | None]:
    """Let a node receive one entry and say what became of it."""
    (verdict,) = node.receive([entry])
    return verdict.outcome, verdict.reason


def falsely_signed(entry: Entry) -> Entry:
    """Put another signature under an entry."""
    signature = bytes(SIGNATURE_BYTES)
    return msgspec.structs.replace(entry, signature=signature, hash=hash_of(entry.header, signature))


@pytest.fixture
def verifications(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """Collect the entries whose signature is verified."""
    seen: list[Entry] = []

    def counted(entry: Entry) -> bool:
        seen.append(entry)
        return entries.is_signed(entry)

    monkeypatch.setattr(chains, "is_signed", counted)
    return seen


def test_a_feed_is_committed_in_its_order_whatever_the_order_of_the_batch() -> None:
    home = genesis(ANNA)
    home.records(5)
    verdicts = MemoryChains().receive(reversed(home.entries))
    assert [verdict.entry for verdict in verdicts] == home.entries
    assert {verdict.outcome for verdict in verdicts} == {Outcome.COMMITTED}


def test_one_verification_vouches_for_a_run(verifications: list[Entry]) -> None:
    home = genesis(ANNA)
    home.records(50)
    node = MemoryChains()
    node.receive(home.entries[:1])
    verifications.clear()
    node.receive(home.entries)
    assert verifications == [home.entries[-1]]
    assert list(node.committed.values()) == home.entries


def test_what_is_known_is_not_verified_again(verifications: list[Entry]) -> None:
    home = genesis(ANNA)
    node = MemoryChains()
    node.receive(home.entries)
    verifications.clear()
    assert outcome(node, home.entries[0]) == (Outcome.KNOWN, None)
    assert verifications == []


def test_behind_a_gap_entries_wait_and_are_not_verified_twice(verifications: list[Entry]) -> None:
    home = genesis(ANNA)
    home.records(4)
    node = MemoryChains()
    node.receive(home.entries[:1])
    assert outcome(node, home.entries[4]) == (Outcome.PENDING, Reason.GAP)
    assert outcome(node, home.entries[2]) == (Outcome.PENDING, Reason.GAP)
    verifications.clear()
    node.receive([home.entries[1], home.entries[3]])
    assert list(node.committed.values()) == home.entries
    assert not node.pending
    assert home.entries[4] not in verifications


def test_entries_of_an_unknown_space_wait_for_its_genesis() -> None:
    home = genesis(ANNA)
    home.records(2)
    node = MemoryChains()
    assert outcome(node, home.entries[1]) == (Outcome.PENDING, Reason.UNKNOWN_SPACE)
    node.receive(home.entries[:1])
    assert list(node.committed.values()) == home.entries[:2]


def test_entries_of_an_unknown_author_wait_for_its_membership() -> None:
    home = genesis(ANNA)
    added = home.roster(add(BEN))
    bens = Feed(BEN, home.space, start_ms=START_MS + 9)
    first = bens.records(3)[0]
    node = MemoryChains()
    node.receive(home.entries[:1])
    assert outcome(node, first) == (Outcome.PENDING, Reason.UNKNOWN_AUTHOR)
    node.receive([*bens.entries[1:], added])
    assert set(node.committed.values()) == {*home.entries, *bens.entries}


def test_an_entry_signed_by_another_is_refused_even_from_a_stranger() -> None:
    home = genesis(ANNA)
    node = MemoryChains()
    node.receive(home.entries)
    for author in (ANNA, CARA):
        forged = falsely_signed(Feed(author, home.space, inc=4).records(1)[0])
        assert outcome(node, forged) == (Outcome.REFUSED, Reason.SIGNATURE)
    assert not node.pending


def test_nobody_vouches_for_another_author_s_entry() -> None:
    """A truly signed entry of Ben's names a forged one of Anna's as the one before it."""
    home = genesis(ANNA)
    home.roster(add(BEN))
    node = MemoryChains()
    node.receive(home.entries)
    forged = falsely_signed(Feed(ANNA, home.space, inc=4).records(1)[0])
    leading_back = Feed(BEN, home.space, inc=4).branch(forged, EntryKind.RECORD, b"x")
    found = {v.entry.hash: v.reason for v in node.receive([forged, leading_back])}
    assert found == {forged.hash: Reason.SIGNATURE, leading_back.hash: Reason.GAP}


def test_an_author_s_odd_signature_is_judged_alike_one_by_one_and_in_a_run() -> None:
    """Whoever holds the key can chain behind an entry with a false signature; nodes must not disagree."""
    home = genesis(ANNA)
    odd = falsely_signed(home.records(1)[0])
    behind = home.branch(odd, EntryKind.RECORD, b"behind")
    together, apart = MemoryChains(), MemoryChains()
    together.receive([home.entries[0], odd, behind])
    apart.receive(home.entries[:1])
    assert outcome(apart, odd) == (Outcome.REFUSED, Reason.SIGNATURE)
    assert outcome(apart, behind) == (Outcome.PENDING, Reason.GAP)
    assert outcome(apart, odd) == (Outcome.COMMITTED, None)
    assert together.committed == apart.committed
    assert behind.hash in apart.committed


def test_who_may_only_read_appends_nothing() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN, ["read"]))
    node = MemoryChains()
    node.receive(home.entries)
    said = Feed(BEN, home.space, start_ms=START_MS + 9).records(1)[0]
    assert outcome(node, said) == (Outcome.REFUSED, Reason.NOT_ALLOWED)


def test_a_removed_member_s_further_entries_are_refused_and_cost_nothing(verifications: list[Entry]) -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    bens = Feed(BEN, home.space, inc=3, start_ms=START_MS + 9)
    bens.records(3)
    home.roster(Remove(member=BEN.public_key, cut={3: 2}), hlc=bens.entries[-1].hlc + 1)
    node = MemoryChains()
    node.receive(home.entries)
    node.receive(bens.entries[:2])
    verifications.clear()
    assert outcome(node, bens.entries[2]) == (Outcome.REFUSED, Reason.VOID)
    assert verifications == []
    assert set(bens.entries[:2]) < set(node.committed.values())


def test_once_the_ends_of_a_removed_member_s_feed_are_here_nothing_new_comes_into_it(
    verifications: list[Entry],
) -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    bens = Feed(BEN, home.space, inc=3, start_ms=START_MS + 9)
    first, *_, last = bens.records(3)
    removal = Remove(member=BEN.public_key, cut={3: 3, 4: 9}, said={}, ends={3: [last.hash], 4: [b"?" * 32]})
    home.roster(removal, hlc=last.hlc + 1)
    stolen = bens.branch(first, EntryKind.RECORD, b"by a thief")
    behind = Feed(BEN, home.space, inc=4, start_ms=START_MS + 9).records(1)[0]
    node = MemoryChains()
    node.receive([*home.entries, first])
    assert outcome(node, behind) == (Outcome.COMMITTED, None), "its end is not here yet"
    node.receive(bens.entries)
    verifications.clear()
    assert outcome(node, stolen) == (Outcome.REFUSED, Reason.VOID)
    assert verifications == []
    assert outcome(node, last) == (Outcome.KNOWN, None)


def test_a_member_that_comes_back_in_the_same_batch_is_welcome() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    home.roster(Remove(member=BEN.public_key, cut={}))
    back = home.roster(add(BEN))
    node = MemoryChains()
    node.receive(home.entries[:3])
    said = Feed(BEN, home.space, start_ms=START_MS + 9).records(1)[0]
    node.receive([said, back])
    assert said.hash in node.committed


def test_the_promised_key_is_let_in_by_its_own_operation() -> None:
    home = genesis(ANNA, following=NEXT)
    heirs = Feed(NEXT, home.space, inc=8, start_ms=START_MS + 50)
    heirs.roster(Revoke(old=ANNA.public_key, cut={home.inc: 1}))
    heirs.records(2)
    stolen = home.records(1)[0]
    node = MemoryChains()
    node.receive(home.entries[:1])
    node.receive(heirs.entries)
    assert outcome(node, stolen) == (Outcome.REFUSED, Reason.VOID)
    assert list(node.committed.values()) == [home.entries[0], *heirs.entries]


def test_another_key_is_not_let_in_by_revoking() -> None:
    home = genesis(ANNA, following=NEXT)
    thiefs = Feed(CARA, home.space).roster(Revoke(old=ANNA.public_key, cut={}))
    node = MemoryChains()
    node.receive(home.entries)
    assert outcome(node, thiefs) == (Outcome.PENDING, Reason.UNKNOWN_AUTHOR)


def test_forks_are_both_kept_and_go_on_and_the_feed_is_marked() -> None:
    home = genesis(ANNA)
    home.records(3)
    other = home.branch(home.entries[1], EntryKind.RECORD, b"other")
    further = home.branch(other, EntryKind.RECORD, b"further")
    everything = [*home.entries, other, further]
    for order in permutations(everything[1:]):
        node = MemoryChains()
        node.receive(home.entries[:1])
        for entry in order:
            node.receive([entry])
        assert set(node.committed.values()) == set(everything)
        assert node.forked == {home.id}
    at_once = MemoryChains()
    at_once.receive(everything)
    assert at_once.forked == {home.id}


def test_a_wrong_predecessor_is_refused() -> None:
    home = genesis(ANNA)
    home.roster(add(BEN))
    home.records(2)
    node = MemoryChains()
    node.receive(home.entries)
    last, first = home.entries[-1], home.entries[0]
    skipping = msgspec.structs.replace(first, seq=7)
    wrong = [
        home.branch(skipping, EntryKind.RECORD, b"x", hlc=last.hlc + 1),
        Feed(ANNA, home.space, inc=9).branch(last, EntryKind.RECORD, b"x"),
        Feed(BEN, home.space).branch(last, EntryKind.RECORD, b"x"),
    ]
    assert [outcome(node, entry) for entry in wrong] == [(Outcome.REFUSED, Reason.PREV)] * 3


def test_another_space_s_entry_is_refused() -> None:
    home, work = genesis(ANNA), genesis(ANNA, "work", kind="space")
    node = MemoryChains()
    node.receive(home.entries + work.entries)
    moved = Feed(ANNA, work.space).branch(home.entries[0], EntryKind.RECORD, b"x")
    assert outcome(node, moved) == (Outcome.REFUSED, Reason.PREV)


def test_clocks_rise_within_a_feed() -> None:
    home = genesis(ANNA)
    first = home.entries[0]
    node = MemoryChains()
    node.receive(home.entries)
    same = home.branch(first, EntryKind.RECORD, b"x", hlc=first.hlc)
    assert outcome(node, same) == (Outcome.REFUSED, Reason.CLOCK)
    assert (
        outcome(node, home.branch(first, EntryKind.RECORD, b"x", hlc=first.hlc + 1))[0] is Outcome.COMMITTED
    )


def test_the_far_future_waits_until_it_is_due_and_blocks_nothing_else() -> None:
    home = genesis(ANNA)
    now_ms = milliseconds_of(home.entries[0].hlc)
    soon = home.say(EntryKind.RECORD, b"soon", hlc=pack(now_ms + AHEAD_MS_MAX))
    late = home.say(EntryKind.RECORD, b"late", hlc=pack(now_ms + AHEAD_MS_MAX + 1))
    behind = home.records(1)[0]
    node = MemoryChains(now_ms)
    node.receive(home.entries)
    assert list(node.committed.values()) == [home.entries[0], soon]
    assert node.pending[late.hash].due_ms == now_ms + 1
    assert node.pending[behind.hash].reason is Reason.GAP
    node.tick(now_ms)
    assert late.hash in node.pending
    node.tick(now_ms + 1)
    assert list(node.committed.values()) == home.entries


def test_private_spaces_and_what_is_said_in_them_come_from_nowhere() -> None:
    private = genesis(ANNA, "private", kind="private")
    private.records(1)
    node = MemoryChains()
    assert outcome(node, private.entries[0]) == (Outcome.REFUSED, Reason.PRIVATE)
    node.committed = {private.space: private.entries[0]}
    assert outcome(node, private.entries[1]) == (Outcome.REFUSED, Reason.PRIVATE)
    assert outcome(node, private.entries[0]) == (Outcome.KNOWN, None)


def test_a_space_that_says_nothing_is_refused() -> None:
    odd = Feed(ANNA, bytes(32)).branch(None, EntryKind.GENESIS, b"\xc0")
    assert outcome(MemoryChains(), odd) == (Outcome.REFUSED, Reason.GENESIS)


def test_a_body_may_lack_only_where_it_is_known_to_be_erased() -> None:
    """Otherwise a carrier could take the bodies away, and nobody would ask for them again."""
    home = genesis(ANNA)
    kept = home.records(1)[0]
    bare = parse(kept.header + kept.signature, erased=True)
    node = MemoryChains()
    node.receive(home.entries[:1])
    assert outcome(node, bare) == (Outcome.PENDING, Reason.NO_BODY)
    node.erased.add(bare.hash)
    assert outcome(node, bare) == (Outcome.COMMITTED, None)
    whole = MemoryChains()
    whole.receive([home.entries[0], bare])
    assert outcome(whole, kept) == (Outcome.COMMITTED, None)


def test_unknown_kinds_are_kept() -> None:
    home = genesis(ANNA)
    home.say(999, b"of a later version")
    node = MemoryChains()
    node.receive(home.entries)
    assert len(node.committed) == 2


def test_every_reason_has_a_sentence() -> None:
    assert set(chains.DETAILS) == set(Reason)
    home = genesis(ANNA)
    node = MemoryChains()
    node.receive(home.entries)
    (verdict,) = node.receive([falsely_signed(home.records(1)[0])])
    error = chains.refusal(verdict)
    assert isinstance(error, EntryRefused)
    assert "entry 2" in error.detail
    assert "did not sign" in error.detail


def world(draw: random.Random) -> list[Entry]:
    """Make the entries of three authors in one space: members come, go and return, feeds fork."""
    home = genesis(ANNA, following=NEXT)
    home.roster(add(BEN, owner=True))
    bens = Feed(BEN, home.space, inc=3, start_ms=START_MS + 5)
    bens.roster(add(CARA))
    caras = Feed(CARA, home.space, inc=4, start_ms=START_MS + 9)
    for feed in (home, bens, caras):
        feed.records(draw.randrange(1, 5))
    parent = draw.choice(caras.entries)
    branch = caras.branch(parent, EntryKind.RECORD, b"fork")
    heirs = Feed(NEXT, home.space, inc=5, start_ms=START_MS + 60)
    heirs.roster(Revoke(old=ANNA.public_key, cut={home.inc: len(home.entries)}))
    heirs.records(2)
    return [*home.entries, *bens.entries, *caras.entries, branch, *heirs.entries]


@pytest.mark.parametrize("seed", range(30))
def test_every_order_partition_and_duplication_ends_in_the_same_entries(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    everything = world(draw)
    at_once = MemoryChains()
    at_once.receive(everything)
    assert set(at_once.committed.values()) == set(everything)
    shuffled = everything + draw.sample(everything, 6)
    draw.shuffle(shuffled)
    node = MemoryChains()
    while shuffled:
        count = draw.randrange(1, 6)
        node.receive(shuffled[:count])
        del shuffled[:count]
    assert set(node.committed.values()) == set(everything)
    assert not node.pending
    assert node.forked == at_once.forked


def test_roster_bodies_of_foreign_entries_are_read_safely() -> None:
    home = genesis(ANNA)
    home.say(EntryKind.ROSTER, roster.encode(add(BEN))[:-1])
    node = MemoryChains()
    node.receive(home.entries)
    assert len(node.committed) == 2
