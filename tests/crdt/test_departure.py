"""What a removal says of the feeds of who leaves, forked ones and too many of them included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import departure
from crdt.departure import Departure, departure_of
from crdt.entries import EntryKind
from crdt.store import FeedStore
from tests.crdt.logs import open_feeds
from tests.crdt.signers import START_MS, Feed, SeedSigner, add, genesis

BEN = SeedSigner("ben")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FeedStore]:
    with closing(open_feeds(tmp_path / "feeds.db")) as opened:
        yield opened


@pytest.fixture
def space(store: FeedStore) -> Feed:
    made = genesis(SeedSigner("anna"), "team", kind="space")
    made.roster(add(BEN))
    take(store, made)
    return made


def take(store: FeedStore, *feeds: Feed) -> None:
    assert store.receive(entry.raw for feed in feeds for entry in feed.entries).refused == []


def of_ben(space: Feed, inc: int, count: int) -> Feed:
    feed = Feed(BEN, space.space, inc=inc, start_ms=START_MS + 1_000)
    feed.records(count)
    return feed


def test_each_feed_counts_as_far_as_it_is_here_with_the_entry_that_it_ends_with(
    store: FeedStore, space: Feed
) -> None:
    assert departure_of(store, space.space, BEN.public_key) == Departure({}, {})
    first, second = of_ben(space, 9, 2), of_ben(space, 2**64 - 1, 3)
    take(store, first, second)
    assert departure_of(store, space.space, BEN.public_key) == Departure(
        {9: 2, 2**64 - 1: 3}, {9: [first.entries[-1].hash], 2**64 - 1: [second.entries[-1].hash]}
    )


def test_all_branches_of_a_fork_are_ends(store: FeedStore, space: Feed) -> None:
    feed = of_ben(space, 9, 3)
    fork = feed.branch(feed.entries[0], EntryKind.RECORD, b"fork")
    take(store, feed)
    store.receive([fork.raw])
    said = departure_of(store, space.space, BEN.public_key)
    assert said == Departure({9: 3}, {9: sorted((feed.entries[-1].hash, fork.hash))})


def test_of_too_many_feeds_and_ends_those_count_that_were_met_first(
    store: FeedStore, space: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(departure, "FEEDS_MAX", 3)
    monkeypatch.setattr(departure, "ENDS_OF_ALL_MAX", 2)
    monkeypatch.setattr(departure, "ENDS_MAX", 1)
    feeds = [of_ben(space, inc, 2) for inc in (8, 2, 9, 1)]
    for feed in feeds:
        take(store, feed)
    fork = feeds[0].branch(feeds[0].entries[0], EntryKind.RECORD, b"fork")
    store.receive([fork.raw])
    assert departure_of(store, space.space, BEN.public_key) == Departure(
        {8: 2, 2: 2, 9: 2}, {2: [feeds[1].entries[-1].hash], 9: [feeds[2].entries[-1].hash]}
    )
