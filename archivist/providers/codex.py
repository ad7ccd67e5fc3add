"""Codex: `<root>/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, one envelope `{timestamp, type, payload}` a line.

What becomes of a line:

- `session_meta` describes the session; the first one counts, later ones came along with copied history.
- `response_item` is a message with parts, reasoning (its readable part; the encrypted one is never
  archived), a tool-call or a tool's output.
- What the program put in the user's place, such as the environment or project instructions, is metadata.
- `event_msg` repeats response items for the screen: counted, not kept.
- `compacted` is a summary.  All other types are counted by name.

Rollouts of before the envelope have a header line and then bare items; they are read alike.

Raw ids: an item's own id; for calls and outputs `<call id>/tool-call` and `<call id>/tool-result`; without
such an id, or with one too short to be told apart in a session, the id of an unnamed record.  Parts beyond
the first have `#1`, `#2` … at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from archivist.jsonl import Line as Bytes
from archivist.jsonl import read_jsonl
from archivist.providers.base import Cursor, Increment, JsonValue, Provider, Source
from archivist.providers.codex_wire import DECODER, Item, Line, mended_line
from archivist.providers.parts import IMAGE, call_text, canonical_text, plain_name
from archivist.providers.timestamps import normalised_timestamp
from archivist.providers.track import Record, Track
from archivist.providers.walk import files_below, readable_name
from crdt.events import Kind, Role

UNIQUE_ID_CHARS_MIN: Final = 16
"""Some model servers number their calls anew in each answer (`call_0`); real ids are longer than that."""
REPEATS: Final = "event_msg repeats"
_REPEATED: Final = frozenset(
    {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
     "agent_reasoning_section_break"}
)  # fmt: skip
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM,
                 "developer": Role.DEVELOPER}  # fmt: skip
_PROGRAMS_TEXT: Final = re.compile(
    r"\s*(?:</?(?:environment_context|user_instructions|permissions|collaboration_mode|skill|skills_instructions"
    r"|turn_aborted|user_shell_command|subagent_notification|model_switch|personality_spec|apps_instructions"
    r"|plugins_instructions|instructions|image)[\s>]|# AGENTS\.md instructions\b)",
    re.IGNORECASE,
)
_EDITOR_CONTEXT: Final = "# Context from my IDE setup:"
_EDITOR_REQUEST: Final = "## My request for Codex:"
_DIRECTORY: Final = re.compile(r"<cwd>([^<\n]{1,4096})</cwd>")
_SESSION_IN_NAME: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class Codex:
    """The adapter of Codex."""

    name = "codex"

    def default_roots(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Name the live and the archived sessions of CODEX_HOME, else of `~/.codex`."""
        chosen = environ.get("CODEX_HOME", "").strip()
        base = Path(chosen).expanduser() if chosen else home / ".codex"
        return [base / "sessions", base / "archived_sessions"]

    def sources(self, root: Path) -> Iterator[Source]:
        """List the rollouts below a root."""
        return files_below(root, self.name, _rollout_name)

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read what follows the cursor."""
        return read_jsonl(source, cursor, _Rollout)


PROVIDER: Final[Provider] = Codex()


def _rollout_name(name: str) -> bool:
    return name.startswith("rollout-") and name.endswith(".jsonl")


class _Rollout:
    """One file's lines, made events."""

    def __init__(self, source: Source, state: Mapping[str, object]) -> None:
        self._track = Track(state, readable_name(source.path.name))
        named = _SESSION_IN_NAME.search(source.path.stem)
        self._file_session = named[0] if named else readable_name(source.path.stem)

    def begin(self, increment: Increment) -> None:
        """Send what follows to this increment."""
        self._track.begin(increment)

    def take(self, line: Bytes, number: int) -> None:  # noqa: ARG002
        """Decode a line and make its events."""
        self._take(DECODER.decode(line))

    def take_object(self, value: dict[str, JsonValue], number: int) -> None:  # noqa: ARG002
        """Make events of those fields that can be read."""
        line, lost = mended_line(value)
        if lost:
            self._track.increment.skipped["part that is not an object"] += lost
        self._take(line)

    def keep(self, reason: str, text: str, number: int) -> None:  # noqa: ARG002
        """Count a line that is no record, and keep its text as metadata of the session."""
        self._track.skip(reason)
        self._track.keep(self._source_id(), reason, text)

    def finish(self) -> dict[str, object]:
        """Complete the increment and return the state for its cursor."""
        return self._track.finish()

    def _source_id(self) -> str:
        return self._track.session or self._file_session

    def _take(self, line: Line) -> None:
        payload, kind = line.payload, line.type
        if payload is None:
            self._bare(line)
        elif kind == "response_item":
            self._item(payload, line.timestamp)
        elif kind == "session_meta":
            self._session(payload)
        elif kind == "event_msg":
            repeated = payload.type in _REPEATED
            self._track.skip(
                REPEATS if repeated else f"event_msg {plain_name(payload.type, 'without a type')}"
            )
        elif kind == "compacted" and payload.message:
            self._track.emit(self._unnamed(kind, line.timestamp), Kind.SUMMARY, Role.SYSTEM, payload.message)
        else:
            if kind == "turn_context":
                self._learn_directory(payload.cwd)
            self._track.skip(plain_name(kind, "record without a type"))

    def _event(self, kind: str) -> None:
        self._track.skip(REPEATS if kind in _REPEATED else f"event_msg {plain_name(kind, 'without a type')}")

    def _bare(self, line: Line) -> None:
        """Read a line of before the envelope: the header, or an item that is not wrapped."""
        if line.type:
            self._item(line, line.timestamp)
        elif line.id and self._track.session is None:
            self._session(line)
        else:
            self._track.skip("record without a type")

    def _session(self, meta: Item) -> None:
        if self._track.session is not None or not meta.id:
            self._track.skip("session_meta of copied history")
            return
        self._track.session = meta.id
        known = self._track.known(meta.id)
        known.directory = meta.cwd or None
        known.parent = meta.forked_from_id or meta.parent_thread_id or _spawning_thread(meta.source)
        origin = meta.source if isinstance(meta.source, str) else ""
        known.automation = origin == "exec" or any(
            word in (meta.originator or "").lower() for word in ("exec", "sdk")
        )

    def _learn_directory(self, directory: str | None) -> None:
        known = self._track.known(self._source_id())
        known.directory = known.directory or directory or None

    # Names of records

    def _timestamp(self, value: str | float | None) -> str | None:
        made = normalised_timestamp(value)
        if made is None and value is not None:
            self._track.skip("timestamp that can't be read")
        return made

    def _unnamed(self, kind: str, timestamp: str | float | None) -> Record:
        return self._record(kind, None, self._timestamp(timestamp))

    def _record(self, kind: str, raw_id: str | None, timestamp: str | None) -> Record:
        source_id = self._source_id()
        self._track.known(source_id)
        return Record(
            source_id=source_id,
            raw_id=raw_id or self._track.ordinals.raw_id(kind, timestamp),
            timestamp=timestamp,
        )

    def _tool_record(self, item: Item, kind: Kind, timestamp: str | None) -> Record:
        """Name a call or an output; an output answers its call."""
        call = item.call_id or item.id
        if call is None or len(call) < UNIQUE_ID_CHARS_MIN:
            return self._record(kind, None, timestamp)
        record = self._record(kind, f"{call}/{kind}", timestamp)
        if kind is Kind.TOOL_RESULT:
            record.parent_raw_id = f"{call}/{Kind.TOOL_CALL}"
        return record

    # What becomes of items

    def _item(self, item: Item, when: str | float | None) -> None:
        kind = item.type
        if kind in ("message", "reasoning"):
            own = item.id if item.id and len(item.id) >= UNIQUE_ID_CHARS_MIN else None
            record = self._record(kind, own, self._timestamp(when))
            if kind == "message":
                self._message(record, item)
            else:
                self._reasoning(record, item)
        elif kind.endswith("_call"):
            record = self._tool_record(item, Kind.TOOL_CALL, self._timestamp(when))
            self._track.emit(record, Kind.TOOL_CALL, Role.ASSISTANT, _call_text(item))
        elif kind.endswith("_output"):
            record = self._tool_record(item, Kind.TOOL_RESULT, self._timestamp(when))
            self._track.emit(record, Kind.TOOL_RESULT, Role.TOOL, _output_text(item.output))
        else:
            self._track.skip(f"response_item {plain_name(kind, 'without a type')}")

    def _message(self, record: Record, item: Item) -> None:
        role = _ROLES.get(item.role or "", Role.UNKNOWN)
        content = item.content
        if not content:
            self._track.skip("message without content")
        elif isinstance(content, str):
            self._text(record, role, content)
        else:
            for part in content:
                if part.type in ("input_text", "output_text", "text"):
                    self._text(record, role, part.text)
                elif part.type == "input_image":
                    self._track.emit(record, Kind.METADATA, role, IMAGE)
                else:
                    self._track.skip(f"part {plain_name(part.type, 'without a type')}")

    def _text(self, record: Record, role: Role, text: str | None) -> None:
        if not text or text.isspace():
            self._track.skip("empty text")
        elif role is Role.UNKNOWN:
            self._track.emit(record, Kind.METADATA, role, text)
        elif role is Role.USER and _PROGRAMS_TEXT.match(text):
            found = _DIRECTORY.search(text)
            self._learn_directory(found[1] if found else None)
            self._track.emit(record, Kind.METADATA, Role.SYSTEM, text)
        elif role is Role.USER and text.startswith(_EDITOR_CONTEXT) and _EDITOR_REQUEST in text:
            context, _, request = text.partition(_EDITOR_REQUEST)
            self._track.emit(record, Kind.METADATA, Role.SYSTEM, context.strip())
            self._text(record, role, request.strip())
        else:
            self._track.emit(record, Kind.MESSAGE, role, text)

    def _reasoning(self, record: Record, item: Item) -> None:
        pieces = [part.text for part in item.summary or () if part.text]
        content = item.content
        if isinstance(content, str):
            pieces.append(content)
        else:
            pieces += [part.text for part in content or () if part.text]
        if pieces:
            self._track.emit(record, Kind.REASONING, Role.ASSISTANT, "\n".join(pieces))
        else:
            self._track.skip("reasoning without text")


def _spawning_thread(source: object) -> str | None:
    """Find the parent of a subagent's session: `{"subagent": {"thread_spawn": {"parent_thread_id": id}}}`."""
    level = source
    for _ in range(3):
        if not isinstance(level, dict):
            return None
        parent = level.get("parent_thread_id")
        if isinstance(parent, str) and parent:
            return parent
        level = next((inner for inner in level.values() if isinstance(inner, dict)), None)
    return None


def _call_text(item: Item) -> str:
    given = item.arguments if item.arguments is not None else item.input
    if given is None:
        given = item.action
    return call_text(item.name or item.type.removesuffix("_call"), _parsed(given))


def _parsed(given: object) -> object:
    """Read arguments that are JSON within JSON; other text stays text."""
    if isinstance(given, str) and given.startswith(("{", "[")):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _output_text(output: object) -> str:
    """Take what a tool printed out of its wrappings."""
    found = _parsed(output) if isinstance(output, str) and output.startswith('{"') else output
    if isinstance(found, dict):
        for name in ("output", "content"):
            inner = found.get(name)
            if isinstance(inner, str | list):
                return _output_text_of_parts(inner)
        found = output
    return _output_text_of_parts(found)


def _output_text_of_parts(found: object) -> str:
    if isinstance(found, str) or found is None:
        return found or ""
    if isinstance(found, list):
        return "\n".join(_output_part(part) for part in found)
    return canonical_text(found)


def _output_part(part: object) -> str:
    if not isinstance(part, dict):
        return canonical_text(part)
    text = part.get("text")
    if isinstance(text, str):
        return text
    return IMAGE if part.get("type") in ("input_image", "image") else canonical_text(part)
