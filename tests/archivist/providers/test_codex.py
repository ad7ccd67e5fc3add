"""Codex: each item once, whose it is, and which session a rollout is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, unnamed_raw_id
from tests.archivist.providers.samples import (
    CALL,
    CODEX_SESSION,
    Reading,
    codex,
    codex_message,
    item,
    meta,
    read_lines,
)

NOW = "2026-01-05T09:00:00.000Z"
ENVIRONMENT = "<environment_context>\n  <cwd>/srv/old</cwd>\n</environment_context>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"rollout-2026-01-05T09-00-00-{CODEX_SESSION}.jsonl"


def read(path: Path, *records: object) -> Reading:
    return read_lines("codex", path, *records)


def test_events_that_repeat_items_are_counted_and_not_kept(path: Path) -> None:
    reading = read(
        path,
        meta(),
        codex("event_msg", {"type": "user_message", "message": "hello"}),
        codex_message("user", "hello"),
        codex("event_msg", {"type": "agent_reasoning", "text": "hm"}),
        codex("event_msg", {"type": "agent_message", "message": "yes"}),
        codex("event_msg", {"type": "token_count", "info": None}),
        codex("turn_context", {"cwd": "/x"}),
        codex("hologram", {}),
    )
    assert reading.said() == [("message", "user", "hello")]
    assert reading.skipped == {
        "event_msg repeats": 3,
        "event_msg token_count": 1,
        "turn_context": 1,
        "hologram": 1,
    }


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ({"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'},
         '{"input":{"command":["ls"]},"name":"shell"}'),
        ({"type": "function_call", "name": "shell", "arguments": "not {json"},
         '{"input":"not {json","name":"shell"}'),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch"},
         '{"input":"*** Begin Patch","name":"apply_patch"}'),
        ({"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}},
         '{"input":{"command":["ls"],"type":"exec"},"name":"local_shell"}'),
        ({"type": "web_search_call", "action": {"type": "search", "query": "disks"}},
         '{"input":{"query":"disks","type":"search"},"name":"web_search"}'),
    ],
    ids=["function", "function-text", "custom", "local-shell", "web-search"],
)  # fmt: skip
def test_every_sort_of_call_is_a_tool_call(path: Path, call: dict[str, object], kept: str) -> None:
    reading = read(path, meta(), codex("response_item", {**call, "call_id": CALL}))
    assert reading.said() == [("tool-call", "assistant", kept)]
    assert reading.events[0].raw_id == f"{CALL}/tool-call"


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("plain", "plain"),
        ('{"output":"wrapped","metadata":{"exit_code":0}}', "wrapped"),
        ('{"other":1}', '{"other":1}'),
        ({"content": "failed", "success": False}, "failed"),
        ([{"type": "input_text", "text": "one"}, {"type": "input_image"}], "one\n[image]"),
        (None, ""),
    ],
)  # fmt: skip
def test_outputs_are_taken_out_of_their_wrappings(path: Path, output: object, kept: str) -> None:
    reading = read(path, meta(), item("function_call_output", call_id=CALL, output=output))
    assert reading.said() == [("tool-result", "tool", kept)]
    assert reading.events[0].raw_id == f"{CALL}/tool-result"
    assert reading.events[0].parent_raw_id == f"{CALL}/tool-call"


def test_call_ids_that_are_numbered_anew_in_each_answer_are_not_taken_for_ids(path: Path) -> None:
    calls = [item("function_call", name="shell", arguments="{}", call_id="call_0") for _ in range(2)]
    reading = read(path, meta(), *calls)
    assert [event.raw_id for event in reading.events] == [
        unnamed_raw_id("tool-call", NOW, 0),
        unnamed_raw_id("tool-call", NOW, 1),
    ]


def test_reasoning_is_what_can_be_read_of_it(path: Path) -> None:
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    reading = read(
        path,
        meta(),
        item("reasoning", summary=summary, content=[{"type": "reasoning_text", "text": "three"}]),
        item("reasoning", summary=[], content=None, encrypted_content="gAAAAopaque"),
    )
    assert reading.said() == [("reasoning", "assistant", "one\ntwo\nthree")]
    assert reading.skipped == {"reasoning without text": 1}


@pytest.mark.parametrize(
    "words",
    [
        ENVIRONMENT,
        "<user_instructions>\nbe kind\n</user_instructions>",
        "<permissions instructions>read only</permissions instructions>",
        "# AGENTS.md instructions for /srv/depot\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>",
        "<turn_aborted>\nby the user\n</turn_aborted>",
        "<user_shell_command>ls</user_shell_command>",
    ],
)
def test_what_the_program_puts_in_the_users_place_is_metadata(path: Path, words: str) -> None:
    assert read(path, meta(), codex_message("user", words)).said() == [("metadata", "system", words)]


def test_a_persons_words_about_such_tags_are_the_persons(path: Path) -> None:
    words = "Why is there an <environment_context> in my prompt?"
    assert read(path, meta(), codex_message("user", words)).said() == [("message", "user", words)]


def test_a_request_is_cut_out_of_the_editors_context(path: Path) -> None:
    words = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix the build\n"
    )
    assert read(path, meta(), codex_message("user", words)).said() == [
        ("metadata", "system", "# Context from my IDE setup:\n\n## Open tabs:\n- a.py"),
        ("message", "user", "fix the build"),
    ]


def test_roles_are_kept_and_an_unknown_one_is_nobodys(path: Path) -> None:
    records = [codex_message(role, role) for role in ("developer", "system", "oracle")]
    assert read(path, meta(), *records).said() == [
        ("message", "developer", "developer"),
        ("message", "system", "system"),
        ("metadata", "unknown", "oracle"),
    ]


def test_parts_of_a_message_have_ids_of_their_own(path: Path) -> None:
    content = [{"type": "input_text", "text": "one"}, {"type": "input_image"}, {"type": "hologram"}]
    reading = read(path, meta(), item("message", id="msg_0123456789abcdef", role="user", content=content))
    assert [event.raw_id for event in reading.events] == ["msg_0123456789abcdef", "msg_0123456789abcdef#1"]
    assert reading.said()[1] == ("metadata", "user", "[image]")
    assert reading.skipped == {"part hologram": 1}


def test_a_compaction_is_a_summary(path: Path) -> None:
    reading = read(path, meta(), codex("compacted", {"message": "so far", "replacement_history": []}))
    assert reading.said() == [("summary", "system", "so far")]


# Which session


def test_the_first_description_counts_and_copied_ones_do_not(path: Path) -> None:
    reading = read(path, meta(), meta(id="older", cwd="/elsewhere"), codex_message("user", "hello"))
    assert [event.source_id for event in reading.events] == [CODEX_SESSION]
    assert reading.sessions[CODEX_SESSION].directory == "/srv/depot"
    assert reading.skipped == {"session_meta of copied history": 1}


@pytest.mark.parametrize(
    ("fields", "automation"),
    [
        ({"source": "cli"}, False),
        ({"source": "exec"}, True),
        ({"originator": "codex_exec"}, True),
        ({"originator": "codex_sdk_ts"}, True),
        ({"source": {"subagent": "review"}}, False),
    ],
)
def test_a_session_that_a_program_started_is_automation(
    path: Path, fields: dict[str, object], automation: bool
) -> None:
    reading = read(path, meta(**fields), codex_message("user", "hello"))
    assert reading.sessions[CODEX_SESSION].automation is automation


@pytest.mark.parametrize(
    "fields",
    [
        {"forked_from_id": "parent"},
        {"parent_thread_id": "parent"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "parent", "depth": 1}}}},
    ],
    ids=["fork", "thread", "subagent"],
)
def test_a_fork_or_a_subagent_is_linked_to_its_parent(path: Path, fields: dict[str, object]) -> None:
    reading = read(path, meta(**fields), codex_message("user", "hello"))
    assert reading.sessions[CODEX_SESSION].parent_source_id == "parent"


def test_a_rollout_without_description_is_named_by_its_file(path: Path) -> None:
    reading = read(path, codex_message("user", ENVIRONMENT), codex_message("user", "hello"))
    assert {event.source_id for event in reading.events} == {CODEX_SESSION}
    assert reading.sessions[CODEX_SESSION].directory == "/srv/old"


def test_a_rollout_of_before_the_envelope_is_read_alike(path: Path) -> None:
    reading = read(
        path,
        {"id": "old-session", "timestamp": NOW, "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": CALL},
        {"type": "function_call_output", "call_id": CALL, "output": json.dumps({"output": "done"})},
    )
    assert [event.source_id for event in reading.events] == ["old-session"] * 3
    assert reading.said()[0] == ("message", "user", "hello")
    assert reading.said()[2] == ("tool-result", "tool", "done")
    assert reading.skipped == {"record without a type": 1}


def test_a_line_with_fields_of_other_types_keeps_what_can_be_read(path: Path) -> None:
    content = ["stray", {"type": "input_text", "text": "hello"}]
    reading = read(path, meta(cwd=7), item("message", role="user", content=content))
    assert reading.said() == [("message", "user", "hello")]
    assert reading.skipped == {"part that is not an object": 1}


# Where


def test_only_rollouts_are_sources_and_archived_ones_are_too(tmp_path: Path) -> None:
    for name in ("2026/01/05/rollout-a.jsonl", "history.jsonl", "2026/01/05/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    provider = PROVIDERS["codex"]
    assert [source.relative_path for source in provider.sources(tmp_path)] == ["2026/01/05/rollout-a.jsonl"]
    assert provider.default_roots(tmp_path, {"CODEX_HOME": "/c"}) == [
        Path("/c/sessions"),
        Path("/c/archived_sessions"),
    ]
