"""From the state of a record to what the index keeps of it.  No I/O.

A statement, a session record, a memory, a decision or a handoff is one conversation of one record.  Its ids
follow from the record's, so that every node and every rebuild gives the same ones.  What is known of it
beside its text (tags, headline, kind, words of its date) takes the neighbours' column of the words lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from crdt.clock import milliseconds_of
from crdt.ids import content_sha256, conversation_id, event_id, record_id
from crdt.operations import Value
from crdt.records import RecordState, state_sha256
from retrieval.index_rows import Draft, date_words

TITLE_CHARS_MAX = 100
"""Of a first line that stands for a title."""
EVENT = "1"
"""The raw id of the one event of a piece of memory (DECISIONS.md 18)."""


@dataclass(frozen=True, slots=True)
class Filing:
    """How records of a type are filed: source and role in the index, and how their text is put together."""

    source: str
    role: str
    text: Callable[[RecordState], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A piece of shared memory as the index keeps it: whose, where it belongs, and its one record."""

    conversation_id: str
    source: str
    source_id: str
    title: str
    author: str
    workspace: str | None
    draft: Draft


def memory_of(state: RecordState, author: str) -> Memory | None:
    """Make what the index keeps of a record; None for what is deleted, blank, or of a type that it has not.

    `author` is shown as it is given, `agent@node`.
    """
    filing = FILINGS.get(state.type)
    text = filing.text(state) if filing and not state.deleted else ""
    if filing is None or not text.strip():
        return None
    fields = state.fields
    identity = conversation_id(filing.source, state.id)
    workspace = _line(fields, "workspace")
    return Memory(
        conversation_id=identity,
        source=filing.source,
        source_id=state.id,
        title=_line(fields, "title") or _line(fields, "headline") or _first_line(text),
        author=author,
        workspace=workspace,
        draft=_draft(state, filing, identity, text),
    )


def _draft(state: RecordState, filing: Filing, identity: str, text: str) -> Draft:
    event = event_id(identity, EVENT)
    fields = state.fields
    # Whoever marked a memory as untrusted took it from a third party.
    role = "source" if fields.get("trust") == "untrusted" else filing.role
    at = _instant(state.updated_hlc if state.type == "memory" else state.created_hlc)
    expires_ms = fields.get("expires_at")
    project = None if _line(fields, "workspace") else _line(fields, "project")
    return Draft(
        record_id=bytes.fromhex(record_id(identity, event)),
        event_id=event,
        role=role,
        text=text,
        authored_at=at,
        content_sha256=bytes.fromhex(content_sha256(role, text, at)),
        source_sha256=state_sha256(state),
        event_index=0,
        headings=_about(state, at),
        project=project.lower() if project else None,
        expires_ms=expires_ms if isinstance(expires_ms, int) else None,
    )


def _about(state: RecordState, at: str) -> str:
    kind = _line(state.fields, "kind")
    parts = (
        _line(state.fields, "headline"),
        " ".join(sorted(state.tags)),
        None if kind == "memory" else kind,
        date_words(at),
    )
    return "\n".join(part for part in parts if part)


def _instant(hlc: int) -> str:
    moment = datetime.fromtimestamp(milliseconds_of(hlc) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:TITLE_CHARS_MAX].strip()


def _line(fields: dict[str, Value], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _own_text(state: RecordState) -> str:
    return state.text or ""


def _decision_text(state: RecordState) -> str:
    fields = state.fields
    parts = (
        _line(fields, "decision"),
        _line(fields, "rationale"),
        _listed("Alternatives", fields.get("alternatives")),
        state.text,
    )
    return "\n\n".join(part for part in parts if part)


def _handoff_text(state: RecordState) -> str:
    fields = state.fields
    parts = (
        state.text,
        _listed("In progress", fields.get("in_progress")),
        _listed("Next", fields.get("next_steps")),
    )
    return "\n\n".join(part for part in parts if part)


def _listed(heading: str, items: Value) -> str | None:
    if not isinstance(items, list) or not items:
        return None
    return "\n".join([f"{heading}:", *(f"- {item}" for item in items)])


FILINGS = {
    "memory": Filing("memory", "memory", _own_text),
    "statement": Filing("atrium", "synthesis", _own_text),
    "session-record": Filing("atrium", "synthesis", _own_text),
    "decision": Filing("decision", "memory", _decision_text),
    "handoff": Filing("handoff", "memory", _handoff_text),
}
"""The types that are indexed.  Tasks, messages and items of feeds are looked up, not searched."""
SOURCES = frozenset(filing.source for filing in FILINGS.values())
"""What no conversation of an archive may call its source, since memory has these names in the index."""
