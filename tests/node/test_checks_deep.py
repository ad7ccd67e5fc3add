"""The deep look: one changed byte anywhere in what is stored is found."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from node.checks import Look, Severity, Surroundings
from node.checks_deep import verify
from tests.node.filled import archive, fragment_of, opened


def verified(root: Path) -> tuple[dict[str, Severity], list[dict[str, object]]]:
    """Look deep: the codes with their severities, and the signs of progress."""
    steps: list[dict[str, object]] = []
    with opened(root) as local:
        found = verify(Look(local, {}, Surroundings()), steps.append)
    return {check.code: check.severity for check in found}, steps


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Make a state directory with two segments and a waiting fragment."""
    root = tmp_path / "state"
    archive(root, fragment_of("a", ["one"]))
    archive(root, fragment_of("b", ["two"]))
    archive(root, fragment_of("c", ["three"]), seal=False)
    return root


def segments(root: Path) -> list[Path]:
    """List the segments' files."""
    return sorted((root / "canonical" / "segments").rglob("*.zst"))


def test_what_is_whole_is_verified_with_progress(filled: Path) -> None:
    found, steps = verified(filled)
    assert found == {"archive_verified": Severity.OK, "index_verified": Severity.OK}
    assert [(step["done"], step["total"]) for step in steps if step["unit"] == "segments"] == [(0, 2), (1, 2)]


def test_where_nothing_is_stored_nothing_is_said(tmp_path: Path) -> None:
    assert verified(tmp_path / "state") == ({}, [])


@pytest.mark.parametrize("at", [0.0, 0.5, 0.99])
def test_one_changed_bit_of_a_segment_is_found(filled: Path, at: float) -> None:
    path = segments(filled)[0]
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(data)
    assert verified(filled)[0]["segment_damaged"] == Severity.BROKEN


@pytest.mark.parametrize("change", ["removed", "cut", "emptied", "swapped"])
def test_a_segment_that_is_not_the_one_that_is_named_is_found(filled: Path, change: str) -> None:
    path, other = segments(filled)
    data = path.read_bytes()
    if change == "removed":
        path.unlink()
    else:
        path.write_bytes({"cut": data[:-1], "emptied": b"", "swapped": other.read_bytes()}[change])
    with opened(filled) as local:
        (check, _) = verify(Look(local, {}, Surroundings()), lambda _document: None)
    assert check.code == "segment_damaged"
    assert str(check.hint).startswith("1 of 2 segments and 0 of 1 waiting fragments")


def test_a_changed_fragment_that_waits_is_found(filled: Path) -> None:
    with closing(sqlite3.connect(filled / "canonical" / "feeds.db", isolation_level=None)) as connection:
        connection.execute("UPDATE tails SET body = x'7b7d'")
    assert verified(filled)[0]["segment_damaged"] == Severity.BROKEN


FIRST_MANIFEST_BROKEN = """
UPDATE entries SET body = x'c1' WHERE id = (SELECT min(id) FROM entries WHERE kind BETWEEN 4 AND 7)
"""


def test_a_manifest_that_can_t_be_read_is_found(filled: Path) -> None:
    with closing(sqlite3.connect(filled / "canonical" / "feeds.db", isolation_level=None)) as connection:
        connection.execute(FIRST_MANIFEST_BROKEN)
    assert verified(filled)[0]["store_damaged"] == Severity.BROKEN


def test_a_damaged_page_of_the_log_is_found(filled: Path) -> None:
    overwrite_second_page(filled / "canonical" / "feeds.db")
    assert verified(filled)[0].get("store_damaged") == Severity.BROKEN


def test_a_damaged_page_of_the_index_is_found(filled: Path) -> None:
    with closing(sqlite3.connect(filled / "derived" / "index.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'records_by_conversation'")
    assert verified(filled)[0]["index_damaged"] == Severity.BROKEN


def overwrite_second_page(path: Path) -> None:
    """Overwrite the middle of a table's or an index's page, and leave the schema's alone."""
    with closing(sqlite3.connect(path)) as connection:
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        (root_page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'tails'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    start = (root_page - 1) * page_bytes
    data[start : start + page_bytes] = b"\xee" * page_bytes
    path.write_bytes(data)
