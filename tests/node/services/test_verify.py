"""Whatever is changed below `canonical` is found, named, and comes with what mends it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.crdt.index_away import index_away
from tests.node.asking import asked, items
from tests.node.filled import archive, fragment_of, tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "state"
    archive(root, fragment_of("sealed", ["the sluice opens at dawn"]))
    archive(root, fragment_of("waiting", ["the weir is cleaned on friday"]), seal=False)
    for number in range(5):
        asked(root, "memory.add", text=f"entry {number}")
    return root


def damage(root: Path) -> list[Mapping[str, object]]:
    document = asked(root, "verify")
    found = items(document, "damage")
    assert document["ok"] is (not found)
    assert document["damaged"] == len(found)
    assert all(item["hint"] for item in found)
    return found


def kinds(root: Path) -> set[object]:
    return {item["kind"] for item in damage(root)}


def spoil(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(root / "canonical" / "feeds.db")) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.commit()


def test_what_is_whole_is_so(root: Path) -> None:
    before = tree(root)
    document = asked(root, "verify")
    assert (document["ok"], document["segments"], document["fragments"]) == (True, 1, 2)
    assert document["entries"] == 9
    assert document["signatures"] == document["feeds"]
    every = asked(root, "verify", every_signature=True)
    assert (every["ok"], every["signatures"]) == (True, 9)
    assert tree(root) == before, "nothing is changed by looking"


@pytest.mark.parametrize("column", ["header", "signature"])
def test_a_changed_entry_is_found(root: Path, column: str) -> None:
    spoil(root, f"UPDATE entries SET {column} = zeroblob(length({column})) WHERE id = 5")  # noqa: S608
    found = damage(root)
    assert "entry" in {item["kind"] for item in found}
    assert any("entry" in str(item["where"]) for item in found)


def test_a_changed_body_is_found(root: Path) -> None:
    spoil(root, "UPDATE entries SET body = CAST(body || x'00' AS BLOB) WHERE kind = 3")
    assert len([item for item in damage(root) if item["kind"] == "entry"]) == 5


def test_an_entry_that_is_gone_is_missed(root: Path) -> None:
    spoil(
        root, "DELETE FROM entries WHERE kind = 3 AND id = (SELECT min(id) + 1 FROM entries WHERE kind = 3)"
    )
    assert "chain" in kinds(root)


@pytest.mark.parametrize("index", ["clocks", "of_feed"])
def test_an_index_that_lacks_a_row_is_found_and_mended_by_what_the_hint_says(root: Path, index: str) -> None:
    with index_away(root / "canonical" / "feeds.db", index):
        asked(root, "memory.add", text="written while the index was away")
    found = [item for item in damage(root) if item["kind"] == "index"]
    assert found
    assert all(index in str(item["what"]) and "`atrium rebuild`" in str(item["hint"]) for item in found)
    assert asked(root, "rebuild")["mended_feeds"] is True
    assert kinds(root) == set()
    assert len(items(asked(root, "memory.list"), "items")) == 6
    assert asked(root, "rebuild")["mended_feeds"] is False


def test_a_changed_fragment_that_waits_is_found(root: Path) -> None:
    spoil(root, "UPDATE tails SET body = CAST(body || ' ' AS BLOB)")
    assert kinds(root) == {"fragment"}


def test_a_changed_or_missing_segment_is_found(root: Path) -> None:
    (segment,) = list((root / "canonical" / "segments").rglob("*.zst"))
    data = segment.read_bytes()
    segment.write_bytes(data[:-1] + bytes([data[-1] ^ 4]))
    assert kinds(root) == {"segment"}
    segment.unlink()
    assert kinds(root) == {"segment"}
    segment.write_bytes(data)
    assert kinds(root) == set()
