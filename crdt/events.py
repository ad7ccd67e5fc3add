"""What the canonical archive is made of: events, fragments of conversations, whole conversations.

Structs instead of dataclasses: hundreds of thousands of them are encoded and decoded in a capture, and
msgspec does that several times faster without changing what the types say.  Field names are camelCase in
JSON, absent optionals are omitted.

Invariant: texts in these types are redacted.  Only `archivist` makes them from foreign text.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

ARCHIVE_KIND = "rocket-agents-conversation-export"
"""Value of `kind` in the first line of a single-file archive, a constant that older tools read."""
ARCHIVE_SCHEMA = 2


class Kind(StrEnum):
    """What sort of thing an event is; only messages are anybody's words."""

    MESSAGE = "message"
    REASONING = "reasoning"
    SUMMARY = "summary"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    METADATA = "metadata"


class Role(StrEnum):
    """Whose an event is."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    DEVELOPER = "developer"
    TOOL = "tool"
    UNKNOWN = "unknown"


class Origin(StrEnum):
    """How a fragment came to this archive."""

    CAPTURE = "capture"
    INGEST = "ingest"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that was said, thought, called or returned.

    `id` is absent only where an ingested archive had none.  `seq` is the order in the source file.
    `timestamp` is the source's own text, ISO 8601.  `parent` is the id of the event it answers.
    """

    id: str | None = None
    kind: str
    role: str
    text: str
    seq: int
    timestamp: str | None = None
    parent: str | None = None


class Fragment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One captured increment of one conversation, the unit that is hashed, sealed and merged.

    `redactions` counts replacements per event id, `declared_redactions` what an ingested archive said
    of itself.  `title` is a title of the provider's own; without one it follows from the first prompt.
    """

    version: int = 1
    conversation_id: str
    source: str
    source_id: str
    origin: Origin
    hosts: tuple[str, ...] = ()
    relative_path: str
    title: str | None = None
    workspace: str | None = None
    parent_id: str | None = None
    automation: bool = False
    started_at: str | None = None
    updated_at: str | None = None
    redactor_version: int
    redactions: dict[str, int] = {}
    declared_redactions: int = 0
    events: list[Event]


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where a conversation comes from and what was taken out of it."""

    content_sha256: str
    relative_path: str
    redactions: int | None = None
    redactor_version: int | None = None


class Conversation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole conversation as the single-file archive holds it."""

    schema_version: int
    id: str
    source: str
    source_id: str
    title: str
    workspace: str | None = None
    started_at: str | None = None
    updated_at: str | None = None
    hosts: tuple[str, ...] = ()
    parent_id: str | None = None
    automation: bool = False
    provenance: Provenance
    events: list[Event]
