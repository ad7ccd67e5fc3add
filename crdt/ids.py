"""Derived identities: the same data has the same id on every machine.

Nothing here is minted.  An id is the SHA-256 of what it names, its parts joined by NUL, in lower-case hex
(shared archive format: conversation, event and record ids are 64 characters).
"""

from __future__ import annotations

import hashlib
from typing import NewType

ConversationId = NewType("ConversationId", str)
EventId = NewType("EventId", str)
RecordId = NewType("RecordId", str)
FragmentHash = NewType("FragmentHash", str)
SegmentHash = NewType("SegmentHash", str)


def joined_sha256(*parts: str) -> str:
    """Hash the parts joined by NUL; parts may hold any text, lone surrogates included."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def conversation_id(source: str, source_id: str) -> ConversationId:
    """Name a provider's session."""
    return ConversationId(joined_sha256(source, source_id))


def event_id(conversation: str, raw_id: str) -> EventId:
    """Name an event of a conversation by the provider's own id for it."""
    return EventId(joined_sha256(conversation, raw_id))


def record_id(conversation: str, event: str) -> RecordId:
    """Name the index record of an event, a note chunk or a memory."""
    return RecordId(joined_sha256(conversation, event))


def content_sha256(role: str, text: str, authored_at: str | None) -> str:
    """Hash what a record says, whatever path it came by; the digest covers this."""
    return joined_sha256(role, text, authored_at or "")
