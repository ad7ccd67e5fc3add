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

from crdt.events import Event, Fragment
from crdt.ids import content_sha256
from crdt.union import Position, instant_key
from retrieval.admission import rejection

NEIGHBOUR_CHARS = 200
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record before it has a row: identity, revision, what it says, and its place.

    `headings` are a note's title and the headings above a piece of it; they take the neighbours' column.
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


@dataclass(slots=True)
class Tally:
    """What was admitted, by source, and rejected, by reason."""

    admitted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        self.admitted.update(other.admitted)
        self.rejected.update(other.rejected)


def positioned(fragment: Fragment) -> list[tuple[Position, Event]]:
    """Put the events of one fragment into conversation order."""
    carried = next((key for event in fragment.events if (key := instant_key(event.timestamp))), "")
    placed = []
    for event in fragment.events:
        timestamp = event.timestamp
        if timestamp is not None:
            carried = instant_key(timestamp) or carried
        placed.append(((carried, event.seq, event.id or ""), event))
    placed.sort(key=_position)
    return placed


def _position(entry: tuple[Position, Event]) -> Position:
    return entry[0]


def drafts(
    conversation_id: str, served: Iterable[tuple[Event, str]], first_index: int, tally: Tally
) -> list[Draft]:
    """Admit events, given in order with the hash of the fragment that serves each."""
    made: list[Draft] = []
    prefix = hashlib.sha256((conversation_id + "\0").encode())
    for index, (event, source_sha256) in enumerate(served, first_index):
        reason = rejection(event)
        if reason is not None:
            tally.rejected[reason] += 1
            continue
        identity = event.id or ""
        named = prefix.copy()
        named.update(identity.encode("utf-8", "surrogatepass"))
        made.append(
            Draft(
                record_id=named.digest(),
                event_id=identity,
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
