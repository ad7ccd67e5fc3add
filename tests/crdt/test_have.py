"""Have-vectors: two nodes find out what each lacks, forks included, and when they are level."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt import have
from crdt.entries import EntryKind
from crdt.errors import EntryRefused
from crdt.feed_tables import FeedHead
from crdt.have import Have, Held, Missing
from tests.crdt.signers import Feed, SeedSigner

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")
A, B = ANNA.public_key, BEN.public_key
SPACE = bytes(32)


def held(feed: Feed, count: int) -> Held:
    return Held(count, count, feed.entries[count - 1].hash)


def feed_of(count: int) -> Feed:
    feed = Feed(ANNA, b"s" * 32, inc=7)
    feed.records(count)
    return feed


def missing(mine: Have, theirs: Have, here: tuple[bytes, ...] = ()) -> list[Missing]:
    return have.missing(mine, theirs, lambda sha256: sha256 in here)


HAVES = st.dictionaries(
    st.tuples(st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1)),
    st.tuples(st.integers(1, 2**40), st.integers(0, 9), st.binary(min_size=32, max_size=32)).map(
        lambda drawn: Held(drawn[0], drawn[0] + drawn[1], drawn[2])
    ),
    max_size=6,
)


@given(HAVES)
def test_what_is_written_is_what_is_read(drawn: Have) -> None:
    data = have.encode(drawn)
    assert have.decode(data) == drawn
    turned = dict(reversed(drawn.items()))
    assert have.encode(turned) == data
    assert have.digest(SPACE, turned) == have.digest(SPACE, drawn)


@given(HAVES, HAVES)
def test_digests_are_equal_only_where_all_is_the_same(one: Have, other: Have) -> None:
    assert (have.digest(SPACE, one) == have.digest(SPACE, other)) == (one == other)


def test_a_digest_is_of_one_space() -> None:
    assert len(have.digest(SPACE, {})) == 32
    assert have.digest(SPACE, {}) != have.digest(b"s" * 32, {})


def test_the_store_s_heads_make_it_up() -> None:
    feed = feed_of(3)
    head = FeedHead(feed=feed.id, seq=3, count=3, head=feed.entries[2].hash, is_forked=False)
    assert have.have_of([head]) == {(A, 7): held(feed, 3)}


def test_nodes_that_are_level_lack_nothing() -> None:
    both = {(A, 7): held(feed_of(3), 3)}
    assert missing(both, dict(both)) == []
    assert missing(both, {}) == []


def test_a_feed_that_is_not_here_is_missing_from_its_start() -> None:
    theirs = {(B, 2): Held(5, 5, b"h" * 32), (A, 7): held(feed_of(3), 3)}
    assert missing({}, theirs) == [
        Missing(author=author, inc=inc, first=1, last=theirs[author, inc].seq)
        for author, inc in sorted(theirs)
    ]


def test_what_follows_the_own_end_is_missing_from_one_side_only() -> None:
    feed = feed_of(5)
    behind, ahead = {(A, 7): held(feed, 2)}, {(A, 7): held(feed, 5)}
    after = feed.entries[1].hash
    assert missing(behind, ahead) == [Missing(author=A, inc=7, first=3, last=5, after=after)]
    assert missing(ahead, behind, here=(after,)) == []


def test_two_branches_are_told_apart_though_their_numbers_are_the_same() -> None:
    feed = feed_of(3)
    fork = feed.branch(feed.entries[1], EntryKind.RECORD, b"fork")
    mine, theirs = {(A, 7): held(feed, 3)}, {(A, 7): Held(3, 3, fork.hash)}
    assert missing(mine, theirs) == [Missing(author=A, inc=7, first=1, last=3, by_hash=True)]
    longer = {(A, 7): held(feed_of(5), 5)}
    assert missing(longer, theirs, here=(feed.entries[2].hash,))[0].by_hash


def test_a_forked_feed_is_compared_by_hashes_until_both_have_all() -> None:
    feed = feed_of(3)
    fork = feed.branch(feed.entries[1], EntryKind.RECORD, b"fork")
    both = Held(3, 4, have.head_of([feed.entries[2].hash, fork.hash]))
    assert both.is_forked
    assert missing({(A, 7): held(feed, 3)}, {(A, 7): both})[0].by_hash
    assert missing({(A, 7): held(feed, 2)}, {(A, 7): both})[0].by_hash
    assert missing({(A, 7): both}, {(A, 7): held(feed, 3)}, here=(feed.entries[2].hash,)) == []
    assert missing({(A, 7): both}, {(A, 7): both}) == []


def test_the_head_of_a_fork_does_not_depend_on_what_came_first() -> None:
    one, other = b"1" * 32, b"2" * 32
    assert have.head_of([one]) == have.head_of([one, one]) == one
    assert have.head_of([one, other]) == have.head_of([other, one]) not in (one, other)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param({"a": 1}, id="no list"),
        pytest.param([[A[:31], 1, 1, 1, A]], id="short author"),
        pytest.param([[A, -1, 1, 1, A]], id="negative incarnation"),
        pytest.param([[A, 1, 0, 1, A]], id="number 0"),
        pytest.param([[A, 1, 2, 1, A]], id="fewer entries than numbers"),
        pytest.param([[A, 1, 1, 1, A, 1]], id="a field more"),
        pytest.param([[A, 1, 1, 1, A], [A, 1, 2, 2, A]], id="a feed twice"),
        pytest.param([[A, 2, 1, 1, A], [A, 1, 2, 2, A]], id="another order"),
        pytest.param([[A, 1, 1.0, 1, A]], id="a number spelled otherwise"),
        pytest.param([[A, 1, 2**48, 2**48, A]], id="beyond the limit"),
        pytest.param([[n.to_bytes(32), 1, 1, 1, A] for n in range(have.FEEDS_MAX + 1)], id="too many feeds"),
    ],
)
def test_what_no_node_has_is_refused(rows: object) -> None:
    with pytest.raises(EntryRefused):
        have.decode(msgspec.msgpack.encode(rows))


def test_bytes_that_are_none_are_refused() -> None:
    good = have.encode({(A, 7): Held(1, 1, B)})
    for odd in (b"", b"\xc1", good[:-1], good + b"\0"):
        with pytest.raises(EntryRefused):
            have.decode(odd)
