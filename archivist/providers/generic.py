"""Any agent's conversations, written by whoever has them as lines of JSON below a directory of their choice.

Each line of a file `*.jsonl` is one event:

    {"id": "7", "role": "user", "text": "Why is the build red?", "timestamp": "2026-01-05T09:00:00Z",
     "kind": "message", "session": "build", "cwd": "/srv/app", "title": "The red build"}

`role` and `text` are needed.  `role` is user, assistant, system, developer or tool; `kind` is message (the
default), reasoning, summary, tool-call, tool-result or metadata; `timestamp` is ISO 8601 or milliseconds
since 1970.  `session` names the conversation; without it the conversation is the file, by its relative path
without the suffix.  `cwd` is the directory that it is about; the first one counts.

Raw ids: `id`, or that of an unnamed record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from archivist.jsonl import Line as Bytes
from archivist.jsonl import mended, read_jsonl
from archivist.providers.base import Cursor, Increment, JsonValue, Provider, Source
from archivist.providers.timestamps import normalised_timestamp
from archivist.providers.track import Record, Track
from archivist.providers.walk import files_below, readable_name
from crdt.events import Kind, Role

NAMED_LINES_MAX: Final = 20
"""Faulty lines of an increment that are counted by their number; the rest are counted together."""
_KINDS: Final = {kind.value: kind for kind in Kind}
_ROLES: Final = {role.value: role for role in Role}


class _Line(msgspec.Struct, gc=False):
    """One event as its writer says it."""

    id: str | int | None = None
    role: str | None = None
    text: str | None = None
    timestamp: str | int | float | None = None
    kind: str = Kind.MESSAGE.value
    session: str | None = None
    cwd: str | None = None
    title: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Line)


class Generic:
    """The adapter of the documented lines of JSON."""

    name = "generic"

    def default_roots(self, home: Path, environ: Mapping[str, str]) -> list[Path]:  # noqa: ARG002
        """Name none: only `--root` does."""
        return []

    def sources(self, root: Path) -> Iterator[Source]:
        """List the files below a root."""
        return files_below(root, self.name)

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read what follows the cursor."""
        return read_jsonl(source, cursor, _Lines)


PROVIDER: Final[Provider] = Generic()


class _Lines:
    """One file's lines, made events."""

    def __init__(self, source: Source, state: Mapping[str, object]) -> None:
        self._track = Track(state, readable_name(source.path.name))
        self._file_session = source.relative_path.removesuffix(".jsonl")
        self._named = 0

    def begin(self, increment: Increment) -> None:
        """Send what follows to this increment."""
        self._named = 0
        self._track.begin(increment)

    def take(self, line: Bytes, number: int) -> None:
        """Decode a line and make its event."""
        self._take(_DECODER.decode(line), number)

    def take_object(self, value: dict[str, JsonValue], number: int) -> None:
        """Make an event of those fields that can be read."""
        self._take(mended(_Line, value), number)

    def keep(self, reason: str, text: str, number: int) -> None:
        """Count a line that is no record, and keep its text as metadata of the file's conversation."""
        self._fault(reason, number)
        self._track.keep(self._track.session or self._file_session, reason, text)

    def finish(self) -> dict[str, object]:
        """Complete the increment and return the state for its cursor."""
        return self._track.finish()

    def _fault(self, fault: str, number: int) -> None:
        """Count a fault by its line, as long as few were named."""
        self._named += 1
        place = f"line {number}" if self._named <= NAMED_LINES_MAX else "further lines"
        self._track.skip(f"{place}: {fault}")

    def _take(self, line: _Line, number: int) -> None:
        kind, role = _KINDS.get(line.kind), _ROLES.get(line.role or "")
        if line.text is None:
            self._fault("no text", number)
            return
        if kind is None:
            self._fault("kind that is not known", number)
        if role is None:
            self._fault("role that is not known", number)
        timestamp = normalised_timestamp(line.timestamp)
        if timestamp is None and line.timestamp is not None:
            self._fault("timestamp that can't be read", number)
        source_id = line.session or self._file_session
        if self._track.session is None:
            self._track.session = source_id
        known = self._track.known(source_id)
        known.directory = known.directory or line.cwd
        known.title = line.title or known.title
        # Whose words a line is may not be guessed: without a known role or kind it is nobody's message.
        self._track.emit(
            Record(source_id=source_id, raw_id=self._raw_id(line, timestamp), timestamp=timestamp),
            kind if kind is not None and role is not None else Kind.METADATA,
            role or Role.UNKNOWN,
            line.text,
        )

    def _raw_id(self, line: _Line, timestamp: str | None) -> str:
        if line.id is not None and line.id != "":
            return str(line.id)
        return self._track.ordinals.raw_id(line.kind if line.kind in _KINDS else "line", timestamp)
