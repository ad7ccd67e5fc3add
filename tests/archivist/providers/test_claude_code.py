"""Claude Code: whose words each part of a record is, and which conversation it belongs to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, unnamed_raw_id
from archivist.providers.track import SESSIONS_MAX
from tests.archivist.providers.samples import (
    SESSION,
    Reading,
    answered,
    claude,
    lines,
    read_file,
    read_lines,
    read_root,
    text,
    tool_result,
    typed,
)

PERSON = ("message", "user")
PROGRAM = ("metadata", "system")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def read(path: Path, *records: object) -> Reading:
    return read_lines("claude-code", path, *records)


def user_parts(uuid: str, *parts: dict[str, object], **extra: object) -> dict[str, object]:
    return claude("user", uuid, {"role": "user", "content": list(parts)}, **extra)


# Whose words


def test_parts_of_a_record_are_events_of_their_own_kind_in_order(path: Path) -> None:
    reading = read(
        path,
        answered(
            "a1",
            {"type": "thinking", "thinking": "perhaps df", "signature": "s"},
            text("I will look."),
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"b": 1, "a": "df"}},
            parentUuid="u1",
        ),
    )
    assert reading.said() == [
        ("reasoning", "assistant", "perhaps df"),
        ("message", "assistant", "I will look."),
        ("tool-call", "assistant", '{"input":{"a":"df","b":1},"name":"Bash"}'),
    ]
    assert [event.raw_id for event in reading.events] == ["a1", "a1#1", "a1#2"]
    assert {event.parent_raw_id for event in reading.events} == {"u1"}


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("plain", "plain"),
        ([text("one"), {"type": "image", "source": {"data": "AAAA"}}, text("two")], "one\n[image]\ntwo"),
        ([], ""),
        (None, ""),
        ({"type": "error", "code": 1}, '{"code":1,"type":"error"}'),
    ],
)
def test_tool_output_is_the_tools_and_never_the_users(path: Path, output: object, kept: str) -> None:
    reading = read(path, user_parts("u1", tool_result(output), toolUseResult={"stdout": "repeated"}))
    assert reading.said() == [("tool-result", "tool", kept)]


def test_a_message_streamed_in_several_records_is_several_events(path: Path) -> None:
    reading = read(
        path, answered("a1", text("one")), answered("a2", text("two")), answered("a2", text("two"))
    )
    assert [event.raw_id for event in reading.events] == ["a1", "a2", "a2"]


def test_redacted_thinking_has_a_marker_and_empty_thinking_is_counted(path: Path) -> None:
    reading = read(path, answered("a1", {"type": "redacted_thinking", "data": "x"}, {"type": "thinking"}))
    assert reading.said() == [("reasoning", "assistant", "[redacted thinking]")]
    assert reading.skipped == {"part thinking": 1}


def test_images_and_documents_are_metadata_without_their_bytes(path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    reading = read(path, user_parts("u1", text("see this"), image, {**image, "type": "document"}))
    assert reading.said() == [
        ("message", "user", "see this"),
        ("metadata", "user", "[image]"),
        ("metadata", "user", "[document]"),
    ]


@pytest.mark.parametrize(
    "extra",
    [{"isMeta": True}, {"origin": {"kind": "task-notification"}}, {"origin": {"kind": "peer"}}],
    ids=["meta", "notice", "peer"],
)
def test_what_the_program_or_another_agent_wrote_is_not_the_persons(
    path: Path, extra: dict[str, object]
) -> None:
    assert read(path, typed("u1", "injected", **extra)).said() == [(*PROGRAM, "injected")]


def test_what_is_marked_as_a_persons_is_the_persons(path: Path) -> None:
    assert read(path, typed("u1", "mine", origin={"kind": "human"})).said() == [(*PERSON, "mine")]


def test_the_persons_words_are_cut_out_of_the_wrappers_around_them(path: Path) -> None:
    before, after = "<system-reminder>be brief\n</system-reminder>", "<bash-stdout>ok</bash-stdout>"
    reading = read(path, typed("u1", f"{before}\nplease check\n{after} the disk"))
    assert reading.said() == [
        (*PROGRAM, before),
        (*PERSON, "please check"),
        (*PROGRAM, after),
        (*PERSON, "the disk"),
    ]
    assert [event.raw_id for event in reading.events] == ["u1", "u1#1", "u1#2", "u1#3"]


def test_the_assistant_may_speak_of_wrappers(path: Path) -> None:
    words = "Use <system-reminder>x</system-reminder> tags."
    assert read(path, answered("a1", text(words))).said() == [("message", "assistant", words)]


@pytest.mark.parametrize(
    "record",
    [
        answered("a1", text("API Error: 500"), isApiErrorMessage=True),
        claude("assistant", "a1", {"model": "<synthetic>", "content": [text("API Error: 500")]}),
    ],
    ids=["error", "synthetic"],
)
def test_what_the_program_says_in_the_assistants_place_is_metadata(
    path: Path, record: dict[str, object]
) -> None:
    assert read(path, record).said() == [(*PROGRAM, "API Error: 500")]


def test_summaries_are_nobodys_message(path: Path) -> None:
    reading = read(
        path,
        {"type": "summary", "summary": "The disk was full", "leafUuid": "u7"},
        typed("u1", "This session goes on from …", isCompactSummary=True),
    )
    assert reading.said() == [
        ("summary", "system", "The disk was full"),
        ("summary", "system", "This session goes on from …"),
    ]
    assert reading.events[0].raw_id == "u7#summary"
    assert {event.source_id for event in reading.events} == {SESSION}


def test_a_prompt_typed_while_the_agent_was_busy_is_the_persons(path: Path) -> None:
    def queued(uuid: str, **fields: object) -> dict[str, object]:
        found = {"type": "queued_command", "prompt": f"do {uuid}", "commandMode": "prompt", **fields}
        return claude("attachment", uuid, attachment=found)

    reading = read(
        path,
        queued("q1", origin={"kind": "human"}),
        queued("q2", prompt=[text("do"), text("both")]),
        queued("q3", origin={"kind": "peer"}),
        queued("q4", commandMode="task-notification"),
        queued("q5", isMeta=True),
    )
    assert reading.said() == [
        (*PERSON, "do q1"),
        (*PERSON, "do\nboth"),
        (*PROGRAM, "do q3"),
        (*PROGRAM, "do q4"),
        (*PROGRAM, "do q5"),
    ]


def test_attachments_system_records_and_waiting_prompts_are_metadata(path: Path) -> None:
    image = {"type": "file", "content": {"type": "image", "file": {"base64": "AAAA"}}}
    reading = read(
        path,
        claude(
            "attachment", "t1", attachment={"type": "file", "filename": "log", "content": "bytes of a log"}
        ),
        claude("attachment", "t2", attachment={"type": "todo", "items": [2, 1]}),
        claude("attachment", "t3", attachment=image),
        claude("system", "s1", subtype="compact_boundary", content="Conversation compacted"),
        claude("system", "s2", subtype="turn_duration"),
        claude("queue-operation", "", operation="enqueue", content="then the walrus"),
        claude("queue-operation", "", operation="dequeue"),
    )
    assert reading.said() == [
        (*PROGRAM, "bytes of a log"),
        (*PROGRAM, '{"items":[2,1],"type":"todo"}'),
        (*PROGRAM, "[image]"),
        (*PROGRAM, "Conversation compacted"),
        (*PROGRAM, "then the walrus"),
    ]
    assert reading.skipped == {"system without text": 1, "queue-operation without text": 1}


def test_unknown_records_and_parts_are_counted_by_name(path: Path) -> None:
    reading = read(
        path,
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "progress", "data": {}},
        {"type": "a secret: hunter2 and more"},
        {"silly": "this"},
        typed("u1", " \n"),
        claude("user", "u2", "error"),
        claude("user", "u3", {"contenst": []}),
        user_parts("u4", {"type": "hologram"}),
        claude("user", "u5", {"content": ["wow", text("words")]}),
    )
    assert reading.said() == [(*PERSON, "words")]
    assert reading.skipped == {
        "file-history-snapshot": 1,
        "progress": 1,
        "record without a type": 2,
        "empty text": 1,
        "user without content": 2,
        "part hologram": 1,
        "part that is not an object": 1,
    }


def test_tool_input_that_nests_too_deeply_is_marked(path: Path) -> None:
    record = json.dumps(answered("a1", {"type": "tool_use", "name": "Bash", "input": "DEEP"}))
    path.write_text(record.replace('"DEEP"', "[" * 900 + "]" * 900) + "\n")
    (event,) = read_file("claude-code", path).events
    assert event.raw_id in ("a1", unnamed_raw_id(f"{path.name}: line nests too deeply", None, 0))


# Which conversation


def test_a_session_is_what_its_records_say_and_not_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(lines([typed("u1", "first")]))
    (tmp_path / "two.jsonl").write_bytes(lines([typed("u1", "first"), typed("u2", "resumed")]))
    reading = read_root(PROVIDERS["claude-code"], tmp_path)
    assert {event.source_id for event in reading.events} == {SESSION}
    assert [event.raw_id for event in reading.events] == ["u1", "u1", "u2"]


@pytest.mark.parametrize(
    ("file", "extra", "source_id"),
    [
        (f"{SESSION}.jsonl", {"isSidechain": True, "agentId": "a7"}, f"{SESSION}/agent-a7"),
        (f"{SESSION}.jsonl", {"isSidechain": True}, f"{SESSION}/sidechain"),
        ("agent-b8.jsonl", {"isSidechain": True}, f"{SESSION}/agent-b8"),
        ("agent-b8.jsonl", {}, f"{SESSION}/agent-b8"),
        ("agent-b8.jsonl", {"isSidechain": True, "agentId": "a7"}, f"{SESSION}/agent-a7"),
        (f"{SESSION}/subagents/agent-b8.jsonl", {"sessionId": None}, f"{SESSION}/agent-b8"),
    ],
)
def test_a_subagent_has_a_conversation_of_its_own(
    tmp_path: Path, file: str, extra: dict[str, object], source_id: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    reading = read(path, typed("u1", "walk the directory", **extra))
    assert [event.source_id for event in reading.events] == [source_id]
    assert reading.sessions[source_id].parent_source_id == SESSION
    assert reading.sessions[source_id].directory == "/srv/depot"


def test_a_forked_record_is_the_one_it_repeats(path: Path) -> None:
    reading = read(
        path,
        typed("n1", "old", forkedFrom={"sessionId": "origin", "messageUuid": "o1"}, parentUuid="n0"),
        typed("o2", "same name", forkedFrom={"sessionId": "origin", "messageUuid": "o2"}, parentUuid="o1"),
        typed("n3", "new"),
    )
    assert [(event.source_id, event.raw_id, event.parent_raw_id) for event in reading.events] == [
        ("origin", "o1", None),
        ("origin", "o2", "o1"),
        (SESSION, "n3", None),
    ]
    assert reading.sessions[SESSION].parent_source_id == "origin"


def test_the_first_directory_of_a_session_counts(path: Path) -> None:
    reading = read(
        path, typed("u0", "early", cwd=None), typed("u1", "one"), typed("u2", "two", cwd="/elsewhere")
    )
    assert reading.sessions[SESSION].directory == "/srv/depot"


@pytest.mark.parametrize(
    ("extra", "automation"),
    [
        ({"entrypoint": "cli"}, False),
        ({"entrypoint": "sdk-cli"}, True),
        ({"entrypoint": "sdk-py"}, True),
        ({"entrypoint": None, "promptSource": "sdk"}, True),
        ({"entrypoint": None}, False),
    ],
)
def test_a_session_that_a_program_started_is_automation(
    path: Path, extra: dict[str, object], automation: bool
) -> None:
    reading = read(path, typed("u1", "one", **extra), typed("u2", "two", entrypoint=extra["entrypoint"]))
    assert reading.sessions[SESSION].automation is automation


def test_a_custom_title_is_the_sessions(path: Path) -> None:
    titled = {"type": "custom-title", "customTitle": "The full disk", "sessionId": SESSION}
    reading = read(path, typed("u1", "one"), titled, {"type": "ai-title", "aiTitle": "Disk"})
    assert reading.sessions[SESSION].title == "The full disk"
    assert "full disk" not in str(reading.cursor.state)


def test_a_cursor_remembers_a_bounded_number_of_sessions(path: Path) -> None:
    reading = read(path, *(typed(f"u{n}", "x", sessionId=f"s{n}") for n in range(SESSIONS_MAX + 10)))
    state = reading.cursor.state["sessions"]
    assert isinstance(state, dict)
    assert len(state) == SESSIONS_MAX
    assert len(reading.sessions) == SESSIONS_MAX + 10


# When


def test_equal_and_missing_timestamps_keep_the_files_order(path: Path) -> None:
    reading = read(path, typed("u3", "a"), typed("u1", "b"), typed("u2", "c", timestamp=None))
    assert [(event.seq, event.text) for event in reading.events] == [(0, "a"), (1, "b"), (2, "c")]
    assert reading.events[2].timestamp is None
    assert not reading.skipped


def test_a_timestamp_that_cannot_be_read_is_counted_and_left_out(path: Path) -> None:
    reading = read(path, typed("u1", "a", timestamp="yesterday"))
    assert reading.events[0].timestamp is None
    assert reading.skipped == {"timestamp that can't be read": 1}


def test_records_without_an_id_are_told_apart_by_time_and_place(path: Path) -> None:
    now, later = "2026-01-05T09:00:00.000Z", "2026-01-05T09:00:01.000Z"
    reading = read(path, typed("", "a"), typed("", "b"), typed("", "c", timestamp=later))
    assert [event.raw_id for event in reading.events] == [
        unnamed_raw_id("user", now, 0),
        unnamed_raw_id("user", now, 1),
        unnamed_raw_id("user", later, 0),
    ]


# Where


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    provider = PROVIDERS["claude-code"]
    assert provider.default_roots(tmp_path, {}) == [
        tmp_path / ".claude/projects",
        tmp_path / ".config/claude/projects",
    ]
    assert provider.default_roots(tmp_path, {"CLAUDE_CONFIG_DIR": "/a, /b"}) == [
        Path("/a/projects"),
        Path("/b/projects"),
    ]
