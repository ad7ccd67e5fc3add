"""Small transcripts of each agent, as that agent writes them, and what a test needs to read them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from archivist.providers import PROVIDERS, Cursor, Increment, Provider, RawEvent, Session, Source

SESSION = "6f1c2a7e-5a35-4a7a-9a57-0d8a0c1f1101"
CODEX_SESSION = "0199c0de-7c55-7c1a-8a57-6f0d8a0c1f22"


@dataclass(slots=True)
class Reading:
    """Everything that some increments gave."""

    events: list[RawEvent] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    increments: list[Increment] = field(default_factory=list)

    @property
    def cursor(self) -> Cursor:
        """The last cursor."""
        return self.increments[-1].cursor

    def add(self, increments: Iterable[Increment]) -> Reading:
        """Take more increments in."""
        for increment in increments:
            self.increments.append(increment)
            self.events += increment.events
            self.sessions |= increment.sessions
            self.skipped += increment.skipped
        return self

    def said(self) -> list[tuple[str, str, str]]:
        """Kind, role and text of each event, in order."""
        return [(event.kind, event.role, event.text) for event in self.events]

    def of_kind(self, kind: str) -> list[str]:
        """List the texts of one kind."""
        return [event.text for event in self.events if event.kind == kind]


def line(record: object) -> bytes:
    """One line of JSON with its LF, characters as they are."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def lines(records: Iterable[object]) -> bytes:
    """Lines of JSON."""
    return b"".join(line(record) for record in records)


def source_of(provider: str, path: Path, root: Path | None = None) -> Source:
    """Find the source of one file below its root, as `sources` gives it."""
    found = [s for s in PROVIDERS[provider].sources(root or path.parent) if s.path == path]
    assert len(found) == 1
    return found[0]


def read_file(provider: str, path: Path, cursor: Cursor | None = None) -> Reading:
    """Read one file from a cursor on."""
    return Reading().add(PROVIDERS[provider].read(source_of(provider, path), cursor))


def read_lines(provider: str, path: Path, *records: object) -> Reading:
    """Write records as a file and read it."""
    path.write_bytes(lines(records))
    return read_file(provider, path)


def read_root(provider: Provider, root: Path) -> Reading:
    """Read every source below a root from its start."""
    made = Reading()
    for source in provider.sources(root):
        made.add(provider.read(source, None))
    return made


# Claude Code


def claude(kind: str, uuid: str, message: object = None, **extra: object) -> dict[str, object]:
    """One record of Claude Code."""
    record: dict[str, object] = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/srv/depot",
        "sessionId": SESSION,
        "version": "2.1.290",
        "entrypoint": "cli",
        "type": kind,
        "uuid": uuid,
        "timestamp": "2026-01-05T09:00:00.000Z",
    }
    if message is not None:
        record["message"] = message
    return {**record, **extra}


def typed(uuid: str, text: str, **extra: object) -> dict[str, object]:
    """Make what the person typed."""
    return claude("user", uuid, {"role": "user", "content": text}, **extra)


def answered(uuid: str, *parts: dict[str, object], **extra: object) -> dict[str, object]:
    """Make what the assistant gave."""
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": list(parts), "usage": {"n": 1}}
    return claude("assistant", uuid, message, **extra)


def text(words: str) -> dict[str, object]:
    """Make a text part."""
    return {"type": "text", "text": words}


def tool_result(output: object) -> dict[str, object]:
    """Make a part with the output of a tool."""
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": output, "is_error": False}


CLAUDE_RECORDS: list[dict[str, object]] = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    typed("u1", "please check the disk"),
    answered("a1", {"type": "thinking", "thinking": "perhaps df", "signature": "s"}, parentUuid="u1"),
    answered("a2", text("I will look."), {"type": "tool_use", "id": "toolu_1", "name": "Bash",
                                          "input": {"command": "df"}}),
    claude("user", "u2", {"role": "user", "content": [tool_result("ninety percent")]},
           toolUseResult={"stdout": "ninety percent"}),
    answered("a3", text("The volume is nearly full.")),
]  # fmt: skip
CLAUDE_MORE = [typed("u3", "then free some space"), answered("a4", text("Done."))]


# Codex


def codex(kind: str, payload: dict[str, object], at: str = "2026-01-05T09:00:00.000Z") -> dict[str, object]:
    """One line of a rollout."""
    return {"timestamp": at, "type": kind, "payload": payload}


def item(kind: str, at: str = "2026-01-05T09:00:00.000Z", **fields: object) -> dict[str, object]:
    """One response item."""
    return codex("response_item", {"type": kind, **fields}, at)


def codex_message(role: str, *texts: str, at: str = "2026-01-05T09:00:00.000Z") -> dict[str, object]:
    """One message item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", at, role=role, content=[{"type": kind, "text": words} for words in texts])


def meta(**fields: object) -> dict[str, object]:
    """Make the line that describes the session."""
    return codex(
        "session_meta", {"id": CODEX_SESSION, "cwd": "/srv/depot", "originator": "codex_cli_rs", **fields}
    )


CALL = "call_00000000000000000001"
CODEX_RECORDS: list[dict[str, object]] = [
    meta(source="cli"),
    codex("turn_context", {"cwd": "/srv/depot", "model": "m"}),
    codex_message("user", "please check the disk"),
    codex("event_msg", {"type": "user_message", "message": "please check the disk"}),
    item("reasoning", summary=[{"type": "summary_text", "text": "perhaps df"}], encrypted_content="gAAAA"),
    item("function_call", name="shell", arguments='{"command":["df"]}', call_id=CALL),
    item(
        "function_call_output", call_id=CALL, output='{"output":"ninety percent","metadata":{"exit_code":0}}'
    ),
    codex("event_msg", {"type": "agent_message", "message": "The volume is nearly full."}),
    codex_message("assistant", "The volume is nearly full."),
]
CODEX_MORE = [codex_message("user", "then free some space"), codex_message("assistant", "Done.")]


# Generic

GENERIC_RECORDS: list[dict[str, object]] = [
    {
        "id": "1",
        "role": "user",
        "text": "please check the disk",
        "timestamp": 1767603600000,
        "cwd": "/srv/depot",
    },
    {"role": "tool", "kind": "tool-result", "text": "ninety percent"},
    {
        "id": "2",
        "role": "assistant",
        "text": "The volume is nearly full.",
        "timestamp": "2026-01-05T09:00:02Z",
    },
]
GENERIC_MORE: list[dict[str, object]] = [
    {"id": "3", "role": "user", "text": "then free some space"},
    {"id": "4", "role": "assistant", "text": "Done."},
]


# opencode

OPENCODE_SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, directory TEXT NOT NULL,
  title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
  time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
  time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
"""
BEGAN_MS = 1767603600000
Parts = Mapping[str, Mapping[str, object]]


class OpencodeStore:
    """A database of opencode under construction; the clock moves on by a second for each row."""

    def __init__(self, path: Path, schema: str = OPENCODE_SCHEMA) -> None:
        self.path = path
        self.clock_ms = BEGAN_MS
        path.parent.mkdir(parents=True, exist_ok=True)
        self._do(schema.replace("\n", " ").split(";"))

    def _do(self, statements: Iterable[str], values: tuple[object, ...] = ()) -> None:
        connection = sqlite3.connect(self.path)
        with connection:
            for statement in statements:
                connection.execute(statement, values)
        connection.close()

    def tick(self) -> int:
        self.clock_ms += 1000
        return self.clock_ms

    def session(self, name: str, *, parent: str | None = None, title: str = "The disk") -> None:
        now = self.tick()
        self._do(["INSERT INTO session VALUES (?, 'p', ?, '/srv/depot', ?, '1.2.0', ?, ?)"],
                 (name, parent, title, now, now))  # fmt: skip

    def message(self, session: str, name: str, data: Mapping[str, object], parts: Parts) -> None:
        now = self.tick()
        told = {"time": {"created": now}, **data}
        self._do(["INSERT INTO message VALUES (?, ?, ?, ?, ?)"], (name, session, now, now, json.dumps(told)))
        for part, fields in parts.items():
            row = (part, name, session, now, now, json.dumps(fields))
            self._do(["INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)"], row)

    def change_part(self, name: str, data: Mapping[str, object]) -> None:
        self._do(
            ["UPDATE part SET data = ?, time_updated = ? WHERE id = ?"], (json.dumps(data), self.tick(), name)
        )


def opencode_tool(output: str | None) -> dict[str, object]:
    """Make a tool part, ended when there is an output."""
    state: dict[str, object] = {"status": "running", "input": {"command": "df"}, "time": {"start": BEGAN_MS}}
    if output is not None:
        state |= {"status": "completed", "output": output, "time": {"start": BEGAN_MS, "end": BEGAN_MS + 5}}
    return {"type": "tool", "callID": "c1", "tool": "bash", "state": state}


def fill_opencode(root: Path) -> OpencodeStore:
    """Write a database with one session."""
    store = OpencodeStore(root / "opencode.db")
    store.session("ses_1")
    store.message("ses_1", "msg_1", {"role": "user"}, {"prt_1": text("please check the disk")})
    store.message(
        "ses_1",
        "msg_2",
        {"role": "assistant", "parentID": "msg_1"},
        {
            "prt_2": {"type": "step-start"},
            "prt_3": {"type": "reasoning", "text": "perhaps df", "time": {"start": BEGAN_MS}},
            "prt_4": opencode_tool("ninety percent"),
            "prt_5": text("The volume is nearly full."),
        },
    )
    return store


def write_json(path: Path, value: object) -> None:
    """Write a value as a file of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def fill_opencode_files(root: Path, session: str = "ses_1") -> None:
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


# One world for each adapter


@dataclass(frozen=True, slots=True)
class World:
    """How a test fills an adapter's root, and how the session in it goes on."""

    provider: str
    fill: Callable[[Path], None]
    grow: Callable[[Path], None]
    source_id: str


def _write(path: Path, records: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(records))


def _append(path: Path, records: Iterable[object]) -> None:
    with path.open("ab") as stream:
        stream.write(lines(records))


def _grow_opencode(root: Path) -> None:
    store = object.__new__(OpencodeStore)
    store.path, store.clock_ms = root / "opencode.db", BEGAN_MS + 600_000
    store.message("ses_1", "msg_3", {"role": "user"}, {"prt_6": text("then free some space")})
    store.message("ses_1", "msg_4", {"role": "assistant"}, {"prt_7": text("Done.")})


def _claude_file(root: Path) -> Path:
    return root / "-srv-depot" / f"{SESSION}.jsonl"


def _codex_file(root: Path) -> Path:
    return root / "2026/01/05" / f"rollout-2026-01-05T09-00-00-{CODEX_SESSION}.jsonl"


WORLDS = [
    World("claude-code", lambda root: _write(_claude_file(root), CLAUDE_RECORDS),
          lambda root: _append(_claude_file(root), CLAUDE_MORE), SESSION),
    World("codex", lambda root: _write(_codex_file(root), CODEX_RECORDS),
          lambda root: _append(_codex_file(root), CODEX_MORE), CODEX_SESSION),
    World("opencode", lambda root: fill_opencode(root) and None, _grow_opencode, "ses_1"),
    World("generic", lambda root: _write(root / "team/volume.jsonl", GENERIC_RECORDS),
          lambda root: _append(root / "team/volume.jsonl", GENERIC_MORE), "team/volume"),
]  # fmt: skip
