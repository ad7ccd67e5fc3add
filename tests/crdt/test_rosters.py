"""Rosters over rows: folded once, again when something was said, never what a transaction took back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations
from crdt.entries import Entry
from crdt.errors import NotFound
from crdt.feed_tables import FeedTables
from crdt.rosters import Rosters
from crdt.sqlite import open_writer
from tests.crdt.signers import START_MS, SeedSigner, add, genesis

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as opened:
        migrations.migrate(opened)
        yield opened


@pytest.fixture
def tables(connection: sqlite3.Connection) -> FeedTables:
    return FeedTables(connection)


@pytest.fixture
def rosters(tables: FeedTables) -> Rosters:
    return Rosters(tables)


def put(tables: FeedTables, *entries: Entry) -> None:
    for entry in entries:
        tables.add_entry(entry)


def test_a_roster_is_the_same_object_until_something_is_said_about_its_members(
    tables: FeedTables, rosters: Rosters
) -> None:
    one, other = genesis(ANNA, "one"), genesis(ANNA, "other")
    put(tables, *one.entries, *other.entries)
    before = rosters.of(one.space), rosters.of(other.space)
    put(tables, *one.records(1))
    assert (rosters.of(one.space), rosters.of(other.space)) == before
    put(tables, one.roster(add(BEN)))
    assert rosters.of(one.space) is not before[0]
    assert rosters.of(one.space).knows(BEN.public_key)
    assert rosters.of(other.space) is before[1]
    assert rosters.all() == {one.space: rosters.of(one.space), other.space: before[1]}


def test_what_a_transaction_took_back_was_never_said(
    connection: sqlite3.Connection, tables: FeedTables, rosters: Rosters
) -> None:
    one = genesis(ANNA, "one")
    put(tables, *one.entries)
    connection.execute("BEGIN")
    put(tables, one.roster(add(BEN)))
    assert rosters.of(one.space).knows(BEN.public_key)
    connection.execute("ROLLBACK")
    assert not rosters.of(one.space).knows(BEN.public_key)
    connection.execute("BEGIN")
    put(tables, one.branch(one.entries[0], 2, b"of a later version", hlc=one.entries[-1].hlc + 5))
    connection.execute("COMMIT")
    assert not rosters.of(one.space).knows(BEN.public_key), "the same place, another entry"


def test_the_oldest_of_several_spaces_of_a_kind_is_one_s_own(tables: FeedTables, rosters: Rosters) -> None:
    late = genesis(ANNA, "late", start_ms=START_MS + 5)
    early = genesis(ANNA, "early")
    foreign = genesis(BEN, "foreign", start_ms=START_MS - 5)
    put(tables, *late.entries, *early.entries, *foreign.entries)
    assert rosters.own("home", ANNA.public_key) == early.space
    assert rosters.own("home", BEN.public_key) == foreign.space
    assert rosters.own("private", ANNA.public_key) is None


def test_whose_store_it_is_the_newest_private_space_tells(tables: FeedTables, rosters: Rosters) -> None:
    assert rosters.local_author() is None
    put(tables, *genesis(BEN, "home").entries)
    assert rosters.local_author() is None
    put(tables, *genesis(BEN, "private", kind="private").entries)
    assert rosters.local_author() == BEN.public_key
    put(tables, *genesis(ANNA, "private", kind="private").entries)
    assert rosters.local_author() == ANNA.public_key


def test_a_space_that_is_not_here_is_told(rosters: Rosters) -> None:
    assert rosters.find(b"x" * 32) is None
    with pytest.raises(NotFound):
        rosters.of(b"x" * 32)
