"""Bring the catalog level with where the archive keeps its fragments now.

A fragment moves when those that wait are sealed, and when a newer generation takes the place of a segment,
whose file is erased at once.  An index that was not there at that moment, since its process was killed in
between, would look for the fragment where it lay before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from crdt.archive import Archive
from crdt.manifests import Segment
from crdt.segments import Place

_PLACES = "SELECT sha256, segment FROM fragments"
_MOVE = """
UPDATE fragments SET segment = ?, frame_offset = ?, frame_bytes = ?, skip = ?, size = ? WHERE sha256 = ?
"""
_FIND = "SELECT conversation FROM fragments WHERE sha256 = ?"
_DROP = "DELETE FROM fragments WHERE sha256 = ?"
_HEAR = "INSERT INTO heard (sha256, hlc) SELECT sha256, hlc FROM fragments WHERE sha256 = ?"


def relocate(connection: sqlite3.Connection, archive: Archive, current: Mapping[str, Segment]) -> set[int]:
    """Enter new places, and drop fragments that no generation holds any more.

    Those of a segment that has not come from another node stay where they lay: that file is kept until then.
    `current` are the segments that the log names by now.  Returns the rows of the conversations that lost a
    fragment, to be made anew.  Part of the caller's transaction.
    """
    stale = _stale(connection, archive, current)
    wanted = archive.log.wanted().segments
    for name, manifest in sorted(current.items(), key=lambda item: item[0] in wanted):
        held = stale & {sha256 for sha256, _ in manifest.fragments}
        stale -= held
        if held and name not in wanted:
            loaded = archive.segments.load(name)
            rows = [_row(bytes.fromhex(body.sha256), place) for body, place in loaded]
            connection.executemany(_MOVE, (row for row in rows if row[-1] in held))
    touched: set[int] = set()
    for sha256 in stale:
        touched |= {row[0] for row in connection.execute(_FIND, (sha256,))}
        # Its clock stays, for when it comes back with another segment.
        connection.execute(_HEAR, (sha256,))
        connection.execute(_DROP, (sha256,))
    return touched


def _stale(connection: sqlite3.Connection, archive: Archive, current: Mapping[str, Segment]) -> set[bytes]:
    waiting = {sha256 for sha256, _, _ in archive.log.tails()} - archive.gone_tails(current)
    named = {bytes.fromhex(name) for name in current}
    return {
        sha256
        for sha256, segment in connection.execute(_PLACES)
        if (sha256 not in waiting if segment is None else segment not in named)
    }


def _row(sha256: bytes, place: Place) -> tuple[object, ...]:
    return (
        bytes.fromhex(place.segment), place.frame_offset, place.frame_bytes, place.skip, place.size, sha256,
    )  # fmt: skip
