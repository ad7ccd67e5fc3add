"""Claude Code: `<root>/<encoded cwd>/<session>.jsonl`, one record a line, and files of subagents beside them.

What becomes of a record:

- `user` and `assistant` hold parts.  Text is a message, `tool_use` a tool-call, `tool_result` a tool-result
  although it stands in a record of type user, thinking is reasoning.  Images are metadata.
- Text that the program wrote into a user record (`isMeta`, reminders, command wrappers, notices, what comes
  from another agent) is metadata, cut off from the person's words where both are in one part.
- `isCompactSummary` and `summary` are summaries; `system` and `attachment` are metadata, except a prompt
  that the person typed while the agent was busy: it is an attachment, and the person's message.
- A custom title is the session's title.  All other types are counted by name.

A session is what the record says, not the file's name: a resumed session goes on in other files.  A
subagent's records (`isSidechain`, or a file `agent-*.jsonl`) share their parent's session id and are made
conversations of their own, `<session>/agent-<id>`.  A forked record belongs where it came from.

Raw ids: the record's uuid for the first event that it gives, `uuid#1`, `uuid#2` … for the others, in order;
`<leaf uuid>#summary` for a summary record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from archivist.jsonl import Line as Bytes
from archivist.jsonl import mended, read_jsonl
from archivist.providers.base import Cursor, Increment, JsonValue, Provider, Source
from archivist.providers.claude_wire import DECODER, Attachment, Line, Part, mended_line
from archivist.providers.parts import IMAGE, call_text, canonical_text, plain_name
from archivist.providers.timestamps import normalised_timestamp
from archivist.providers.track import Known, Record, Track
from archivist.providers.walk import files_below, readable_name
from archivist.providers.wrappers import split_wrapped
from crdt.events import Kind, Role

AGENT_FILE: Final = "agent-"
SYNTHETIC_MODEL: Final = "<synthetic>"
"""Stands where the program itself speaks in the assistant's place, of an error or an interruption."""
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULTS: Final = frozenset({"tool_result", "mcp_tool_result", "web_search_tool_result"})
_BINARY: Final = frozenset({"image", "document", "pdf"})

Voice = tuple[Kind, Role]
_PERSON: Final[Voice] = (Kind.MESSAGE, Role.USER)
_ASSISTANT: Final[Voice] = (Kind.MESSAGE, Role.ASSISTANT)
_PROGRAM: Final[Voice] = (Kind.METADATA, Role.SYSTEM)
_SUMMARY: Final[Voice] = (Kind.SUMMARY, Role.SYSTEM)


class ClaudeCode:
    """The adapter of Claude Code."""

    name = "claude-code"

    def default_roots(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Name `projects` in each directory of CLAUDE_CONFIG_DIR, a comma list, else in the usual two."""
        chosen = [word.strip() for word in environ.get("CLAUDE_CONFIG_DIR", "").split(",")]
        named = [Path(word).expanduser() / "projects" for word in chosen if word]
        return named or [home / ".claude" / "projects", home / ".config" / "claude" / "projects"]

    def sources(self, root: Path) -> Iterator[Source]:
        """List the transcripts below a root."""
        return files_below(root, self.name)

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read what follows the cursor."""
        return read_jsonl(source, cursor, _Transcript)


PROVIDER: Final[Provider] = ClaudeCode()


class _Transcript:
    """One file's lines, made events."""

    def __init__(self, source: Source, state: Mapping[str, object]) -> None:
        path = source.path
        stem = readable_name(path.stem)
        self._track = Track(state, readable_name(path.name))
        self._agent_file = stem if stem.startswith(AGENT_FILE) else None
        self._file_session = readable_name(path.parents[1].name) if path.parent.name == "subagents" else stem

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
        """Count a line that is no record, and keep its text as metadata of the file's session."""
        self._track.skip(reason)
        self._track.keep(self._track.session or self._file_session, reason, text)

    def finish(self) -> dict[str, object]:
        """Complete the increment and return the state for its cursor."""
        return self._track.finish()

    def _take(self, line: Line) -> None:
        if line.session_id and self._track.session is None:
            self._track.session = line.session_id
        kind = line.type
        if kind in ("user", "assistant"):
            self._message(line)
        elif kind == "attachment":
            self._attachment(line)
        elif kind in ("system", "queue-operation"):
            self._note(line)
        elif kind == "summary" and line.summary:
            self._summary(line.summary, line.leaf_uuid)
        elif kind == "custom-title" and line.custom_title:
            self._place(line)[1].title = line.custom_title
        else:
            self._track.skip(plain_name(kind, "record without a type"))

    # Where a record belongs

    def _place(self, line: Line) -> tuple[str, Known]:
        """Find the conversation of a record, and learn of it what the record tells."""
        session = line.session_id or self._track.session or self._file_session
        origin = line.forked_from.session_id if line.forked_from is not None else None
        if origin and origin != session:
            forked = self._track.known(session)
            forked.parent = forked.parent or origin
            session = origin
        source_id = session
        if line.is_sidechain or self._agent_file is not None:
            agent = f"{AGENT_FILE}{line.agent_id}" if line.agent_id else self._agent_file
            source_id = f"{session}/{agent or 'sidechain'}"
        known = self._track.known(source_id)
        if source_id is not session:
            known.parent = session
        if known.directory is None and line.cwd:
            known.directory = line.cwd
        if known.automation is None and (line.entrypoint or line.prompt_source):
            known.automation = _automated(line)
        return source_id, known

    def _record(self, line: Line) -> Record:
        """Name a record; a forked one has the name that it has where it came from."""
        source_id, _ = self._place(line)
        timestamp = normalised_timestamp(line.timestamp)
        if timestamp is None and line.timestamp is not None:
            self._track.skip("timestamp that can't be read")
        raw_id, parent = line.uuid, line.parent_uuid
        fork = line.forked_from
        if fork is not None and fork.session_id and fork.message_uuid:
            # The parent is named as in the fork, which holds only where the fork kept the names.
            parent = parent if raw_id == fork.message_uuid else None
            raw_id = fork.message_uuid
        return Record(
            source_id=source_id,
            raw_id=raw_id or self._track.ordinals.raw_id(line.type, timestamp),
            timestamp=timestamp,
            parent_raw_id=parent,
        )

    # What becomes of it

    def _message(self, line: Line) -> None:
        content = line.message.content if line.message is not None else None
        if not content:
            self._track.skip(f"{line.type} without content")
            return
        record, voice = self._record(line), _voice(line)
        if isinstance(content, str):
            self._text(record, voice, content)
            return
        for part in content:
            self._part(record, voice, part)

    def _part(self, record: Record, voice: Voice, part: Part) -> None:
        kind = part.type
        if kind == "text":
            self._text(record, voice, part.text)
        elif kind in _CALLS:
            self._track.emit(record, Kind.TOOL_CALL, Role.ASSISTANT, call_text(part.name, part.input))
        elif kind in _RESULTS:
            self._track.emit(record, Kind.TOOL_RESULT, Role.TOOL, _result_text(part))
        elif kind == "thinking" and part.thinking:
            self._track.emit(record, Kind.REASONING, Role.ASSISTANT, part.thinking)
        elif kind == "redacted_thinking":
            self._track.emit(record, Kind.REASONING, Role.ASSISTANT, "[redacted thinking]")
        elif kind in _BINARY:
            self._track.emit(record, Kind.METADATA, voice[1], f"[{kind}]")
        else:
            self._track.skip(f"part {plain_name(kind, 'without a type')}")

    def _text(self, record: Record, voice: Voice, text: str | None) -> None:
        if not text or text.isspace():
            self._track.skip("empty text")
        elif voice is not _PERSON:
            self._track.emit(record, *voice, text)
        else:
            for persons, piece in split_wrapped(text):
                self._track.emit(record, *(_PERSON if persons else _PROGRAM), piece)

    def _note(self, line: Line) -> None:
        """Keep the text of a system record, or of a prompt that waits to be a record of its own."""
        text = _joined(line.content)
        if text:
            self._track.emit(self._record(line), *_PROGRAM, text)
        else:
            self._track.skip(f"{line.type} without text")

    def _summary(self, text: str, leaf_uuid: str | None) -> None:
        source_id = self._track.session or self._file_session
        self._track.known(source_id)
        raw_id = f"{leaf_uuid}#summary" if leaf_uuid else self._track.ordinals.raw_id("summary", None)
        record = Record(source_id=source_id, raw_id=raw_id, parent_raw_id=leaf_uuid)
        self._track.emit(record, *_SUMMARY, text)

    def _attachment(self, line: Line) -> None:
        found = line.attachment
        if not isinstance(found, dict):
            self._track.skip("attachment without content")
            return
        attachment = mended(Attachment, found)
        record, prompt = self._record(line), _joined(attachment.prompt)
        if attachment.type == "queued_command" and prompt:
            self._text(record, _PERSON if _typed(attachment) else _PROGRAM, prompt)
        else:
            self._track.emit(record, *_PROGRAM, _attached_text(attachment, found))


def _automated(line: Line) -> bool:
    """Tell whether a program started the session: the SDK, `claude -p`, or a workflow."""
    entrypoint = line.entrypoint or ""
    return entrypoint.startswith(("sdk", "print", "claude-code-github-action")) or line.prompt_source == "sdk"


def _voice(line: Line) -> Voice:
    """Tell whose the text parts of a message are."""
    if line.is_compact_summary:
        return _SUMMARY
    if line.is_meta:
        return _PROGRAM
    if line.type == "user":
        return _PERSON if line.origin is None or line.origin.kind in (None, "human") else _PROGRAM
    synthetic = line.message is not None and line.message.model == SYNTHETIC_MODEL
    return _PROGRAM if synthetic or line.is_api_error_message else _ASSISTANT


def _typed(attachment: Attachment) -> bool:
    """Tell whether a queued command is what the person typed while the agent was busy."""
    origin = attachment.origin.kind if attachment.origin is not None else None
    persons = attachment.command_mode in (None, "prompt") and origin in (None, "human")
    return persons and not attachment.is_meta


def _attached_text(attachment: Attachment, found: dict[str, object]) -> str:
    """Take plain content as it is, leave bytes out, and write anything else as JSON."""
    content = attachment.content
    if isinstance(content, str):
        return content
    if isinstance(content, dict) and content.get("type") in _BINARY:
        return f"[{content['type']}]"
    return canonical_text(found)


def _joined(content: str | list[Part] | None) -> str:
    """Join the text parts of a content by line feeds."""
    if isinstance(content, list):
        return "\n".join(part.text for part in content if part.type == "text" and part.text)
    return content or ""


def _result_text(part: Part) -> str:
    content = part.content
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return canonical_text(content)
    return "\n".join(_output_text(output) for output in content or ())


def _output_text(output: Part) -> str:
    if output.type == "text":
        return output.text or ""
    return IMAGE if output.type == "image" else f"[{plain_name(output.type, 'output')}]"
