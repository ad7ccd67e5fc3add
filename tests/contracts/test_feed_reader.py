"""What whoever projects the feeds relies on, over the store and over the feeds in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from crdt.entries import Entry, EntryKind
from crdt.errors import NotFound
from crdt.feed_tables import FeedTables
from crdt.projection_feeds import FeedReader
from crdt.roster import Remove
from crdt.sqlite import open_writer, transaction
from crdt.store import open_store
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.signers import START_MS, Feed, SeedSigner, add, genesis

Take = Callable[[Sequence[Entry]], None]


@dataclass(frozen=True)
class Feeds:
    """Feeds, how entries come into them in a certain order, and how they come from elsewhere."""

    reader: FeedReader
    take: Take
    receive: Take


def in_memory(_folder: Path) -> Iterator[Feeds]:
    feeds = MemoryFeeds()
    yield Feeds(feeds, feeds.take, feeds.take)


def in_store(folder: Path) -> Iterator[Feeds]:
    path = folder / "canonical" / "feeds.db"
    with closing(open_store(path, writable=True)) as store, closing(open_writer(path, durable=True)) as other:

        def take(entries: Sequence[Entry]) -> None:
            tables = FeedTables(other)
            with transaction(other):
                for entry in entries:
                    if tables.by_hash(entry.hash) is None:
                        tables.add_entry(entry)

        def receive(entries: Sequence[Entry]) -> None:
            assert store.receive(entry.raw for entry in entries).refused == []

        yield Feeds(store, take, receive)


OPENERS = {"memory": in_memory, "store": in_store}


@pytest.fixture(params=OPENERS)
def feeds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Feeds]:
    yield from OPENERS[request.param](tmp_path)


@pytest.fixture
def feed() -> Feed:
    return genesis(SeedSigner("ann"))


def test_empty_feeds_have_nothing(feeds: Feeds) -> None:
    assert feeds.reader.head() == 0
    assert list(feeds.reader.entries()) == []
    assert feeds.reader.by_ids([1, 2]) == {}
    assert feeds.reader.entry(b"\0" * 32) is None
    with pytest.raises(NotFound):
        feeds.reader.roster(b"\0" * 32)


def test_entries_come_in_the_order_of_their_commits_at_rising_places(feeds: Feeds, feed: Feed) -> None:
    feed.records(3)
    feeds.take(feed.entries[:2])
    feeds.take([feed.entries[3], feed.entries[2]])
    found = list(feeds.reader.entries())
    arrived = [feed.entries[at] for at in (0, 1, 3, 2)]
    assert [item.entry for item in found] == arrived
    places = [item.id for item in found]
    assert places == sorted(set(places))
    assert feeds.reader.head() == places[-1]
    assert feeds.reader.by_ids(places) == dict(zip(places, arrived, strict=True))


def test_a_walk_begins_behind_a_place_and_gives_the_kinds_that_are_wanted(feeds: Feeds, feed: Feed) -> None:
    feed.records(2)
    feed.roster(add(SeedSigner("ben")))
    feed.say(EntryKind.SEGMENT, b"a manifest")
    feed.records(1)
    feeds.take(feed.entries)
    places = [item.id for item in feeds.reader.entries()]
    behind = [item.id for item in feeds.reader.entries(places[1])]
    assert behind == places[2:]
    kinds = (EntryKind.ROSTER, EntryKind.RECORD)
    assert [item.id for item in feeds.reader.entries(places[1], kinds)] == [places[2], places[3], places[5]]
    assert list(feeds.reader.entries(places[-1])) == []


def test_a_walk_can_be_left_early_and_what_comes_later_is_found(feeds: Feeds, feed: Feed) -> None:
    feed.records(2)
    feeds.take(feed.entries)
    first = next(feeds.reader.entries())
    (later,) = feed.records(1)
    feeds.take([later])
    assert [item.entry for item in feeds.reader.entries(first.id)] == feed.entries[1:]


def test_places_that_are_not_there_are_left_out(feeds: Feeds, feed: Feed) -> None:
    feeds.take(feed.entries)
    head = feeds.reader.head()
    assert feeds.reader.by_ids([head, head + 1]) == {head: feed.entries[0]}


def test_an_entry_is_found_by_its_hash_at_its_place(feeds: Feeds, feed: Feed) -> None:
    feed.records(2)
    feeds.take(feed.entries)
    for item in feeds.reader.entries():
        found = feeds.reader.entry(item.entry.hash)
        assert found is not None
        assert (found.id, found.entry) == (item.id, item.entry)


def test_what_was_taken_twice_is_there_once(feeds: Feeds, feed: Feed) -> None:
    feeds.take(feed.entries)
    feeds.take(feed.entries)
    assert len(list(feeds.reader.entries())) == 1


def test_a_roster_knows_what_is_committed_and_is_the_same_object_until_there_is_more(
    feeds: Feeds, feed: Feed
) -> None:
    ben = SeedSigner("ben")
    feeds.take(feed.entries)
    before = feeds.reader.roster(feed.space)
    feeds.take(feed.records(1))
    assert feeds.reader.roster(feed.space) is before
    feeds.take([feed.roster(add(ben))])
    after = feeds.reader.roster(feed.space)
    assert after is not before
    assert (before.knows(ben.public_key), after.knows(ben.public_key)) == (False, True)


def test_what_is_committed_in_one_opening_is_of_that_opening(feeds: Feeds, feed: Feed) -> None:
    feed.records(2)
    feeds.receive(feed.entries[:1])
    feeds.receive(feed.entries)
    found = {feeds.reader.opening(item.id) for item in feeds.reader.entries()}
    assert len(found) == 1
    assert found.pop()


def test_void_is_what_lies_beyond_a_cut_or_beside_its_ends_once_these_are_here(
    feeds: Feeds, feed: Feed
) -> None:
    ben = SeedSigner("ben")
    joined = feed.roster(add(ben))
    bens = Feed(ben, feed.space, inc=7, start_ms=START_MS + 9)
    first, last, beyond = bens.records(3)
    beside = bens.branch(first, EntryKind.RECORD, b"by a thief")
    feeds.receive([*feed.entries, first, beside])
    places = {item.entry.hash: item.id for item in feeds.reader.entries()}
    assert feeds.reader.voids([*places.values(), 999]) == frozenset()
    removal = feed.roster(
        Remove(member=ben.public_key, cut={7: 2}, said={}, ends={7: [last.hash]}), hlc=beyond.hlc + 1
    )
    feeds.receive([removal])
    assert feeds.reader.voids(list(places.values())) == frozenset()
    feeds.receive([last])
    assert feeds.reader.voids(list(places.values())) == {places[beside.hash]}
    assert feeds.reader.voids([places[first.hash], places[joined.hash]]) == frozenset()
    feeds.receive([feed.roster(add(ben), hlc=beyond.hlc + 2)])
    assert feeds.reader.voids(list(places.values())) == frozenset()
