"""The catalog: which fragments a conversation has, and where in the archive each of them lies.

It is a table of the index and as disposable; the archive itself keeps no list by conversation.
"""

from __future__ import annotations

import sqlite3

from crdt.archive import Archive, decode_fragment
from crdt.segments import Place
from crdt.sqlite import faults
from crdt.union import Stamped
from retrieval.index_schema import NAME

_FIND = "SELECT id FROM conversations WHERE conversation_id = ?"
_STREAMS = "SELECT path FROM streams WHERE conversation = ?"
_COUNT = "SELECT count(*) FROM fragments WHERE conversation = ?"
_PLACES = """
SELECT sha256, hlc, segment, frame_offset, frame_bytes, skip, size
FROM fragments WHERE conversation = ? ORDER BY hlc, sha256
"""


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

    def streams(self, conversation: int) -> set[str]:
        """List the source files that have fed a conversation, by its row."""
        with faults(NAME):
            return {path for (path,) in self._connection.execute(_STREAMS, (conversation,))}

    def count(self, conversation: int) -> int:
        """Count the fragments of a conversation, by its row."""
        with faults(NAME):
            return int(self._connection.execute(_COUNT, (conversation,)).fetchone()[0])

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
        fragment = decode_fragment(self._archive.read(sha256.hex(), place))
        return Stamped(fragment=fragment, sha256=sha256.hex(), hlc=hlc)
