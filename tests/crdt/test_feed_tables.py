"""Rows of feeds and entries: walks, places, heads, and bytes that are not what they should be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations
from crdt.chains import Place
from crdt.entries import EntryKind, FeedId
from crdt.errors import Damaged
from crdt.feed_branches import BranchTables
from crdt.feed_tables import FeedTables
from crdt.sqlite import open_writer
from tests.crdt.signers import Feed, SeedSigner

ANNA = SeedSigner("anna")
SPACE = b"s" * 32
LARGEST = (1 << 64) - 1


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as opened:
        migrations.migrate(opened)
        yield opened


@pytest.fixture
def tables(connection: sqlite3.Connection) -> FeedTables:
    return FeedTables(connection)


def test_entries_come_back_in_the_order_of_their_commits_by_kind_and_by_place(tables: FeedTables) -> None:
    feed = Feed(ANNA, SPACE)
    kinds = (EntryKind.RECORD, EntryKind.TAIL, EntryKind.ERASE, EntryKind.RECORD, EntryKind.TOMBSTONE, 77)
    entries = [feed.say(kind, bytes([number])) for number, kind in enumerate(kinds)]
    places = [tables.add_entry(entry) for entry in entries]
    assert [(item.id, item.entry) for item in tables.page(0, None, 9)] == list(
        zip(places, entries, strict=True)
    )
    assert [item.entry for item in tables.page(places[0], None, 2)] == entries[1:3]
    assert [item.entry for item in tables.page(0, [3, 77], 9)] == [entries[0], entries[3], entries[5]]
    assert [item.entry for item in tables.manifests(0, 9)] == [entries[1], entries[4]]
    assert tables.manifest_head() == places[4]
    assert [item.entry for item in tables.by_ids([places[2], places[0], 999])] == [entries[0], entries[2]]
    assert tables.head() == places[-1]
    assert tables.last_hlc() == entries[-1].hlc


def test_an_incarnation_may_have_all_its_bits(tables: FeedTables) -> None:
    feed = Feed(ANNA, SPACE, inc=LARGEST)
    (entry,) = feed.records(1)
    tables.add_entry(entry)
    found = tables.feed(FeedId(SPACE, ANNA.public_key, LARGEST))
    assert found is not None
    assert found.head.feed.inc == LARGEST
    assert tables.place(entry.hash) == Place(feed.id, 1, entry.hlc)
    assert tables.is_taken(feed.id, 1)
    assert not tables.is_taken(feed.id, 2)
    assert not tables.is_taken(FeedId(SPACE, ANNA.public_key, 1), 1)


def test_what_is_void_counts_not_in_walks(tables: FeedTables) -> None:
    feed = Feed(ANNA, SPACE)
    entries = [feed.say(EntryKind.TAIL, bytes([number])) for number in range(5)]
    for entry in entries:
        tables.add_entry(entry)
    row = tables.feed(feed.id)
    assert row is not None
    BranchTables(tables.connection).void(row.id, 3, frozenset())
    assert [item.entry for item in tables.of_feed(row.id, (0, b""), 9)] == entries[:3]
    assert [item.entry for item in tables.manifests(0, 9)] == entries[:3]
    places = [item.id for item in tables.page(0, None, 9)]
    assert tables.voids([*places, 999]) == frozenset(places[3:])


def test_an_erased_body_leaves_an_entry_that_is_still_itself(tables: FeedTables) -> None:
    feed = Feed(ANNA, SPACE)
    (entry,) = feed.records(1)
    place = tables.add_entry(entry)
    tables.erase(place)
    (found,) = tables.page(0, None, 9)
    assert (found.entry.body, found.entry.hash, found.entry.header) == (None, entry.hash, entry.header)


@pytest.mark.parametrize("column", ["header", "body", "signature", "hash"])
def test_a_bit_that_flipped_is_damage_and_never_served(
    connection: sqlite3.Connection, tables: FeedTables, column: str
) -> None:
    feed = Feed(ANNA, SPACE)
    (entry,) = feed.records(1)
    tables.add_entry(entry)
    (stored,) = connection.execute("SELECT header, body, signature, hash FROM entries").fetchall()
    changed = dict(zip(("header", "body", "signature", "hash"), map(bytearray, stored), strict=True))
    changed[column][5] ^= 4
    connection.execute(
        "UPDATE entries SET header = ?, body = ?, signature = ?, hash = ?",
        tuple(map(bytes, changed.values())),
    )
    with pytest.raises(Damaged, match="entry 1 of canonical/feeds"):
        tables.page(0, None, 9)


def test_an_emptied_body_is_damage_and_an_empty_one_is_not(
    connection: sqlite3.Connection, tables: FeedTables
) -> None:
    feed = Feed(ANNA, SPACE)
    tables.add_entry(feed.say(EntryKind.RECORD, b""))
    assert [item.entry for item in tables.page(0, None, 9)] == feed.entries
    place = tables.add_entry(feed.say(EntryKind.RECORD, b"something"))
    connection.execute("UPDATE entries SET body = x'' WHERE id = ?", (place,))
    with pytest.raises(Damaged):
        tables.page(0, None, 9)
