"""Where feeds end, forked or not, and which of their entries become void."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations
from crdt.entries import Entry, EntryKind
from crdt.feed_branches import BranchTables
from crdt.feed_tables import FeedTables
from crdt.sqlite import open_writer
from tests.crdt.signers import Feed, SeedSigner

NONE: frozenset[bytes] = frozenset()


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[FeedTables]:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as opened:
        migrations.migrate(opened)
        yield FeedTables(opened)


@pytest.fixture
def branches(tables: FeedTables) -> BranchTables:
    return BranchTables(tables.connection)


@pytest.fixture
def feed() -> Feed:
    return Feed(SeedSigner("anna"), b"s" * 32)


def take(tables: FeedTables, feed: Feed, *entries: Entry) -> int:
    """Add entries of a feed and give its row."""
    tables.add_entries(entries)
    row = tables.feed(feed.id)
    assert row is not None
    return row.id


def counting(tables: FeedTables, row: int) -> list[Entry]:
    return [item.entry for item in tables.of_feed(row, (0, b""), 99)]


def test_a_cut_voids_what_is_beyond_it_and_a_wider_one_brings_it_back(
    tables: FeedTables, branches: BranchTables, feed: Feed
) -> None:
    entries = feed.records(5)
    row = take(tables, feed, *entries)
    assert branches.void(row, 3, NONE)
    assert not branches.void(row, 3, NONE), "nothing changes a second time"
    assert counting(tables, row) == entries[:3]
    assert branches.measure(row) == (3, 3, entries[2].hash, False)
    assert branches.top(row) == 5
    assert [branches.is_void(entry.hash) for entry in entries] == [False] * 3 + [True] * 2
    assert branches.is_void(b"?" * 32) is None
    assert branches.void(row, 4, NONE)
    assert counting(tables, row) == entries[:4]


def test_in_a_forked_feed_what_leads_to_no_end_is_void(
    tables: FeedTables, branches: BranchTables, feed: Feed
) -> None:
    entries = feed.records(4)
    fork = feed.branch(entries[0], EntryKind.RECORD, b"fork")
    row = take(tables, feed, *entries, fork)
    assert branches.leaves(row) == sorted((entries[3].hash, fork.hash))
    digest = hashlib.sha256(b"".join(branches.leaves(row))).digest()
    assert branches.measure(row) == (4, 5, digest, True)
    assert branches.void(row, 4, frozenset((entries[3].hash,)))
    assert not branches.void(row, 4, frozenset((entries[3].hash,)))
    assert counting(tables, row) == entries
    assert branches.measure(row) == (4, 4, entries[3].hash, False)
    assert branches.void(row, 3, frozenset((entries[3].hash, fork.hash)))
    assert set(counting(tables, row)) == {*entries[:3], fork}


def test_behind_the_last_end_of_an_unforked_feed_all_is_void(
    tables: FeedTables, branches: BranchTables, feed: Feed
) -> None:
    entries = feed.records(4)
    row = take(tables, feed, *entries)
    assert branches.void(row, 4, frozenset((entries[0].hash, entries[1].hash)))
    assert counting(tables, row) == entries[:2]


@pytest.mark.parametrize("is_forked", [False, True])
def test_while_an_end_is_missing_numbers_alone_decide(
    tables: FeedTables, branches: BranchTables, feed: Feed, *, is_forked: bool
) -> None:
    entries = feed.records(3)
    if is_forked:
        entries.append(feed.branch(entries[0], EntryKind.RECORD, b"fork"))
    row = take(tables, feed, *entries)
    assert not branches.void(row, 3, frozenset((entries[0].hash, b"later".ljust(32))))
    assert len(counting(tables, row)) == len(entries)


def test_an_end_of_another_feed_is_none(tables: FeedTables, branches: BranchTables, feed: Feed) -> None:
    other = Feed(SeedSigner("ben"), feed.space)
    take(tables, other, *other.records(1))
    row = take(tables, feed, *feed.records(3))
    assert not branches.void(row, 3, frozenset((other.entries[0].hash,)))
