"""The catalog: which fragments a conversation has, and where in the archive each of them lies.

It is a table of the index and as disposable; the archive itself keeps no list by conversation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from crdt.archive import Archive, decode_fragment
from crdt.errors import Damaged
from crdt.events import Event
from crdt.segments import Place
from crdt.sqlite import faults
from crdt.union import Stamped
from retrieval.index_rows import record_digest, silent_key
from retrieval.index_schema import NAME

_FIND = "SELECT id FROM conversations WHERE conversation_id = ?"
_PLACE = "SELECT conversation, hlc FROM fragments WHERE sha256 = ?"
_COUNT = "SELECT count(*) FROM fragments WHERE conversation = ?"
_HAS_RECORD = "SELECT 1 FROM records WHERE record_id = ?"
_HAS_SILENT = "SELECT 1 FROM silent WHERE key = ?"
_PLACES = """
SELECT sha256, hlc, segment, frame_offset, frame_bytes, skip, size
FROM fragments WHERE conversation = ? ORDER BY hlc, sha256
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A fragment's conversation, by row, and its hybrid clock."""

    conversation: int
    hlc: int


class Catalog:
    """Looks conversations up in an open index, and reads their fragments from the archive."""

    def __init__(self, connection: sqlite3.Connection, archive: Archive) -> None:
        self._connection = connection
        self._archive = archive

    def find(self, conversation_id: str) -> int | None:
        """Give the row of a conversation; None where the archive has none of that id."""
        with faults(NAME):
            row = self._connection.execute(_FIND, (bytes.fromhex(conversation_id),)).fetchone()
        return row[0] if row else None

    def place(self, sha256: str) -> Entry | None:
        """Find a fragment by its hash; None where the catalog has none."""
        with faults(NAME):
            row = self._connection.execute(_PLACE, (bytes.fromhex(sha256),)).fetchone()
        return Entry(conversation=row[0], hlc=row[1]) if row else None

    def count(self, conversation: int) -> int:
        """Count the fragments of a conversation, by its row."""
        with faults(NAME):
            return int(self._connection.execute(_COUNT, (conversation,)).fetchone()[0])

    def has_event(self, digest: bytes) -> bool:
        """Tell whether an event is indexed, by the id of its record, admitted or not.

        Of those that are not, 8 bytes are compared: once in many lives of the universe, a new one counts as
        known and is looked at more closely than need be.
        """
        with faults(NAME):
            if self._connection.execute(_HAS_RECORD, (digest,)).fetchone() is not None:
                return True
            return self._connection.execute(_HAS_SILENT, (silent_key(digest),)).fetchone() is not None

    def has_any(self, conversation_id: str, events: Iterable[Event]) -> bool:
        """Tell whether any of these events of a conversation is indexed."""
        return any(self.has_event(record_digest(conversation_id, event)) for event in events)

    def fragments(self, conversation: int) -> list[Stamped]:
        """Read all fragments of a conversation by its row, oldest first; raises `Damaged` for bad bytes."""
        with faults(NAME):
            rows = self._connection.execute(_PLACES, (conversation,)).fetchall()
        return [self._read(row) for row in rows]

    def _read(self, row: tuple[bytes, int, bytes | None, int, int, int, int]) -> Stamped:
        sha256, hlc, segment, offset, frame_bytes, skip, size = row
        place = None
        if segment is not None:
            place = Place(
                segment=segment.hex(), frame_offset=offset, frame_bytes=frame_bytes, skip=skip, size=size
            )
        fragment = decode_fragment(self._bytes(sha256.hex(), place))
        return Stamped(fragment=fragment, sha256=sha256.hex(), hlc=hlc)

    def _bytes(self, sha256: str, place: Place | None) -> bytes:
        """Read a fragment, also one that was moved in the archive since this index was written.

        Within its segment, too: a damaged one that came again from elsewhere may be laid out otherwise.
        """
        try:
            return self._archive.read(sha256, place)
        except Damaged:
            segment = self._segment_of(sha256)
            if segment is None:
                raise
            return next(
                body.data for body, _ in self._archive.segments.load(segment) if body.sha256 == sha256
            )

    def _segment_of(self, sha256: str) -> str | None:
        """Find a fragment in the archive's own list of what is where, which takes a walk through the log."""
        sought = bytes.fromhex(sha256)
        for segment, manifest in self._archive.current().items():
            if any(fragment == sought for fragment, _ in manifest.fragments):
                return segment
        return None
