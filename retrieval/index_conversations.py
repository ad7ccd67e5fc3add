"""The rows of conversations: what the index keeps of each so that appending to it costs what is added.

Whether something may be appended is decided in `follow`; here is what that is decided by.  Tombstones are
kept beside the rows, since the fragments of a conversation may lie further on in the log than its
tombstone, where they were sealed or made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crdt.union import NOWHERE, Position
from retrieval.whole import Stream, Whole

_FIND = """
SELECT c.id, c.source_id, c.title, w.path, c.workspace, c.parent_id, c.automation, c.captured, c.last_key,
       c.last_id, c.next_index, c.tail1, c.tail2, c.removed_hlc, coalesce(b.hlc, 0)
FROM conversations c LEFT JOIN workspaces w ON w.id = c.workspace
LEFT JOIN buried b ON b.conversation_id = c.conversation_id WHERE c.conversation_id = ?
"""
_ADD = """
INSERT INTO conversations (conversation_id, population, source, source_id, title, automation, captured,
                           last_key, last_id, next_index, removed_hlc)
VALUES (?, 0, ?, ?, '', 0, 0, '', '', 0, 0)
"""
_UPDATE = """
UPDATE conversations SET title = ?, workspace = ?, parent_id = ?, automation = ?, captured = ?, last_key = ?,
    last_id = ?, next_index = ?, tail1 = ?, tail2 = ?, removed_hlc = ? WHERE id = ?
"""
_ADVANCE = """
UPDATE conversations SET last_key = ?, last_id = ?, next_index = ?, tail1 = ?, tail2 = ? WHERE id = ?
"""
_STREAM = "SELECT last_seq, carried FROM streams WHERE conversation = ? AND path = ?"
_SET_STREAM = """
INSERT INTO streams (conversation, path, last_seq, carried) VALUES (?, ?, ?, ?)
ON CONFLICT (conversation, path) DO UPDATE SET last_seq = excluded.last_seq, carried = excluded.carried
"""
_FORGET_STREAMS = "DELETE FROM streams WHERE conversation = ?"
_IDENTITY = "SELECT conversation_id FROM conversations WHERE id = ?"
_DELETE = "DELETE FROM conversations WHERE id = ?"
_BURY = """
INSERT INTO buried (conversation_id, hlc) VALUES (?, ?)
ON CONFLICT (conversation_id) DO UPDATE SET hlc = excluded.hlc WHERE abs(excluded.hlc) > abs(hlc)
"""
_REVIVE = """
INSERT INTO buried (conversation_id, hlc) VALUES (?, -?)
ON CONFLICT (conversation_id) DO UPDATE SET hlc = excluded.hlc WHERE abs(excluded.hlc) >= abs(hlc)
"""

Tails = tuple[int | None, int | None]
"""The rows of a conversation's last two records, the last one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A conversation as it stands in the index; `workspace_row` is the row of `workspace`.

    `buried_hlc` is the clock of its tombstone, negative where it was taken back, 0 for none; `removed_hlc`
    is the same where it holds and no fragment is newer, else 0.
    """

    id: int
    conversation_id: str
    source_id: str
    title: str
    workspace: str | None
    workspace_row: int | None
    parent_id: str | None
    automation: bool
    captured: bool
    last: Position
    next_index: int
    tails: Tails
    removed_hlc: int
    buried_hlc: int


class ConversationRows:
    """The tables `conversations`, `streams` and `buried`, within the writer's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, conversation_id: str) -> Known | None:
        """Find a conversation by its id."""
        row = self._connection.execute(_FIND, (bytes.fromhex(conversation_id),)).fetchone()
        if row is None:
            return None
        key, _, seq = row[8].rpartition("\0")
        return Known(
            id=row[0], conversation_id=conversation_id, source_id=row[1], title=row[2], workspace=row[3],
            workspace_row=row[4], parent_id=row[5], automation=bool(row[6]), captured=bool(row[7]),
            last=(key, int(seq), row[9]) if seq else NOWHERE, next_index=row[10], tails=(row[11], row[12]),
            removed_hlc=row[13], buried_hlc=row[14],
        )  # fmt: skip

    def identity(self, row: int) -> str:
        """Name a conversation by its row."""
        found: bytes = self._connection.execute(_IDENTITY, (row,)).fetchone()[0]
        return found.hex()

    def add(self, conversation_id: str, source: str, source_id: str) -> int:
        """Make the row of a new conversation."""
        given = (bytes.fromhex(conversation_id), source, source_id)
        return int(self._connection.execute(_ADD, given).lastrowid or 0)

    def update(self, known: Known, whole: Whole, workspace_row: int | None, tails: Sequence[int]) -> None:
        """Write what a conversation is as a whole; of `known` its row, its origin and its tombstone count."""
        last_key, last_id = _last(whole.last)
        self._connection.execute(
            _UPDATE,
            (
                whole.title, workspace_row, whole.parent_id, whole.automation, known.captured, last_key,
                last_id, len(whole.events), *_two(tails), known.removed_hlc, known.id,
            ),
        )  # fmt: skip
        self._connection.execute(_FORGET_STREAMS, (known.id,))
        self.set_streams(known.id, whole.streams)

    def advance(self, known: Known, last: Position, added: int, tails: Sequence[int]) -> None:
        """Note that so many events were added, and where the conversation ends now."""
        values = (*_last(last), known.next_index + added, *_two(tails), known.id)
        self._connection.execute(_ADVANCE, values)

    def stream(self, row: int, path: str) -> Stream | None:
        """Find how far a source file of a conversation is indexed."""
        found = self._connection.execute(_STREAM, (row, path)).fetchone()
        return Stream(last_seq=found[0], carried=found[1]) if found else None

    def set_streams(self, row: int, streams: Mapping[str, Stream]) -> None:
        """Note how far source files of a conversation are indexed."""
        self._connection.executemany(
            _SET_STREAM, ((row, path, stream.last_seq, stream.carried) for path, stream in streams.items())
        )

    def bury(self, conversation_ids: Iterable[str], hlc: int) -> None:
        """Note a tombstone; it counts for fragments that were captured before it, and unless a later one did.

        Later is by the clock: tombstones of several nodes come in any order.
        """
        self._connection.executemany(_BURY, ((bytes.fromhex(identity), hlc) for identity in conversation_ids))

    def revive(self, conversation_ids: Iterable[str], hlc: int) -> None:
        """Take tombstones back that are not later."""
        named = ((bytes.fromhex(identity), hlc) for identity in conversation_ids)
        self._connection.executemany(_REVIVE, named)

    def delete(self, row: int) -> None:
        """Take out a conversation that has no fragment any more."""
        self._connection.execute(_FORGET_STREAMS, (row,))
        self._connection.execute(_DELETE, (row,))


def _last(position: Position) -> tuple[str, str]:
    """Spell a position as it is stored: time and place in one text, then the id."""
    key, seq, identity = position
    return f"{key}\0{seq}", identity


def _two(tails: Sequence[int]) -> Tails:
    first, second = [*tails, None, None][:2]
    return first, second
