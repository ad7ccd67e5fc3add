"""The ledger: what the rows are level with, and whose rows become stale."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.entries import Entry, FeedId
from crdt.projection_ledger import Key, Ledger
from crdt.projection_rows import Reduced, Rows
from crdt.projection_schema import open_projection_writer
from crdt.roster import Label, Remove, Roster
from tests.crdt.signers import Feed, SeedSigner, add, genesis


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = open_projection_writer(tmp_path / "projection.db")
    yield made
    made.close()


@pytest.fixture
def ledger(connection: sqlite3.Connection) -> Ledger:
    return Ledger(connection)


@pytest.fixture
def feed() -> Feed:
    return genesis(SeedSigner("ann"), "home")


def roster_of(feed: Feed, *more: Entry) -> Roster:
    return Roster.of(feed.space, [*feed.entries, *more])


def touch(connection: sqlite3.Connection, key: Key, *operations: tuple[int, bytes]) -> None:
    """Note operations on a record, by place and author."""
    rows = Rows(connection)
    found = rows.find([key]).get(key)
    rows.put([Reduced(key=key, type="memory", found=found, state=None, operations=operations)])


def test_the_watermark_begins_at_nothing_and_moves(ledger: Ledger) -> None:
    assert ledger.watermark() == (0, b"")
    ledger.set_watermark(7, b"\7" * 32)
    assert ledger.watermark() == (7, b"\7" * 32)


def test_a_space_keeps_its_number_and_gets_the_name_of_its_newest_roster(
    connection: sqlite3.Connection, ledger: Ledger, feed: Feed
) -> None:
    ledger.take_roster(roster_of(feed), ())
    number = ledger.number(feed.space)
    feed.roster(Label(label="renamed"))
    ledger.take_roster(roster_of(feed), ())
    assert ledger.number(feed.space) == Ledger(connection).number(feed.space) == number
    rows = connection.execute("SELECT space, kind, label FROM spaces").fetchall()
    assert rows == [(feed.space, "home", "renamed")]


def test_rows_become_stale_by_those_alone_for_whom_something_changed(
    connection: sqlite3.Connection, ledger: Ledger, feed: Feed
) -> None:
    ann, ben, cat = feed.signer, SeedSigner("ben"), SeedSigner("cat")
    ledger.take_roster(roster_of(feed), ())
    number = ledger.number(feed.space)
    for place, (name, author) in enumerate((("a", ann), ("b", ben), ("c", cat)), 1):
        touch(connection, Key(name, number), (place, author.public_key))
    touch(connection, Key("all", number), (4, ann.public_key), (5, cat.public_key))
    touch(connection, Key("c", number + 1), (6, cat.public_key))
    ledger.take_roster(roster_of(feed), ())
    assert not ledger.has_stale()
    feed.roster(add(cat))
    ledger.take_roster(roster_of(feed), ())
    stale = ledger.stale()
    assert [(row.key, row.space, row.type) for row in stale] == [
        (Key("c", number), feed.space, "memory"),
        (Key("all", number), feed.space, "memory"),
    ]
    ledger.freshen(stale[:1])
    assert ledger.stale() == stale[1:]
    ledger.freshen(stale)
    assert not ledger.has_stale()


def test_whoever_is_no_member_any_more_makes_rows_stale_too(
    connection: sqlite3.Connection, ledger: Ledger, feed: Feed
) -> None:
    ben = SeedSigner("ben")
    joined = feed.roster(add(ben))
    ledger.take_roster(roster_of(feed, joined), ())
    touch(connection, Key("b", ledger.number(feed.space)), (1, ben.public_key))
    ledger.take_roster(Roster.of(feed.space, feed.entries[:1]), ())
    assert [row.key.id for row in ledger.stale()] == ["b"]
    ledger.freshen(ledger.stale())
    removed = feed.roster(Remove(member=ben.public_key, cut={}))
    ledger.take_roster(roster_of(feed, removed), ())
    assert [row.key.id for row in ledger.stale()] == ["b"]


def test_an_end_that_has_come_makes_the_rows_of_its_author_stale(
    connection: sqlite3.Connection, ledger: Ledger, feed: Feed
) -> None:
    ben = SeedSigner("ben")
    roster = roster_of(feed, feed.roster(add(ben)))
    ledger.take_roster(roster, ())
    touch(connection, Key("b", ledger.number(feed.space)), (1, ben.public_key))
    decided = [FeedId(feed.space, ben.public_key, inc) for inc in (7, 8)]
    for feeds in (decided[:1], decided):
        ledger.take_roster(roster, feeds)
        assert [row.key.id for row in ledger.stale()] == ["b"]
        ledger.freshen(ledger.stale())
    ledger.take_roster(roster, decided[::-1])
    assert not ledger.has_stale()


def test_unreadable_entries_are_counted(connection: sqlite3.Connection, ledger: Ledger) -> None:
    for count in (2, 0, 3):
        ledger.count_unreadable(count)
    assert connection.execute("SELECT value FROM meta WHERE key = 'unreadable'").fetchone() == (5,)
