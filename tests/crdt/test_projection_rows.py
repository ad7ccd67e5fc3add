"""Rows of records: written when a state differs, and not otherwise, with all that lists look up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.edges import edge_id
from crdt.operations import Operation
from crdt.projection_ledger import Key
from crdt.projection_rows import Reduced, Rows
from crdt.projection_schema import open_projection_writer
from crdt.records import RecordState, decode_state, state_sha256
from tests.crdt.record_kit import ANN, BEN, HOME, Record, created, stamp

KEY = Key("record", 1)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = open_projection_writer(tmp_path / "projection.db")
    yield made
    made.close()


@pytest.fixture
def rows(connection: sqlite3.Connection) -> Rows:
    return Rows(connection)


def put(rows: Rows, state: RecordState | None, *operations: tuple[int, bytes], key: Key = KEY) -> int:
    found = rows.find([key]).get(key)
    return rows.put([Reduced(key=key, type="memory", found=found, state=state, operations=operations)])


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    tables = ("records", "states", "tags", "edges", "ops")
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}  # noqa: S608


def test_a_state_is_kept_whole_under_its_hash(rows: Rows) -> None:
    state = Record(created("text", project="p")).state()
    assert put(rows, state, (3, ANN)) == 1
    found = rows.find([KEY, Key("record", 2), Key("other", 1)])
    assert list(found) == [KEY]
    assert found[KEY].state_sha256 == state_sha256(state)
    assert decode_state(found[KEY].state or b"") == state


def test_the_same_state_again_changes_nothing_but_its_operations(
    connection: sqlite3.Connection, rows: Rows
) -> None:
    state = Record(created()).state()
    assert put(rows, state, (1, ANN)) == 1
    before = connection.execute("SELECT * FROM records").fetchall()
    assert put(rows, state, (2, BEN)) == 0
    assert connection.execute("SELECT * FROM records").fetchall() == before
    row = rows.find([KEY])[KEY].row
    assert rows.places([row]) == {row: [1, 2]}


def test_tags_and_edges_are_those_of_the_newest_state(connection: sqlite3.Connection, rows: Rows) -> None:
    record = Record(created(hlc=10))
    first = record.say(20, on=[record.creation], tag=["a", "b"])
    put(rows, record.state())
    record.say(30, on=[first], untag=[("a", first.hash)], tag=["c"])
    put(rows, record.state())
    assert connection.execute("SELECT tag, updated_hlc FROM tags ORDER BY tag").fetchall() == [
        ("b", 30),
        ("c", 30),
    ]


def test_an_edge_ends_with_its_record(connection: sqlite3.Connection, rows: Rows) -> None:
    ends = {"from": "x", "to": "y", "relation": "r"}
    record = Record(stamp(Operation(id=edge_id("r", "x", "y"), type="edge", set=dict(ends)), 10))
    put(rows, record.state(HOME))
    assert connection.execute("SELECT relation, source, target FROM edges").fetchall() == [("r", "x", "y")]
    record.say(20, on=[record.creation], deleted=True)
    put(rows, record.state(HOME))
    assert counts(connection)["edges"] == 0


def test_a_record_of_which_nothing_counts_has_a_row_and_no_change(
    connection: sqlite3.Connection, rows: Rows
) -> None:
    assert put(rows, None, (1, BEN)) == 0
    assert put(rows, None, (2, BEN)) == 0
    assert counts(connection) == {"records": 1, "states": 0, "tags": 0, "edges": 0, "ops": 2}
    state = Record(created()).state()
    assert put(rows, state, (3, ANN)) == 1
    assert counts(connection) == {"records": 1, "states": 1, "tags": 0, "edges": 0, "ops": 3}


def test_a_record_that_is_gone_is_a_change_and_leaves_its_row_and_operations(
    connection: sqlite3.Connection, rows: Rows
) -> None:
    record = Record(created(hlc=10, project="p", confidence=0.5))
    record.say(20, on=[record.creation], tag=["a"])
    put(rows, record.state(), (1, ANN), (2, ANN))
    assert put(rows, None) == 1
    assert put(rows, None) == 0
    assert counts(connection) == {"records": 1, "states": 0, "tags": 0, "edges": 0, "ops": 2}
    columns = "type, project, confidence, version, change_seq, state_sha256"
    found = connection.execute(f"SELECT {columns} FROM records").fetchall()  # noqa: S608
    assert found == [("memory", None, None, 0, 2, None)]


def test_authors_of_a_transaction_that_was_rolled_back_are_forgotten(
    connection: sqlite3.Connection, rows: Rows
) -> None:
    state = Record(created()).state()
    connection.execute("BEGIN")
    put(rows, state, (1, ANN))
    connection.execute("ROLLBACK")
    rows.forget()
    put(rows, state, (1, BEN), (2, ANN))
    known = dict(connection.execute("SELECT id, author FROM authors"))
    assert [known[author] for (author,) in connection.execute("SELECT author FROM ops ORDER BY entry")] == [
        BEN,
        ANN,
    ]
