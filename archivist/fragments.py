"""From a provider's raw events to redacted fragments in canonical bytes.

This is the one gate: everything that an agent left passes here, and its text is redacted before it is
hashed, stored, indexed or counted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from archivist.providers.base import Increment, RawEvent, Session, Source
from crdt.canonical import encode_canonical
from crdt.events import Event, Fragment, Origin
from crdt.ids import conversation_id
from crdt.segments import Body, fragment_sha256

EVENTS_MAX = 100_000
"""Events of one fragment (ARCHIVE.md 1)."""
_ENCODED = re.compile("[^A-Za-z0-9]")


class Redacts(Protocol):
    """Takes secrets out of text; `version` rises when its rules change."""

    version: int

    def redact(self, text: str) -> tuple[str, int]:
        """Give the text without secrets, and the number of replacements."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A fragment and its bytes."""

    fragment: Fragment
    body: Body


class FragmentMaker:
    """Makes fragments of one machine's transcripts."""

    def __init__(self, redactor: Redacts, host: str, home: Path, workspace_of: Callable[[str], str]) -> None:
        self._redactor = redactor
        self._host = host
        self._encoded_home = _ENCODED.sub("-", str(home))
        self._workspace_of = workspace_of
        self._workspaces: dict[str, str] = {}

    def make(self, source: Source, increment: Increment) -> list[Made]:
        """Make one fragment for each conversation of an increment (several for a very long one)."""
        by_session: dict[str, list[RawEvent]] = {}
        for event in increment.events:
            by_session.setdefault(event.source_id, []).append(event)
        return [
            self._fragment(
                source,
                increment.sessions.get(source_id) or Session(source_id=source_id),
                events[start : start + EVENTS_MAX],
            )
            for source_id, events in by_session.items()
            for start in range(0, len(events), EVENTS_MAX)
        ]

    def _fragment(self, source: Source, session: Session, events: Iterable[RawEvent]) -> Made:
        identity = conversation_id(source.provider, session.source_id)
        kept, redactions = self._events(identity, events)
        parent = session.parent_source_id
        fragment = Fragment(
            conversation_id=identity,
            source=source.provider,
            source_id=session.source_id,
            origin=Origin.CAPTURE,
            hosts=(self._host,),
            relative_path=self._without_home(source.relative_path),
            title=self._redactor.redact(session.title)[0] if session.title else None,
            workspace=self._workspace(session.directory),
            parent_id=conversation_id(source.provider, parent) if parent else None,
            automation=session.automation,
            redactor_version=self._redactor.version,
            redactions=redactions,
            events=kept,
        )
        return seal(fragment)

    def _events(self, identity: str, events: Iterable[RawEvent]) -> tuple[list[Event], dict[str, int]]:
        prefix = hashlib.sha256((identity + "\0").encode())
        redact = self._redactor.redact
        kept: list[Event] = []
        redactions: dict[str, int] = {}
        for event in events:
            text, count = redact(event.text)
            event_id = _qualified(prefix, event.raw_id)
            if count:
                redactions[event_id] = count
            parent = event.parent_raw_id
            kept.append(
                Event(
                    id=event_id,
                    kind=event.kind,
                    role=event.role,
                    text=text,
                    seq=event.seq,
                    timestamp=event.timestamp,
                    parent=_qualified(prefix, parent) if parent else None,
                )
            )
        return kept, redactions

    def _workspace(self, directory: str | None) -> str | None:
        if not directory:
            return None
        if directory not in self._workspaces:
            self._workspaces[directory] = self._redactor.redact(self._workspace_of(directory))[0]
        return self._workspaces[directory]

    def _without_home(self, relative_path: str) -> str:
        """Take the home directory out of a path, also as Claude Code writes it into folder names."""
        if len(self._encoded_home) > 1 and relative_path.startswith(self._encoded_home):
            relative_path = "[HOME]" + relative_path[len(self._encoded_home) :]
        return self._redactor.redact(relative_path)[0]


def seal(fragment: Fragment) -> Made:
    """Encode a fragment canonically and hash it."""
    data = encode_canonical(fragment)
    return Made(fragment=fragment, body=Body(sha256=fragment_sha256(data), data=data))


def _qualified(prefix: hashlib._Hash, raw_id: str) -> str:
    named = prefix.copy()
    named.update(raw_id.encode("utf-8", "surrogatepass"))
    return named.hexdigest()
