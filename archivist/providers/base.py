"""What every provider's adapter gives: sources, and their parts as raw events.

An adapter knows one agent's files and nothing else.  It works on message parts, never on records, and
never guesses: what it doesn't know is counted by name in `Increment.skipped`.  Texts are still as the
agent wrote them; capture redacts them before anything else happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from crdt.errors import Unavailable

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
"""Not for fields of structs: a decoder can't follow a name that names itself."""


class RawEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part of one record, before redaction.

    `source_id` is the conversation's id at the provider, `raw_id` the event's: the record's own id for its
    first part, `id#1`, `id#2` … for the others; without a record id `unnamed_raw_id`.  `seq` rises through
    the file, over increments too.  `timestamp` is UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`, absent where the record
    has none that can be read.  `parent_raw_id` is the raw id of the event it answers.
    """

    source_id: str
    raw_id: str
    kind: str
    role: str
    text: str
    seq: int
    timestamp: str | None = None
    parent_raw_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a provider says of one conversation.  `directory` is its first working directory, unfolded."""

    source_id: str
    directory: str | None = None
    parent_source_id: str | None = None
    automation: bool = False
    title: str | None = None


class Cursor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a source was read; stored between runs as JSON, so it holds no text of anybody's.

    `size_bytes`, `modified_ns` and `inode` tell an unchanged source at a glance; `head_sha256` (first
    4 KiB at most) and `tail_sha256` (last 1 KiB before `offset`) tell one that only grew from one that
    was rewritten.  `is_inside_line` says that `offset` lies in a record over the limit, whose beginning was
    given.  `state` is the adapter's own and small, of JSON values.
    """

    size_bytes: int = 0
    modified_ns: int = 0
    inode: int = 0
    offset: int = 0
    lines: int = 0
    is_inside_line: bool = False
    head_sha256: str = ""
    tail_sha256: str = ""
    state: dict[str, object] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One thing to read incrementally: a transcript file, or one session of a database."""

    provider: str
    path: Path
    relative_path: str
    size_bytes: int
    modified_ns: int
    inode: int
    """Together the fingerprint; a database's session puts its own revision there."""


@dataclass(slots=True, kw_only=True)
class Increment:
    """A bounded piece of a source, at most about 4 MiB of it, and the cursor that follows it.

    `rewritten` is set when the source was read from its start although a cursor was given, so that its
    events may be known already.  `sessions` describes every conversation that `events` names.
    """

    cursor: Cursor
    events: list[RawEvent] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    rewritten: bool = False


class SourceUnreadable(Unavailable):
    """Files or directories that can't be read, or a file that is none; `names` are relative to the root."""

    code = "source_unreadable"
    default_hint = "give your user read permission on them, then run `atrium capture`"

    def __init__(self, names: Sequence[str], *, because: str = "can't be read") -> None:
        """Name what could not be read, in the order found; the sentence names the first five."""
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        super().__init__(f"{shown} {because}")
        self.names = tuple(names)


class Provider(Protocol):
    """One agent's transcripts.  `read` called again with any earlier cursor gives the same events."""

    name: str

    def default_roots(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Name the directories where this agent keeps transcripts; they need not exist."""
        ...

    def sources(self, root: Path) -> Iterator[Source]:
        """List what there is to read below a root, by relative path.

        Symbolic links are not followed.  A directory that can't be listed raises the `OSError` through
        `SourceUnreadable`, after everything else was given.
        """
        ...

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read what follows the cursor; nothing is yielded when the source's fingerprint is the cursor's.

        A source that changed without a whole new record gives one increment without events, for its cursor.
        A source that vanished gives nothing, one that can't be opened raises `SourceUnreadable`.
        """
        ...
