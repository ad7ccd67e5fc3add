"""What the index notes of fragments that are not here: clocks that were heard, manifests to come back to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from retrieval.index_elsewhere import Elsewhere
from retrieval.index_schema import open_index_writer

ADD = "INSERT INTO fragments VALUES (?, ?, ?, 1, NULL, 0, 0, 0, 0)"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_index_writer(tmp_path / "index.db")) as opened:
        yield opened


def test_manifests_to_come_back_to_are_noted_once_and_in_order(connection: sqlite3.Connection) -> None:
    elsewhere = Elsewhere(connection)
    for seq in (9, 4, 9):
        elsewhere.note_absent(seq)
    assert elsewhere.absent() == [4, 9]
    elsewhere.forget_absent(4)
    assert elsewhere.absent() == [9]


def test_the_smallest_clock_that_was_heard_of_is_a_fragment_s_when_it_comes(
    connection: sqlite3.Connection,
) -> None:
    elsewhere = Elsewhere(connection)
    for hlc in (7, 5, 6):
        assert elsewhere.hear([(b"a", hlc)]) == set()
    assert elsewhere.first_clocks({b"a": 9, b"b": 9}) == {b"a": 5, b"b": 9}
    assert elsewhere.first_clocks({b"a": 9}) == {b"a": 9}, "it is in the fragment's row from then on"


def test_a_smaller_clock_of_a_fragment_that_is_here_changes_its_conversation(
    connection: sqlite3.Connection,
) -> None:
    connection.execute(ADD, (b"a", 3, 10))
    elsewhere = Elsewhere(connection)
    assert elsewhere.hear([(b"a", 10), (b"a", 11)]) == set()
    assert elsewhere.hear([(b"a", 8)]) == {3}
    assert connection.execute("SELECT hlc FROM fragments").fetchone() == (8,)
    assert elsewhere.first_clocks({b"a": 9}) == {b"a": 9}
