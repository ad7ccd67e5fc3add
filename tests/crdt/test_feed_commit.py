"""What becomes of entries that come from elsewhere: order, gaps, forks, removals, erasures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import operations
from crdt.chains import Reason
from crdt.clock import pack, wall_ms
from crdt.entries import Draft, Entry, EntryKind, FeedId, Position, parse, seal
from crdt.errors import NotAllowed
from crdt.operations import Operation, minted
from crdt.pending import PendingTable
from crdt.projection import Projector
from crdt.roster import Add, Remove, encode
from crdt.store import FeedStore
from tests.crdt.logs import open_feeds
from tests.crdt.signers import START_MS, Feed, SeedSigner, add, genesis

ANNA, BEN, CARA, NODE = (SeedSigner(name) for name in ("anna", "ben", "cara", "node"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FeedStore]:
    with closing(open_feeds(tmp_path / "feeds.db")) as opened:
        yield opened


def space_of_anna() -> Feed:
    """Make a space of Anna's to which Ben belongs."""
    space = genesis(ANNA, "team", kind="space")
    space.roster(add(BEN, ("read", "append")))
    return space


def member(signer: SeedSigner, space: Feed) -> Feed:
    """Begin the feed of somebody who was added before."""
    return Feed(signer, space.space, start_ms=START_MS + 1_000)


def raws(*entries: Entry) -> list[bytes]:
    return [entry.raw for entry in entries]


def reasons(store: FeedStore) -> list[Reason]:
    return [item.reason for item in store.pending()]


def hashes(store: FeedStore, feed: FeedId) -> list[bytes]:
    return [entry.hash for entry in store.feed_entries(feed)]


def test_entries_are_committed_whatever_their_order_and_once(store: FeedStore) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    ben.records(600, 200)
    entries = [*anna.entries, *ben.entries]
    random.Random(3).shuffle(entries)  # noqa: S311 - a replayable order
    received = store.receive(raws(*entries, *entries[:50]))
    assert {item.entry.hash for item in received.committed} == {entry.hash for entry in entries}
    assert (received.pending, received.refused) == ([], [])
    assert hashes(store, ben.id) == [entry.hash for entry in ben.entries]
    again = store.receive(raws(*entries))
    assert (again.committed, again.known) == ([], len(entries))
    assert [item.id for item in store.entries()] == sorted({item.id for item in store.entries()})
    (head,) = [head for head in store.heads() if head.feed == ben.id]
    assert (head.seq, head.count, head.head, head.is_forked) == (600, 600, ben.entries[-1].hash, False)


def test_what_is_missing_is_waited_for_and_a_restart_keeps_what_waits(tmp_path: Path) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    first, second, third = ben.records(3)
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert [v.reason for v in store.receive(raws(third, first)).pending] == [Reason.UNKNOWN_SPACE] * 2
        store.receive(raws(anna.entries[0]))
        assert reasons(store) == [Reason.UNKNOWN_AUTHOR] * 2
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        let_in = store.receive(raws(anna.entries[1])).committed
        assert [item.entry for item in let_in] == [anna.entries[1], first]
        assert reasons(store) == [Reason.GAP]
        assert [item.entry for item in store.receive(raws(second)).committed] == [second, third]
        assert store.pending() == []


def test_a_membership_that_this_node_gives_lets_in_what_waited(store: FeedStore) -> None:
    home = store.home()
    ben = Feed(BEN, home, start_ms=wall_ms() + 60_000)
    said = ben.records(2)
    store.receive(raws(*said))
    assert reasons(store) == [Reason.UNKNOWN_AUTHOR] * 2
    store.write([Draft(space=home, kind=EntryKind.ROSTER, body=encode(add(BEN)))])
    assert store.pending() == []
    assert hashes(store, ben.id) == [entry.hash for entry in said]


def test_what_is_of_the_future_waits_until_it_is_due(tmp_path: Path) -> None:
    now_ms = wall_ms()
    anna = genesis(ANNA, "team", kind="space")
    early = anna.say(EntryKind.RECORD, b"early", hlc=pack(now_ms + 600_000))
    behind = anna.say(EntryKind.RECORD, b"behind it")
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        store.receive(raws(*anna.entries))
        assert reasons(store) == [Reason.FUTURE, Reason.GAP]
        assert store.retry().committed == []
        own = store._writing.own if store._writing else None
        assert own is not None
        own.authorship = type(own.authorship)(now_ms=lambda: now_ms + 300_000)
        assert [item.entry for item in store.retry().committed] == [early, behind]
        assert store.pending() == []


def test_forged_changed_and_unreadable_entries_are_refused_and_the_rest_is_taken(store: FeedStore) -> None:
    anna = space_of_anna()
    forger = Feed(CARA, anna.space)
    store.receive(raws(*anna.entries))
    good = anna.say(EntryKind.RECORD, b"good")
    other = anna.say(EntryKind.RECORD, b"other")
    forged = bytearray(other.raw)
    forged[-1] ^= 1
    changed = bytearray(good.raw)
    changed[170] ^= 1
    received = store.receive([b"", bytes(forged), good.raw, bytes(changed), *raws(*forger.records(1))])
    assert [item.entry for item in received.committed] == [good]
    assert len(received.refused) == 3
    assert reasons(store) == [Reason.UNKNOWN_AUTHOR]


def test_both_branches_of_a_fork_are_kept_and_have_one_head_whatever_came_first(tmp_path: Path) -> None:
    anna = space_of_anna()
    one = anna.say(EntryKind.RECORD, b"one")
    other = anna.branch(anna.entries[-2], EntryKind.RECORD, b"other")
    longer = [anna.say(EntryKind.RECORD, b"and on"), anna.branch(other, EntryKind.RECORD, b"and on there")]
    heads = []
    for number in range(6):
        entries = [*anna.entries, other, longer[1]]
        random.Random(number).shuffle(entries)  # noqa: S311 - a replayable order
        with closing(open_feeds(tmp_path / f"{number}.db")) as store:
            for entry in entries:
                store.receive(raws(entry))
            assert store.pending() == []
            assert store.forks() == [anna.id]
            assert set(hashes(store, anna.id)) == {entry.hash for entry in entries}
            heads.append([head for head in store.heads() if head.feed == anna.id])
    assert all(found == heads[0] for found in heads)
    assert heads[0][0].count == heads[0][0].seq + 2
    assert one in anna.entries


def test_a_node_never_continues_its_feed_where_another_did(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        home = store.home()
        (mine,) = store.write([Draft(space=home, kind=EntryKind.RECORD, body=b"mine")])
        twin = Feed(NODE, home, inc=mine.entry.inc)
        ahead = twin.branch(mine.entry, EntryKind.RECORD, b"of a twin")
        store.receive(raws(ahead))
        (next_,) = store.write([Draft(space=home, kind=EntryKind.RECORD, body=b"mine again")])
        assert next_.entry.inc != mine.entry.inc
        assert next_.entry.seq == 1
        fork = twin.branch(mine.entry, EntryKind.RECORD, b"of a third")
        store.receive(raws(fork))
        assert store.forks() == [mine.entry.feed]


def test_what_a_removed_member_said_beyond_the_cut_counts_nowhere(tmp_path: Path) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    said = ben.records(5)
    anna.roster(Remove(member=BEN.public_key, cut={ben.inc: 3}), hlc=said[-1].hlc + 1)
    found = []
    for number, order in enumerate(([*anna.entries[:2], *said, anna.entries[2]], [*anna.entries, *said])):
        with closing(open_feeds(tmp_path / f"{number}.db")) as store:
            for entry in order:
                store.receive(raws(entry))
            assert hashes(store, ben.id) == [entry.hash for entry in said[:3]]
            assert store.pending() == []
            found.append([head for head in store.heads() if head.feed.space == anna.space])
    assert found[0] == found[1]


def test_whoever_has_a_removed_member_s_key_can_put_nothing_beside_what_was_said(tmp_path: Path) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    said = ben.records(4)
    removal = Remove(member=BEN.public_key, cut={ben.inc: 4}, said={}, ends={ben.inc: [said[-1].hash]})
    anna.roster(removal, hlc=said[-1].hlc + 1)
    stolen = ben.branch(said[0], EntryKind.RECORD, b"by a thief")
    further = seal(
        EntryKind.RECORD, b"more", Position(feed=ben.id, seq=3, prev=stolen.hash, hlc=2**60), ben.signer
    )
    everything = [*anna.entries, *said, stolen]
    found = []
    for number in range(12):
        order = list(everything)
        random.Random(number).shuffle(order)  # noqa: S311 - a replayable order
        with closing(open_feeds(tmp_path / f"{number}.db")) as store:
            for entry in order:
                store.receive(raws(entry))
            assert store.forks() == []
            assert hashes(store, ben.id) == [entry.hash for entry in said]
            assert [error.detail for error in store.receive(raws(further)).refused] != []
            found.append([head for head in store.heads() if head.feed.space == anna.space])
    assert all(heads == found[0] for heads in found)


def test_a_thief_erases_nothing_beside_what_was_said(store: FeedStore) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    said = ben.records(4)
    removal = Remove(member=BEN.public_key, cut={ben.inc: 4}, said={}, ends={ben.inc: [said[-1].hash]})
    anna.roster(removal, hlc=said[-1].hlc + 1)
    erasure = ben.branch(said[1], EntryKind.ERASE, said[0].hash)
    store.receive(raws(*anna.entries, *said, erasure))
    found = store.entry(said[0].hash)
    assert found is not None
    assert found.entry.body == said[0].body


def test_who_was_let_in_by_what_is_void_counts_nowhere(tmp_path: Path) -> None:
    anna = genesis(ANNA, "team", kind="space")
    anna.roster(add(BEN, owner=True))
    ben = member(BEN, anna)
    ben.roster(add(CARA))
    cara = Feed(CARA, anna.space, start_ms=START_MS + 2_000)
    said = cara.records(3)
    anna.roster(Remove(member=BEN.public_key, cut={ben.inc: 0}), hlc=said[-1].hlc + 1)
    found = []
    for number, order in enumerate(([*anna.entries[:2], *ben.entries, *said, anna.entries[2]], anna.entries)):
        with closing(open_feeds(tmp_path / f"{number}.db")) as store:
            for entry in order:
                store.receive(raws(entry))
            store.receive(raws(*ben.entries, *said))
            found.append([head for head in store.heads() if head.feed.space == anna.space])
    assert found[0] == found[1]
    assert {head.feed.author for head in found[0]} == {ANNA.public_key}


def test_a_removal_that_is_taken_back_brings_back_what_was_void(store: FeedStore) -> None:
    home = store.home()
    write = lambda operation: store.write(  # noqa: E731 - one line, three times
        [Draft(space=home, kind=EntryKind.ROSTER, body=encode(operation))]
    )
    (added,) = write(add(BEN))
    ben = Feed(BEN, home)
    first = ben.say(EntryKind.RECORD, b"first", hlc=added.entry.hlc + 1)
    second = ben.say(EntryKind.RECORD, b"second", hlc=added.entry.hlc + 2)
    store.receive(raws(first, second))
    write(Remove(member=BEN.public_key, cut={ben.inc: 1}))
    assert hashes(store, ben.id) == [first.hash]
    assert [item.entry for item in store.entries() if item.entry.author == BEN.public_key] == [first, second]
    write(Add(member=BEN.public_key, rights=["read", "append"], name="ben"))
    assert hashes(store, ben.id) == [first.hash, second.hash]


def test_an_erasure_drops_the_body_of_its_author_s_own_entry_whenever_it_comes(tmp_path: Path) -> None:
    anna = space_of_anna()
    secret = anna.say(EntryKind.RECORD, b"a secret that must go " * 20)
    erasure = anna.say(EntryKind.ERASE, secret.hash)
    orders = ([secret, erasure], [erasure, secret])
    for number, order in enumerate(orders):
        path = tmp_path / f"{number}.db"
        with closing(open_feeds(path)) as store:
            store.receive(raws(*anna.entries[:2]))
            for entry in order:
                store.receive(raws(entry))
            found = store.entry(secret.hash)
            assert found is not None
            assert found.entry.body is None
            assert hashes(store, anna.id) == [entry.hash for entry in anna.entries]
        assert b"a secret that must go" not in path.read_bytes()


def test_an_erased_entry_travels_without_its_body_beside_what_erased_it(store: FeedStore) -> None:
    anna = space_of_anna()
    secret = anna.say(EntryKind.RECORD, b"gone")
    erasure = anna.say(EntryKind.ERASE, secret.hash)
    bare = secret.header + secret.signature
    store.receive([*raws(*anna.entries[:2]), bare])
    assert reasons(store) == [Reason.NO_BODY], "a carrier could have taken the body away"
    received = store.receive(raws(erasure))
    assert [item.entry.hash for item in received.committed] == [secret.hash, erasure.hash]
    assert hashes(store, anna.id) == [entry.hash for entry in anna.entries]


def test_only_the_author_and_moderators_erase_and_never_a_roster_or_a_manifest(store: FeedStore) -> None:
    anna = space_of_anna()
    ben = member(BEN, anna)
    anna.roster(add(CARA))
    cara = member(CARA, anna)
    kept, gone = (anna.say(EntryKind.RECORD, body) for body in (b"kept", b"gone"))
    manifest = anna.say(EntryKind.TOMBSTONE, b"where things are")
    ben.say(EntryKind.ERASE, kept.hash)
    cara.say(EntryKind.ERASE, gone.hash)
    for target in (anna.entries[0], anna.entries[1], manifest):
        cara.say(EntryKind.ERASE, target.hash)
    store.receive(raws(*anna.entries, *ben.entries, *cara.entries))
    bodies = {item.entry.hash: item.entry.body for item in store.entries()}
    assert bodies[gone.hash] is None
    assert all(bodies[entry.hash] is not None for entry in (kept, manifest, *anna.entries[:2]))


def test_a_removed_node_is_told_that_it_may_not_write(store: FeedStore) -> None:
    anna = genesis(ANNA, "team", kind="space")
    anna.roster(add(NODE, ("read",)))
    store.receive(raws(*anna.entries))
    with pytest.raises(NotAllowed, match="team"):
        store.write([Draft(space=anna.space, kind=EntryKind.RECORD, body=b"x")])
    (written,) = store.write([Draft(space=store.home(), kind=EntryKind.RECORD, body=b"x")])
    assert written.entry.seq == 2, "what was refused did not break the feed of another space"


def test_who_may_erase_is_asked_again_when_the_members_change(tmp_path: Path) -> None:
    anna = space_of_anna()
    secret = anna.say(EntryKind.RECORD, b"gone")
    cara = member(CARA, anna)
    joined = anna.roster(add(CARA, ("read", "append")))
    promoted = anna.roster(add(CARA))
    erasure = cara.say(EntryKind.ERASE, secret.hash)
    orders = ([joined, promoted, erasure], [joined, erasure, promoted])
    for number, order in enumerate(orders):
        with closing(open_feeds(tmp_path / f"{number}.db")) as store:
            store.receive(raws(*anna.entries[:3]))
            for entry in order:
                store.receive(raws(entry))
            found = store.entry(secret.hash)
            assert found is not None
            assert found.entry.body is None


def test_what_a_void_erasure_took_comes_back_so_that_nodes_agree_again(tmp_path: Path) -> None:
    anna = space_of_anna()
    joined = anna.roster(add(CARA))
    identity, nonce = minted(ANNA.public_key, bytes(16)), bytes(16)
    said = Operation(id=identity, type="memory", nonce=nonce, text="precious", set={"kind": "memory"})
    precious = anna.say(EntryKind.RECORD, operations.encode(said))
    erasure = member(CARA, anna).say(EntryKind.ERASE, precious.hash)
    removed = anna.roster(Remove(member=CARA.public_key, cut={}), hlc=erasure.hlc + 1)
    orders = ([joined, precious, erasure, removed], [joined, precious, removed, erasure])
    bodies, digests = [], set()
    for number, order in enumerate(orders):
        folder = tmp_path / f"{number}"
        with closing(open_feeds(folder / "feeds.db")) as store:
            projector = Projector(folder / "projection.db", store)
            store.receive(raws(*anna.entries[:2]))
            for entry in order:
                store.receive(raws(entry))
                projector.catch_up()
            found = store.entry(precious.hash)
            bodies.append(found and found.entry.body)
            received = store.receive(raws(*anna.entries))
            assert (received.known, received.refused) == (len(anna.entries), [])
            projector.catch_up()
            digests.add(projector.digest().digest)
            projector.close()
            assert [entry.body for entry in store.feed_entries(anna.id)] == [e.body for e in anna.entries]
    assert bodies == [None, precious.body], "the first order shows what has to be mended"
    assert len(digests) == 1


def test_waiting_erasures_are_read_once_for_all_entries_of_a_batch(
    store: FeedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = space_of_anna()
    store.receive(raws(*anna.entries))
    bare = [parse(entry.header + entry.signature, erased=True) for entry in member(BEN, anna).records(50)]
    real, calls = PendingTable.erasures, [0]

    def counted(self: PendingTable) -> list[Entry]:
        calls[0] += 1
        return real(self)

    monkeypatch.setattr(PendingTable, "erasures", counted)
    assert len(store.receive(raws(*bare)).pending) == len(bare)
    assert calls == [1], "a waiting room full of erasures must not be read for each entry"
