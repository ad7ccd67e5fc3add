"""What belongs to this node alone: cursors, ingested lines, trees of notes, the mark."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivist.providers.base import Cursor
from crdt.manifests import Tombstone
from node.local_store import IngestedLine, LocalStore, NoteRoot
from tests.crdt.logs import open_log


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    made = LocalStore(tmp_path / "local" / "local.db", writable=True)
    yield made
    made.close()


def test_cursors_come_back_by_provider_and_root(store: LocalStore) -> None:
    cursor = Cursor(size_bytes=9, modified_ns=8, inode=7, offset=6, lines=5, state={"session": "s", "n": 1})
    store.set_cursors("codex", "/a", {"x.jsonl": Cursor(offset=1)})
    store.set_cursors("codex", "/a", {"x.jsonl": cursor})
    assert store.cursors("codex", "/a") == {"x.jsonl": cursor}
    assert store.cursors("codex", "/b") == store.cursors("generic", "/a") == {}


def test_ingested_lines_belong_to_a_version_of_the_redactor(store: LocalStore) -> None:
    line = IngestedLine(sha256=b"1" * 32, conversation_id="c", source="codex")
    store.add_ingested([line], 1)
    assert store.ingested(1) == {line.sha256: line}
    assert store.ingested(2) == {}
    store.add_ingested([line], 2)
    assert store.ingested(1) == {}


def test_trees_of_notes_are_kept_as_they_were_asked_for(store: LocalStore) -> None:
    root = NoteRoot(path="/notes", provider="brain", exclude=("drafts", "old"), third_party=False)
    store.set_note_root(root)
    assert store.note_roots() == [root]
    other = NoteRoot(path="/notes", provider="wiki", exclude=(), third_party=True)
    store.set_note_root(other)
    assert store.note_roots() == [other]


def test_reading_can_be_forgotten_and_notes_stay(store: LocalStore) -> None:
    store.set_cursors("codex", "/a", {"x.jsonl": Cursor(offset=1)})
    store.add_ingested([IngestedLine(sha256=b"1" * 32, conversation_id="c", source="codex")], 1)
    store.set_note_root(NoteRoot(path="/notes", provider="brain", exclude=(), third_party=False))
    store.forget_reading()
    assert store.cursors("codex", "/a") == {}
    assert store.ingested(1) == {}
    assert len(store.note_roots()) == 1


def test_a_mark_fits_the_log_that_it_was_made_under(store: LocalStore, tmp_path: Path) -> None:
    logs = [open_log(tmp_path / name / "feeds.db") for name in ("one", "other")]
    try:
        assert all(store.fits(log) for log in logs), "nothing was read yet"
        for log in logs:
            log.append([Tombstone(removed=["00" * 32])])
        logs[0].append([Tombstone(removed=["11" * 32])])
        store.set_mark(logs[0])
        logs[0].append([Tombstone(removed=["22" * 32])])
        assert store.fits(logs[0])
        assert not store.fits(logs[1])
    finally:
        for log in logs:
            log.close()


def test_a_text_is_accepted_exactly_and_only_the_last_one(store: LocalStore) -> None:
    space, first, second = b"s" * 32, b"1" * 32, b"2" * 32
    assert not store.accepts(space, "r", first)
    store.accept(space, "r", first)
    assert store.accepts(space, "r", first)
    assert not store.accepts(b"t" * 32, "r", first)
    store.accept(space, "r", second)
    assert (store.accepts(space, "r", first), store.accepts(space, "r", second)) == (False, True)


def test_nothing_is_accepted_in_a_store_of_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    older = sqlite3.connect(path)
    older.execute("PRAGMA user_version = 2")
    older.close()
    reader = LocalStore(path, writable=False)
    assert not reader.accepts(b"s" * 32, "r", b"1" * 32)
    reader.close()
    writer = LocalStore(path, writable=True)
    writer.accept(b"s" * 32, "r", b"1" * 32)
    writer.close()
    reader = LocalStore(path, writable=False)
    assert reader.accepts(b"s" * 32, "r", b"1" * 32)
    reader.close()


def test_a_reader_of_an_absent_store_finds_it_empty_and_makes_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "local.db", writable=False)
    assert (store.cursors("codex", "/a"), store.ingested(1), store.note_roots()) == ({}, {}, [])
    store.close()
    assert not (tmp_path / "local.db").exists()


def test_a_mark_is_written_once_for_each_manifest(store: LocalStore, tmp_path: Path) -> None:
    log = open_log(tmp_path / "feeds.db")
    try:
        log.append([Tombstone(removed=["00" * 32])])
        store.set_mark(log)
        before = store._connection.total_changes
        store.set_mark(log)
        assert store._connection.total_changes == before
        log.append([Tombstone(removed=["11" * 32])])
        store.set_mark(log)
        assert store._connection.total_changes > before
    finally:
        log.close()
