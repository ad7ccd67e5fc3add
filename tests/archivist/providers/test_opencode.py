"""opencode: the same sessions from its database and from its files."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, SourceUnreadable, opencode
from tests.archivist.providers.samples import (
    BEGAN_MS,
    OPENCODE_SCHEMA,
    OpencodeStore,
    Reading,
    fill_opencode,
    opencode_tool,
    read_root,
    text,
)

PROVIDER = PROVIDERS["opencode"]


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def fill_files(root: Path, session: str = "ses_1") -> None:
    """Write what `fill_opencode` writes, as the older files."""
    storage = root / "storage"
    write_json(storage / f"session/p/{session}.json",
               {"id": session, "title": "The disk", "directory": "/srv/depot"})  # fmt: skip
    for name, created, data in (("msg_1", 2000, {"role": "user"}),
                                ("msg_2", 3000, {"role": "assistant", "parentID": "msg_1"})):  # fmt: skip
        write_json(storage / f"message/{session}/{name}.json",
                   {"id": name, "time": {"created": BEGAN_MS + created}, **data})  # fmt: skip
    parts = {
        "msg_1/prt_1": text("please check the disk"),
        "msg_2/prt_2": {"type": "step-start"},
        "msg_2/prt_3": {"type": "reasoning", "text": "perhaps df", "time": {"start": BEGAN_MS}},
        "msg_2/prt_4": opencode_tool("ninety percent"),
        "msg_2/prt_5": text("The volume is nearly full."),
    }
    for name, part in parts.items():
        write_json(storage / f"part/{name}.json", part)


def read_parts(tmp_path: Path, role: str, *parts: dict[str, object], **data: object) -> Reading:
    store = OpencodeStore(tmp_path / "opencode.db")
    store.session("ses_1")
    named = {f"prt_{place}": part for place, part in enumerate(parts)}
    store.message("ses_1", "msg_1", {"role": role, **data}, named)
    return read_root(PROVIDER, tmp_path)


def test_parts_become_events(tmp_path: Path) -> None:
    fill_opencode(tmp_path)
    reading = read_root(PROVIDER, tmp_path)
    assert reading.said() == [
        ("message", "user", "please check the disk"),
        ("reasoning", "assistant", "perhaps df"),
        ("tool-call", "assistant", '{"input":{"command":"df"},"name":"bash"}'),
        ("tool-result", "tool", "ninety percent"),
        ("message", "assistant", "The volume is nearly full."),
    ]
    assert [event.raw_id for event in reading.events] == ["prt_1", "prt_3", "prt_4", "prt_4#1", "prt_5"]
    assert [event.parent_raw_id for event in reading.events] == [None, "prt_1", "prt_1", "prt_4", "prt_1"]
    assert reading.events[0].timestamp == "2026-01-05T09:00:02.000Z"
    assert reading.events[3].timestamp == "2026-01-05T09:00:00.005Z"
    assert reading.skipped == {"part step-start": 1}
    assert reading.sessions["ses_1"].title == "The disk"


def test_files_give_the_events_that_the_database_gives(tmp_path: Path) -> None:
    fill_opencode(tmp_path / "database")
    fill_files(tmp_path / "files")
    database, files = (read_root(PROVIDER, tmp_path / name) for name in ("database", "files"))
    assert files.events == database.events
    assert files.sessions == database.sessions


def test_a_session_in_the_database_is_not_read_from_files_too(tmp_path: Path) -> None:
    fill_opencode(tmp_path)
    fill_files(tmp_path, "ses_1")
    fill_files(tmp_path, "ses_2")
    paths = [source.relative_path for source in PROVIDER.sources(tmp_path)]
    assert paths == ["opencode.db/ses_1", "storage/session/p/ses_2.json"]


def test_what_the_program_wrote_is_metadata(tmp_path: Path) -> None:
    reading = read_parts(
        tmp_path,
        "user",
        {**text("Called the read tool"), "synthetic": True},
        {**text("hidden"), "ignored": True},
        {"type": "file", "filename": "a.png", "mime": "image/png", "url": "data:image/png;base64,AAAA"},
        {"type": "file", "url": "data:image/png;base64,AAAA"},
        {"type": "subtask", "prompt": "walk", "agent": "explore"},
        text(""),
        {"type": "patch", "files": []},
        {"no": "type"},
    )
    assert reading.said() == [
        ("metadata", "system", "Called the read tool"),
        ("metadata", "system", "hidden"),
        ("metadata", "system", "[file] a.png"),
        ("metadata", "system", "[file]"),
        ("metadata", "system", "walk"),
    ]
    assert reading.skipped == {"empty text": 1, "part patch": 1, "part without a type": 1}


def test_a_summary_and_an_unknown_role_are_nobodys_message(tmp_path: Path) -> None:
    assert read_parts(tmp_path / "a", "assistant", text("so far"), summary=True).said() == [
        ("summary", "system", "so far")
    ]
    assert read_parts(tmp_path / "b", "oracle", text("so far")).said() == [("metadata", "unknown", "so far")]


def test_a_tool_has_a_result_once_it_ended(tmp_path: Path) -> None:
    failed = opencode_tool("x")
    failed["state"] = {"status": "error", "input": {}, "error": "no such file", "time": {}}
    reading = read_parts(tmp_path, "assistant", opencode_tool(None), failed)
    assert [event.kind for event in reading.events] == ["tool-call", "tool-call", "tool-result"]
    assert reading.events[2].text == "no such file"


def test_a_part_that_changed_has_the_session_read_again(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    before = read_root(PROVIDER, tmp_path)
    store.change_part("prt_5", text("The volume is full."))
    (source,) = PROVIDER.sources(tmp_path)
    after = Reading().add(PROVIDER.read(source, before.cursor))
    assert after.increments[0].rewritten
    changed = [event for event in after.events if event not in before.events]
    assert [(event.raw_id, event.text) for event in changed] == [("prt_5", "The volume is full.")]


def test_a_child_session_is_linked_and_a_placeholder_is_no_title(tmp_path: Path) -> None:
    store = OpencodeStore(tmp_path / "opencode.db")
    store.session("ses_2", parent="ses_1", title="Child session - 2026-01-05T09:00:00.000Z")
    store.message("ses_2", "msg_1", {"role": "user"}, {"prt_1": text("walk")})
    session = read_root(PROVIDER, tmp_path).sessions["ses_2"]
    assert (session.parent_source_id, session.title) == ("ses_1", None)


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


def test_a_large_session_comes_in_increments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode, "INCREMENT_BYTES", 100)
    fill_opencode(tmp_path)
    reading = read_root(PROVIDER, tmp_path)
    assert len(reading.increments) > 1
    assert [increment.cursor.modified_ns > 0 for increment in reading.increments][-2:] == [False, True]
    monkeypatch.undo()
    assert reading.events == read_root(PROVIDER, tmp_path).events


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


# Beside a running opencode


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
    running = opencode.opencode_database.turns(source)
    next(running)
    store.session("ses_2")
    with pytest.raises(SourceUnreadable, match="changed while it was read"):
        list(running)


def test_a_file_that_is_no_database_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"not a database at all" * 100)
    fill_files(tmp_path)
    sources = PROVIDER.sources(tmp_path)
    assert next(sources).relative_path == "storage/session/p/ses_1.json"
    with pytest.raises(SourceUnreadable, match=r"opencode\.db"):
        next(sources)


def test_files_that_are_no_json_or_links_are_counted(tmp_path: Path) -> None:
    fill_files(tmp_path)
    part = tmp_path / "storage/part/msg_2"
    (part / "prt_5.json").write_text('{"type":')
    (part / "prt_6.json").symlink_to(part / "prt_3.json")
    reading = read_root(PROVIDER, tmp_path)
    assert [event.raw_id for event in reading.events] == ["prt_1", "prt_3", "prt_4", "prt_4#1"]
    assert reading.skipped["part that is not an object of JSON"] == 1


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    assert PROVIDER.default_roots(tmp_path, {}) == [tmp_path / ".local/share/opencode"]
    assert PROVIDER.default_roots(tmp_path, {"XDG_DATA_HOME": "/d"}) == [Path("/d/opencode")]


def test_the_schema_of_the_samples_is_a_database_of_opencode(tmp_path: Path) -> None:
    OpencodeStore(tmp_path / "opencode-beta.db", OPENCODE_SCHEMA).session("ses_9")
    assert [source.relative_path for source in PROVIDER.sources(tmp_path)] == ["opencode-beta.db/ses_9"]
