"""What the events of one source share over its increments: their order, their ordinals, their sessions.

Every adapter writes its events through a `Track`, which turns its state into the cursor's and back.  That
state is the whole of what a later run knows of an earlier one, so nothing in an event may depend on
anything else: then it doesn't matter where a growing file was cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from archivist.providers.base import Cursor, Increment, RawEvent, Session
from archivist.providers.identity import Ordinals
from crdt.events import Kind, Role

SESSIONS_MAX: Final = 64
"""Conversations of one file whose first directory is remembered; the longest known is forgotten first."""


@dataclass(slots=True, kw_only=True)
class Record:
    """One record while its parts become events; `parts` counts those that did."""

    source_id: str
    raw_id: str
    timestamp: str | None = None
    parent_raw_id: str | None = None
    parts: int = 0


@dataclass(slots=True)
class Known:
    """What is known of a conversation; an adapter fills what it learns first and never changes it."""

    directory: str | None = None
    parent: str | None = None
    automation: bool | None = None
    title: str | None = None


class Track:
    """The bookkeeping of one source; `increment` is where events go at present."""

    def __init__(self, state: Mapping[str, object], file_name: str) -> None:
        """Go on from the state of a cursor, empty at the start of a source."""
        self._file_name = file_name
        seq, session = state.get("seq"), state.get("session")
        self.seq = seq if isinstance(seq, int) else 0
        self.session = session if isinstance(session, str) else None
        """The first session that the file names."""
        self.ordinals = Ordinals(state)
        self.increment = Increment(cursor=Cursor())
        self._known = _sessions(state.get("sessions"))
        self._touched: dict[str, Known] = {}

    def begin(self, increment: Increment) -> None:
        """Send what follows to another increment."""
        self.increment = increment
        self._touched = {}

    def known(self, source_id: str) -> Known:
        """Return what is known of a conversation, to be filled; the increment will describe it."""
        found = self._touched.get(source_id)
        if found is None:
            found = self._known.get(source_id)
            if found is None:
                found = self._known[source_id] = Known()
                if len(self._known) > SESSIONS_MAX:
                    del self._known[next(iter(self._known))]
            self._touched[source_id] = found
        return found

    def emit(self, record: Record, kind: Kind, role: Role, text: str) -> None:
        """Make an event of the next part of a record."""
        parts = record.parts
        record.parts = parts + 1
        seq = self.seq
        self.seq = seq + 1
        self.increment.events.append(
            RawEvent(
                source_id=record.source_id,
                raw_id=f"{record.raw_id}#{parts}" if parts else record.raw_id,
                kind=kind.value,
                role=role.value,
                text=text,
                seq=seq,
                timestamp=record.timestamp,
                parent_raw_id=record.parent_raw_id,
            )
        )

    def keep(self, source_id: str, reason: str, text: str) -> None:
        """Keep the text of a line that is no record as metadata of a conversation.

        Its id names the file too: other files of the conversation may have such lines, and other ones.
        """
        self.known(source_id)
        raw_id = self.ordinals.raw_id(f"{self._file_name}: {reason}", None)
        record = Record(source_id=source_id, raw_id=raw_id)
        self.emit(record, Kind.METADATA, Role.UNKNOWN, text)

    def skip(self, label: str) -> None:
        """Count something that gave no event."""
        self.increment.skipped[label] += 1

    def finish(self) -> dict[str, object]:
        """Describe the increment's conversations in it, and return the state for its cursor."""
        for source_id, known in self._touched.items():
            self.increment.sessions[source_id] = Session(
                source_id=source_id,
                directory=known.directory,
                parent_source_id=known.parent,
                automation=bool(known.automation),
                title=known.title,
            )
            # A title is somebody's words, which no cursor may hold.
            known.title = None
        made: dict[str, object] = {"seq": self.seq, **self.ordinals.state()}
        if self.session is not None:
            made["session"] = self.session
        if self._known:
            made["sessions"] = {name: _as_json(known) for name, known in self._known.items()}
        return made


def _as_json(known: Known) -> dict[str, object]:
    made: dict[str, object] = {}
    if known.directory is not None:
        made["directory"] = known.directory
    if known.parent is not None:
        made["parent"] = known.parent
    if known.automation is not None:
        made["automation"] = known.automation
    return made


def _sessions(value: object) -> dict[str, Known]:
    made: dict[str, Known] = {}
    if not isinstance(value, dict):
        return made
    for name, found in value.items():
        if isinstance(found, dict):
            directory, parent = found.get("directory"), found.get("parent")
            automation = found.get("automation")
            made[name] = Known(
                directory if isinstance(directory, str) else None,
                parent if isinstance(parent, str) else None,
                automation if isinstance(automation, bool) else None,
            )
    return made
