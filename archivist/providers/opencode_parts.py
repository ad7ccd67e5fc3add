"""The parts of opencode's messages, made events; wherever they were stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from archivist.providers.base import JsonValue
from archivist.providers.parts import call_text, plain_name, strings
from archivist.providers.timestamps import normalised_timestamp
from archivist.providers.track import Record, Track
from crdt.events import Kind, Role

JsonObject = dict[str, JsonValue]

PLACEHOLDER_TITLES: Final = ("New session - ", "Child session - ")
"""How a session is called before it has a title."""
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a session says of itself."""

    source_id: str
    directory: str | None = None
    parent: str | None = None
    title: str | None = None


@dataclass(slots=True, kw_only=True)
class Turn:
    """A message with its parts by id, in order; `faults` counts by name what of it could not be read."""

    about: About
    message_id: str
    data: JsonObject
    parts: list[tuple[str, JsonObject]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    size_bytes: int = 0


def about(source_id: str, *, directory: object, parent: object, title: object) -> About:
    """Describe a session from whatever its store holds."""
    named = title if isinstance(title, str) and not title.startswith(PLACEHOLDER_TITLES) else None
    return About(
        source_id=source_id,
        directory=directory if isinstance(directory, str) and directory else None,
        parent=parent if isinstance(parent, str) and parent else None,
        title=named or None,
    )


class Conversation:
    """Makes the events of one session's messages, in order."""

    def __init__(self, track: Track) -> None:
        """Write events through this track."""
        self.track = track
        self._first_ids: dict[str, str] = {}

    def take(self, turn: Turn) -> None:
        """Make the events of one message."""
        known = self.track.known(turn.about.source_id)
        known.directory, known.parent = turn.about.directory, turn.about.parent
        known.title = turn.about.title
        for fault in turn.faults:
            self.track.skip(fault)
        before = len(self.track.increment.events)
        for part_id, part in turn.parts:
            self._part(turn, part_id, part)
        if len(self.track.increment.events) > before:
            self._first_ids[turn.message_id] = self.track.increment.events[before].raw_id

    def _part(self, turn: Turn, part_id: str, part: JsonObject) -> None:
        kind = part.get("type")
        record = Record(
            source_id=turn.about.source_id,
            raw_id=part_id,
            timestamp=self._timestamp(_inner(part, "time").get("start"), _inner(turn.data, "time")),
            parent_raw_id=self._first_ids.get(next(strings(turn.data, "parentID"), "")),
        )
        if kind in ("text", "reasoning"):
            self._text(record, turn, part)
        elif kind == "tool":
            self._tool(record, part)
        elif kind == "file":
            self.track.emit(record, Kind.METADATA, Role.SYSTEM, _file_text(part))
        elif kind == "subtask":
            self.track.emit(record, Kind.METADATA, Role.SYSTEM, "\n".join(strings(part, "prompt")))
        else:
            self.track.skip(f"part {plain_name(kind if isinstance(kind, str) else None, 'without a type')}")

    def _timestamp(self, own: JsonValue, message_time: JsonObject) -> str | None:
        """Take the part's own instant, else that of its message."""
        given = own if own is not None else message_time.get("created")
        made = normalised_timestamp(given)
        if made is None and given is not None:
            self.track.skip("timestamp that can't be read")
        return made

    def _text(self, record: Record, turn: Turn, part: JsonObject) -> None:
        text = next(strings(part, "text"), "")
        if not text or text.isspace():
            self.track.skip("empty text")
            return
        role = _ROLES.get(next(strings(turn.data, "role"), ""), Role.UNKNOWN)
        if part.get("type") == "reasoning":
            self.track.emit(record, Kind.REASONING, Role.ASSISTANT, text)
        elif part.get("synthetic") or part.get("ignored"):
            self.track.emit(record, Kind.METADATA, Role.SYSTEM, text)
        elif role is Role.UNKNOWN:
            self.track.emit(record, Kind.METADATA, role, text)
        elif role is Role.ASSISTANT and turn.data.get("summary") is True:
            self.track.emit(record, Kind.SUMMARY, Role.SYSTEM, text)
        else:
            self.track.emit(record, Kind.MESSAGE, role, text)

    def _tool(self, record: Record, part: JsonObject) -> None:
        state = _inner(part, "state")
        times = _inner(state, "time")
        record.timestamp = normalised_timestamp(times.get("start")) or record.timestamp
        name = next(strings(part, "tool"), "")
        self.track.emit(record, Kind.TOOL_CALL, Role.ASSISTANT, call_text(name, state.get("input")))
        if state.get("status") in ("completed", "error"):
            record.parent_raw_id = record.raw_id
            record.timestamp = normalised_timestamp(times.get("end")) or record.timestamp
            output = next(strings(state, "output", "error"), "")
            self.track.emit(record, Kind.TOOL_RESULT, Role.TOOL, output)


def _inner(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _file_text(part: JsonObject) -> str:
    """Name a file; its bytes, which stand in a `data:` address, are left out."""
    address = next(strings(part, "url"), "")
    name = next(strings(part, "filename"), "") or ("" if address.startswith("data:") else address)
    return f"[file] {name}".rstrip()
