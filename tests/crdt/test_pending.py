"""The rows of waiting entries: what they wait for, and how many may."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations, pending
from crdt.chains import Outcome, Reason, Verdict
from crdt.entries import Entry, EntryKind
from crdt.pending import PendingTable
from crdt.sqlite import open_writer
from tests.crdt.signers import Feed, SeedSigner

SPACE = b"s" * 32


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as opened:
        migrations.migrate(opened)
        yield opened


@pytest.fixture
def table(connection: sqlite3.Connection) -> PendingTable:
    return PendingTable(connection)


def feed(name: str = "anna") -> Feed:
    return Feed(SeedSigner(name), SPACE)


def gap(entry: Entry) -> Verdict:
    return Verdict(entry=entry, outcome=Outcome.PENDING, reason=Reason.GAP, waits_for=entry.prev)


def test_what_waits_for_another_is_ready_with_it_and_with_all_before_that(table: PendingTable) -> None:
    first, second, third, fourth = feed().records(4)
    table.put([gap(fourth), gap(second), gap(third)])
    assert table.ready([first.hash]) == [second, third, fourth]
    assert table.ready([third.hash]) == [fourth]
    assert table.ready([fourth.hash, b"x" * 32]) == []
    table.drop([second])
    assert table.ready([first.hash]) == []
    assert [item.entry for item in table.all()] == [fourth, third]


def test_what_is_due_brings_what_waits_for_it(table: PendingTable) -> None:
    first, second = feed().records(2)
    future = Verdict(entry=first, outcome=Outcome.PENDING, reason=Reason.FUTURE, due_ms=1_000)
    table.put([future, gap(second)])
    assert table.due(999) == []
    assert table.due(1_000) == [first, second]


def test_only_the_same_feed_awaits_an_entry(table: PendingTable) -> None:
    anna, ben = feed(), feed("ben")
    first, second = anna.records(2)
    table.put([gap(second)])
    assert table.is_awaited(anna.id, first.hash)
    assert not table.is_awaited(anna.id, second.hash)
    assert not table.is_awaited(ben.id, first.hash)


def test_putting_again_changes_the_reason_and_not_the_age(table: PendingTable) -> None:
    one, other = feed().records(2)
    table.put([gap(one), gap(other)])
    table.put([Verdict(entry=one, outcome=Outcome.PENDING, reason=Reason.FUTURE, due_ms=5)])
    assert [(item.entry, item.reason) for item in table.all()] == [(one, Reason.FUTURE), (other, Reason.GAP)]


def test_a_copy_without_its_body_does_not_take_the_place_of_a_whole_one(table: PendingTable) -> None:
    (entry,) = feed().records(1)
    table.put([gap(entry)])
    bare = Entry(
        space=entry.space, author=entry.author, inc=entry.inc, seq=entry.seq, prev=entry.prev, hlc=entry.hlc,
        kind=entry.kind, body=None, header=entry.header, signature=entry.signature, hash=entry.hash,
    )  # fmt: skip
    table.put([Verdict(entry=bare, outcome=Outcome.PENDING, reason=Reason.NO_BODY, waits_for=SPACE)])
    assert [(item.entry.body, item.reason) for item in table.all()] == [(entry.body, Reason.GAP)]


def test_erasures_that_wait_are_found(table: PendingTable) -> None:
    anna = feed()
    (record,) = anna.records(1)
    erasure = anna.say(EntryKind.ERASE, record.hash)
    table.put([gap(record), gap(erasure)])
    assert table.erasures() == [erasure]


def test_of_one_author_s_too_many_the_oldest_go_and_nobody_else_s(
    table: PendingTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "ENTRIES_OF_AUTHOR_MAX", 3)
    mine, theirs = feed().records(5), feed("ben").records(2)
    table.put(map(gap, [theirs[0], *mine, theirs[1]]))
    assert [item.entry for item in table.all()] == [theirs[0], *mine[2:], theirs[1]]
    assert table.dropped == 2


@pytest.mark.parametrize(("limit", "value"), [("ENTRIES_MAX", 4), ("BYTES_MAX", 4 * 300)])
def test_of_too_many_in_all_the_oldest_go(
    table: PendingTable, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(pending, limit, value)
    entries = [feed(str(number)).records(1, size=76)[0] for number in range(6)]
    assert {len(entry.raw) for entry in entries} == {300}
    table.put(map(gap, entries))
    assert [item.entry for item in table.all()] == entries[2:]
    assert table.dropped == 2
