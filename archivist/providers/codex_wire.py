"""The lines of a Codex rollout, as far as capture reads them.

Fields that are not named here are skipped while decoding, above all `encrypted_content`, which nobody can
read, and `replacement_history`, which repeats what stands above it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from archivist.jsonl import mended
from archivist.providers.base import JsonValue


class Part(msgspec.Struct, gc=False):
    """A part of a message or of reasoning."""

    type: str = ""
    text: str | None = None


class Item(msgspec.Struct, gc=False):
    """A payload of any type: an item of the conversation, the session's description, an event."""

    type: str = ""
    id: str | None = None
    role: str | None = None
    content: str | list[Part] | None = None
    summary: list[Part] | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: object = None
    input: object = None
    action: object = None
    output: object = None
    message: str | None = None
    cwd: str | None = None
    source: object = None
    originator: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None


class Line(Item, gc=False):
    """An envelope; a line of before the envelope is an item itself, and has no payload."""

    timestamp: str | int | float | None = None
    payload: Item | None = None


DECODER: Final = msgspec.json.Decoder(Line)


def mended_line(value: dict[str, JsonValue]) -> tuple[Line, int]:
    """Build a line from what has the expected types; count the parts of its message that are no objects."""
    line = mended(Line, value)
    payload = value.get("payload")
    if line.payload is None and isinstance(payload, dict):
        line.payload = mended(Item, payload)
        return line, _mend_content(line.payload, payload.get("content"))
    return line, _mend_content(line, value.get("content"))


def _mend_content(item: Item, content: JsonValue) -> int:
    if item.content is not None or not isinstance(content, list):
        return 0
    item.content = [mended(Part, part) for part in content if isinstance(part, dict)]
    return len(content) - len(item.content)
