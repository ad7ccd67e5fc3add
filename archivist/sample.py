"""Write a small invented home with transcripts, for people who want to look before they have any.

The files have the shapes that Claude Code and Codex write, record by record, so that they go through
capture as real ones do: answers streamed over several records of one message, tool calls and their results,
thinking, a subagent's file, a snapshot, a summary, reminders, and events that Codex writes twice.  One
made-up secret is in it.

Invariant: the same home gets the same bytes, whenever and wherever it is written.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from archivist.sample_texts import NOTES, SECRET, Said, Talk, talks

STORY_BEGINS = datetime(2026, 3, 23, 8, 30, tzinfo=UTC)
BETWEEN_RECORDS = timedelta(seconds=11)
CLAUDE_VERSION, CODEX_VERSION = "2.1.63", "0.169.0"

Record = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSearch:
    """A question for the sample, where to ask it, and what its answer shows."""

    query: str
    directory: Path
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSearches:
    """What was written.  `roots` is what capture reads, by provider; a subagent counts as a conversation."""

    roots: dict[str, list[str]]
    notes: Path
    conversations: int
    searches: tuple[SampleSearch, ...]


def planted_secret() -> str:
    """Make up the secret: it has the shape of an access token and was never one."""
    return "gh" + "p_" + hashlib.sha256(b"made up for the sample").hexdigest()[:36]


def write_sample(home: Path) -> SampleSearches:
    """Write transcripts and notes below a directory, which is made; files of an earlier run are replaced."""
    story = talks()
    for number, talk in enumerate(story):
        (home / talk.project / ".git").mkdir(parents=True, exist_ok=True)
        writer = _Writer(home, talk, number)
        if talk.agent == "claude":
            writer.write_claude()
        else:
            writer.write_codex()
    for name, text in NOTES.items():
        _write(home / name, text)
    return SampleSearches(
        roots={
            "claude-code": [str(home / ".claude" / "projects")],
            "codex": [str(home / ".codex" / "sessions")],
        },
        notes=home / "tidewatch" / "notes",
        conversations=len(story) + sum(bool(talk.aside) for talk in story),
        searches=_searches(home),
    )


def _searches(home: Path) -> tuple[SampleSearch, ...]:
    return (
        SampleSearch(
            query="idempotency key alarm",
            directory=home / "tidewatch",
            shows="a decision made with one agent, carried out with another, and doubted a week later",
        ),
        SampleSearch(
            query="cambio de horario mareas",
            directory=home / "tidewatch",
            shows="a conversation in Spanish, found by its own words",
        ),
        SampleSearch(
            query="deploy token push image",
            directory=home / "tidewatch",
            shows="a token that was pasted into a conversation: it was replaced before anything was stored",
        ),
    )


class _Writer:
    """The records of one conversation, in order, with ids and instants that follow from its number."""

    def __init__(self, home: Path, talk: Talk, number: int) -> None:
        self.home = home
        self.talk = talk
        self.number = number
        self.directory = home / talk.project
        self.begins = STORY_BEGINS + timedelta(minutes=talk.minute)
        self.session = self.identity("session")

    def identity(self, what: str) -> str:
        """Derive an id with the shape of a random one."""
        digest = hashlib.sha256(f"{self.number}/{what}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def instant(self, position: int) -> str:
        """Give the instant of a record as transcripts spell it."""
        moment = self.begins + position * BETWEEN_RECORDS
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def write_claude(self) -> None:
        """Write the session's file, and the subagent's beside it."""
        folder = self.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.directory))
        records = list(self.claude_records(self.talk.said, agent=None))
        snapshot: Record = {
            "type": "file-history-snapshot",
            "messageId": self.identity("snapshot"),
            "snapshot": {},
        }
        closing = [{"type": "summary", "summary": self.talk.summary, "leafUuid": records[-1]["uuid"]}]
        _write_lines(
            folder / f"{self.session}.jsonl", [snapshot, *records, *(closing if self.talk.summary else ())]
        )
        if self.talk.aside:
            agent = self.identity("agent")[:8]
            path = folder / self.session / "subagents" / f"agent-{agent}.jsonl"
            _write_lines(path, list(self.claude_records(self.talk.aside, agent=agent)))

    def claude_records(self, said: tuple[Said, ...], *, agent: str | None) -> Iterator[Record]:
        """Give one record for each part, chained by parent, as Claude Code streams them."""
        parent: str | None = None
        answer = 0
        contents = [content for one in said for content in _claude_contents(one)]
        if agent is None:
            reminder = "<system-reminder>The list of things to do is empty.</system-reminder>"
            contents.insert(1, ("user", reminder))
        for position, (role, content) in enumerate(contents):
            answer += role == "user"
            name = self.identity(f"{agent}/{position}")
            message: Record = {"role": role, "content": self.with_secret(content)}
            if role == "assistant":
                message["id"] = f"msg_{self.identity(f'{agent}/answer {answer}')[:12]}"
                message["model"] = "claude-opus-4-6"
            yield {
                "parentUuid": parent,
                "isSidechain": agent is not None,
                **({"agentId": agent} if agent else {}),
                **({"isMeta": True} if isinstance(content, str) and content.startswith("<system-") else {}),
                "userType": "external",
                "cwd": str(self.directory),
                "sessionId": self.session,
                "version": CLAUDE_VERSION,
                "gitBranch": "main",
                "type": role,
                "message": message,
                "uuid": name,
                "timestamp": self.instant(position),
            }
            parent = name

    def write_codex(self) -> None:
        """Write the session's file, below its day."""
        folder = self.home / ".codex" / "sessions" / f"{self.begins:%Y/%m/%d}"
        head: Record = {"id": self.session, "timestamp": self.instant(0), "cwd": str(self.directory)}
        head |= {"originator": "codex_cli_rs", "cli_version": CODEX_VERSION, "git": {"branch": "main"}}
        payloads = [("session_meta", head)]
        for position, one in enumerate(self.talk.said):
            payloads += self.codex_payloads(one, f"call_{self.identity(str(position))[:12]}")
        records: list[Record] = [
            {"timestamp": self.instant(position), "type": kind, "payload": payload}
            for position, (kind, payload) in enumerate(payloads)
        ]
        _write_lines(folder / f"rollout-{self.begins:%Y-%m-%dT%H-%M-%S}-{self.session}.jsonl", records)

    def codex_payloads(self, one: Said, call: str) -> list[tuple[str, Record]]:
        """Give what Codex writes for one thing said; messages stand twice, as an item and as an event."""
        who, text, result = one.who, one.text, one.result
        if who == "thought":
            item: Record = {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
            return [("response_item", item)]
        if who == "tool":
            arguments = _json({"command": ["bash", "-lc", text]})
            asked: Record = {
                "type": "function_call",
                "name": "shell",
                "arguments": arguments,
                "call_id": call,
            }
            output: Record = {
                "type": "function_call_output",
                "call_id": call,
                "output": _json({"output": result}),
            }
            return [("response_item", asked), ("response_item", output)]
        role, part, event = ("user", "input_text", "user_message")
        if who == "agent":
            role, part, event = ("assistant", "output_text", "agent_message")
        message: Record = {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
        return [("response_item", message), ("event_msg", {"type": event, "message": text})]

    def with_secret(self, content: object) -> object:
        """Put the made-up secret where the story has it."""
        return content.replace(SECRET, planted_secret()) if isinstance(content, str) else content


def _claude_contents(one: Said) -> list[tuple[str, object]]:
    """Give role and content of the records that Claude Code writes for one thing said."""
    who, text, result = one.who, one.text, one.result
    if who == "person":
        return [("user", text)]
    if who == "thought":
        return [("assistant", [{"type": "thinking", "thinking": text, "signature": "made-up"}])]
    if who == "agent":
        return [("assistant", [{"type": "text", "text": text}])]
    call = f"toolu_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    asked = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}
    answered = {"type": "tool_result", "tool_use_id": call, "content": result}
    return [("assistant", [asked]), ("user", [answered])]


def _write_lines(path: Path, records: list[Record]) -> None:
    _write(path, "".join(_json(record) + "\n" for record in records))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
