"""The records of a Claude Code transcript, as far as capture reads them.

Fields that are not named here are skipped while decoding, above all `toolUseResult`, which repeats the
output of a tool, and `usage`.  Names are the file's own in camelCase.
"""

from __future__ import annotations

from typing import Final

import msgspec

from archivist.jsonl import mended
from archivist.providers.base import JsonValue


class Part(msgspec.Struct, gc=False):
    """A part of a message, or of a tool's result.

    `content` is the output of a tool: plain text, parts, or an object where a server's tool failed.
    """

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: object = None
    content: str | list[Part] | dict[str, object] | None = None


class Message(msgspec.Struct, gc=False):
    """What was said; plain text stands for one text part."""

    content: str | list[Part] | None = None
    model: str | None = None


class Fork(msgspec.Struct, gc=False, rename="camel"):
    """Which record of which session a forked one repeats."""

    session_id: str | None = None
    message_uuid: str | None = None


class Source(msgspec.Struct, gc=False):
    """Who wrote a record of type user: `human`, or the program and other agents."""

    kind: str | None = None


class Attachment(msgspec.Struct, gc=False, rename="camel"):
    """What the program put beside the conversation; a queued command may be the person's prompt."""

    type: str = ""
    prompt: str | list[Part] | None = None
    content: object = None
    command_mode: str | None = None
    origin: Source | None = None
    is_meta: bool | None = None


class Line(msgspec.Struct, gc=False, rename="camel"):
    """One record of any type."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | int | float | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    entrypoint: str | None = None
    prompt_source: str | None = None
    forked_from: Fork | None = None
    origin: Source | None = None
    message: Message | None = None
    summary: str | None = None
    leaf_uuid: str | None = None
    content: str | list[Part] | None = None
    custom_title: str | None = None
    attachment: object = None


DECODER: Final = msgspec.json.Decoder(Line)


def mended_line(value: dict[str, JsonValue]) -> tuple[Line, int]:
    """Build a record from what has the expected types; count the parts of its message that are no objects."""
    line = mended(Line, value)
    message = value.get("message")
    if line.message is not None or not isinstance(message, dict):
        return line, 0
    line.message = mended(Message, message)
    content = message.get("content")
    if not isinstance(content, list):
        return line, 0
    parts = [mended(Part, part) for part in content if isinstance(part, dict)]
    line.message.content = parts
    return line, len(content) - len(parts)
