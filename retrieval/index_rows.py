"""From served events to index rows: who is admitted, what each lane sees of it.  No I/O.

The words lane has two columns.  `own` is the record's text.  `near` holds the words of its date and the
two turns before it, cut to 200 characters each: previous turns only, so that appending a message changes
no older row (RETRIEVAL.md 2b: recall@10 0.787 against 0.813 with the following turns too).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crdt.events import Event
from crdt.ids import content_sha256
from crdt.union import Position, event_key, instant_key
from retrieval.admission import rejection

NEIGHBOUR_CHARS = 200
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record before it has a row: identity, revision, what it says, and its place.

    `headings` are a note's title and the headings above a piece of it, or what is known of a piece of memory;
    they take the neighbours' column.  `project` is the label of what has no workspace; `expires_ms` the
    instant from which it is in no answer.
    """

    record_id: bytes
    event_id: str
    role: str
    text: str
    authored_at: str | None
    content_sha256: bytes
    source_sha256: bytes
    event_index: int
    headings: str | None = None
    project: str | None = None
    expires_ms: int | None = None


@dataclass(slots=True)
class Tally:
    """What was admitted, by source, and rejected, by reason."""

    admitted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        self.admitted.update(other.admitted)
        self.rejected.update(other.rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Events in conversation order with their positions; `carried` is the time at the end of their file."""

    events: list[tuple[Position, Event]]
    carried: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """What a run of events gives: the admitted as records, of the others the ids that they would have."""

    records: list[Draft]
    silent: list[bytes]


def positioned(events: Iterable[Event], carried: str = "") -> Placed:
    """Put events of one file into conversation order; `carried` is the time at the end of what precedes.

    The union (`crdt.union.order`) places events of several fragments by the same rule.
    """
    in_file = sorted(events, key=_in_file)
    if not carried:
        carried = next((key for event in in_file if (key := instant_key(event.timestamp))), "")
    placed: list[tuple[Position, Event]] = []
    for event in in_file:
        timestamp = event.timestamp
        if timestamp is not None:
            carried = instant_key(timestamp) or carried
        placed.append(((carried, event.seq, event.id or ""), event))
    placed.sort(key=_position)
    return Placed(events=placed, carried=carried)


def _in_file(event: Event) -> tuple[int, str]:
    return event.seq, event_key(event)


def _position(entry: tuple[Position, Event]) -> Position:
    return entry[0]


def record_digest(conversation_id: str, event: Event) -> bytes:
    """Name the record of an event, whether or not it is admitted."""
    named = hashlib.sha256((conversation_id + "\0").encode())
    named.update(event_key(event).encode("utf-8", "surrogatepass"))
    return named.digest()


def silent_key(digest: bytes) -> int:
    """Shorten the id that a record would have to what the table of silent events keeps."""
    return int.from_bytes(digest[:8], "big", signed=True)


def drafts(
    conversation_id: str, served: Iterable[tuple[Event, str]], first_index: int, tally: Tally
) -> Drafts:
    """Admit events, given in order with the hash of the fragment that serves each."""
    made = Drafts(records=[], silent=[])
    prefix = hashlib.sha256((conversation_id + "\0").encode())
    for index, (event, source_sha256) in enumerate(served, first_index):
        named = prefix.copy()
        named.update(event_key(event).encode("utf-8", "surrogatepass"))
        reason = rejection(event)
        if reason is not None:
            tally.rejected[reason] += 1
            made.silent.append(named.digest())
            continue
        made.records.append(
            Draft(
                record_id=named.digest(),
                event_id=event.id or "",
                role=event.role,
                text=event.text,
                authored_at=event.timestamp,
                content_sha256=bytes.fromhex(content_sha256(event.role, event.text, event.timestamp)),
                source_sha256=bytes.fromhex(source_sha256),
                event_index=index,
            )
        )
    return made


def near_text(headings: str | None, authored_at: str | None, before: Sequence[str]) -> str:
    """Make the neighbours' column: headings, or words of the date and the turns before, the nearest first."""
    if headings is not None:
        return headings
    parts = [date_words(authored_at)] if authored_at else []
    parts += [text[:NEIGHBOUR_CHARS] for text in before]
    return "\n".join(parts)


def date_words(authored_at: str) -> str:
    """Spell a date the ways in which people ask for it; empty where there is none to read."""
    year, month, day = authored_at[:4], authored_at[5:7], authored_at[8:10]
    if not (year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12):
        return ""
    return f"{year}-{month}-{day} {_MONTHS[int(month) - 1]}"
