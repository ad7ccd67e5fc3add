"""opencode's database: read beside a running opencode, whatever its version."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, SourceUnreadable, opencode_database
from tests.archivist.providers.samples import OPENCODE_SCHEMA, OpencodeStore, fill_opencode, read_root, text

PROVIDER = PROVIDERS["opencode"]


def test_columns_that_a_version_has_not_are_done_without(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "opencode.db")
    with connection:
        connection.execute("CREATE TABLE session (id TEXT PRIMARY KEY)")
        connection.execute("CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT)")
        connection.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        connection.execute("INSERT INTO session VALUES ('ses_1')")
        connection.execute("""INSERT INTO message VALUES ('msg_1', 'ses_1', '{"role":"user"}')""")
        connection.execute(
            """INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"hello"}')"""
        )
    connection.close()
    reading = read_root(PROVIDER, tmp_path)
    assert reading.said() == [("message", "user", "hello")]
    assert reading.events[0].timestamp is None


def test_reading_a_closed_database_leaves_no_files(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert len(read_root(PROVIDER, tmp_path).events) == 5
    assert os.listdir(tmp_path) == ["opencode.db"]  # noqa: PTH208 - the plain names are what matters


def test_what_a_running_opencode_wrote_is_seen_before_it_closes(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    writer = sqlite3.connect(store.path)
    writer.execute("PRAGMA journal_mode = WAL")
    with writer:
        writer.execute("UPDATE part SET data = ? WHERE id = 'prt_5'", (json.dumps(text("in the log")),))
    try:
        assert read_root(PROVIDER, tmp_path).events[-1].text == "in the log"
    finally:
        writer.close()


def test_a_database_that_changes_under_our_hands_is_refused(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    (source,) = PROVIDER.sources(tmp_path)
    running = opencode_database.turns(source)
    next(running)
    store.session("ses_2")
    with pytest.raises(SourceUnreadable, match="changed while it was read"):
        list(running)


def test_values_that_are_no_json_are_counted(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    connection = sqlite3.connect(store.path)
    with connection:
        connection.execute("UPDATE part SET data = '{\"type\":' WHERE id = 'prt_1'")
        connection.execute('UPDATE part SET data = \'{"type":"text","text":"\\ud800"}\' WHERE id = \'prt_5\'')
        connection.execute("UPDATE message SET data = '[1]' WHERE id = 'msg_1'")
    connection.close()
    reading = read_root(PROVIDER, tmp_path)
    assert reading.skipped["part that is not an object of JSON"] == 1
    assert reading.skipped["message that is not an object of JSON"] == 1
    assert reading.events[-1].text == "\ufffd"


def test_the_schema_of_the_samples_is_a_database_of_opencode(tmp_path: Path) -> None:
    OpencodeStore(tmp_path / "opencode-beta.db", OPENCODE_SCHEMA).session("ses_9")
    assert [source.relative_path for source in PROVIDER.sources(tmp_path)] == ["opencode-beta.db/ses_9"]
