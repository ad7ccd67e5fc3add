"""opencode's parts: whose words each is."""

from __future__ import annotations

from pathlib import Path

from archivist.providers import PROVIDERS
from tests.archivist.providers.samples import (
    OpencodeStore,
    Reading,
    fill_opencode,
    opencode_tool,
    read_root,
    text,
)

PROVIDER = PROVIDERS["opencode"]


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
