"""The canonical store, `canonical/feeds.db`: the manifest log and the fragments that wait for a segment.

Ordinary rowid tables, WAL, synchronous=FULL, one writer.  A manifest is acknowledged after COMMIT.
Manifests are msgpack; waiting fragments are their canonical bytes.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from crdt import migrations
from crdt.clock import HybridClock
from crdt.errors import Damaged, Unavailable
from crdt.manifests import Logged, Manifest, Segment, Tail
from crdt.segments import Body
from crdt.sqlite import faults, open_reader, open_writer, transaction

_NAME = "canonical/feeds.db"
_INSERT_MANIFEST = "INSERT INTO manifests (hlc, body) VALUES (?, ?)"
_INSERT_TAIL = "INSERT INTO tails (sha256, hlc, body) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING"
_DELETE_TAIL = "DELETE FROM tails WHERE sha256 = ?"
_SELECT_SINCE = "SELECT seq, hlc, body FROM manifests WHERE seq > ? ORDER BY seq"
_SELECT_HEAD = "SELECT coalesce(max(seq), 0) FROM manifests"
_SELECT_LAST_HLC = "SELECT coalesce(max(hlc), 0) FROM manifests"
_SELECT_TAIL = "SELECT body FROM tails WHERE sha256 = ?"
_SELECT_TAILS = "SELECT sha256, hlc, length(body) FROM tails ORDER BY rowid"

_DECODER = msgspec.msgpack.Decoder(Manifest)
_ENCODER = msgspec.msgpack.Encoder()


class FeedStore:
    """`ManifestLog` over SQLite; made by `open_store`."""

    def __init__(self, connection: sqlite3.Connection, clock: HybridClock) -> None:
        self._connection = connection
        self._clock = clock

    def append(self, manifests: Sequence[Manifest], tails: Sequence[Body] = ()) -> list[Logged]:
        """Add manifests and waiting fragments in one durable transaction."""
        logged: list[Logged] = []
        with faults(_NAME), transaction(self._connection) as connection:
            for manifest in manifests:
                hlc = self._clock.tick()
                row = connection.execute(_INSERT_MANIFEST, (hlc, _ENCODER.encode(manifest)))
                logged.append(Logged(seq=int(row.lastrowid or 0), hlc=hlc, manifest=manifest))
                if isinstance(manifest, Segment):
                    connection.executemany(_DELETE_TAIL, ((sha256,) for sha256, _ in manifest.fragments))
            stamps, latest = _stamps(logged), logged[-1].hlc if logged else self._clock.tick()
            rows = [(bytes.fromhex(body.sha256), body.data) for body in tails]
            connection.executemany(
                _INSERT_TAIL, ((sha256, stamps.get(sha256, latest), data) for sha256, data in rows)
            )
        return logged

    def since(self, seq: int) -> Iterator[Logged]:
        """Walk the log after a place, one row at a time."""
        with faults(_NAME):
            for place, hlc, body in self._connection.execute(_SELECT_SINCE, (seq,)):
                try:
                    manifest = _DECODER.decode(body)
                except msgspec.MsgspecError as error:
                    raise Damaged(f"manifest {place} of {_NAME} can't be read ({error})") from error
                yield Logged(seq=place, hlc=hlc, manifest=manifest)

    def head(self) -> int:
        """Tell the place of the newest manifest."""
        with faults(_NAME):
            return int(self._connection.execute(_SELECT_HEAD).fetchone()[0])

    def tail_body(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment, checked against its hash."""
        with faults(_NAME):
            row = self._connection.execute(_SELECT_TAIL, (fragment,)).fetchone()
        if row is None:
            return None
        data: bytes = row[0]
        if hashlib.sha256(data).digest() != fragment:
            raise Damaged(f"fragment {fragment.hex()} has other bytes than its name says")
        return data

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, oldest first."""
        with faults(_NAME):
            return [(sha, hlc, size) for sha, hlc, size in self._connection.execute(_SELECT_TAILS)]

    def quick_check(self) -> list[str]:
        """Ask SQLite whether the file is whole; empty when it is."""
        with faults(_NAME):
            rows = [str(row[0]) for row in self._connection.execute("PRAGMA quick_check(20)")]
        return [] if rows == ["ok"] else rows

    def fold(self) -> None:
        """Fold the write-ahead log into the file and empty it; raises `Unavailable` while another reads it.

        Pages of the file are overwritten when their rows go, but the log beside it keeps what was written.
        """
        with faults(_NAME):
            (is_busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            raise Unavailable(f"{_NAME} is read by another process", hint="run the same command again")

    def close(self) -> None:
        """Close the connection; a writer's log is folded into the file."""
        self._connection.close()


def _stamps(logged: Sequence[Logged]) -> dict[bytes, int]:
    """Give each fragment of the Tails among some manifests the clock of its Tail."""
    return {
        sha256: item.hlc
        for item in logged
        if isinstance(item.manifest, Tail)
        for sha256 in item.manifest.fragments
    }


def open_store(path: Path, *, writable: bool) -> FeedStore:
    """Open the store; a writer creates and migrates it.

    A reader of none gets `FileNotFoundError`, also while a first writer is still making it.  Raises
    `Unavailable` for a store that a newer program made.
    """
    if not writable:
        return FeedStore(_open_reader(path), HybridClock())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = open_writer(path, durable=True)
    try:
        with faults(_NAME):
            migrations.migrate(connection)
            # What was sealed, and perhaps redacted then, may not stay readable in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            last = int(connection.execute(_SELECT_LAST_HLC).fetchone()[0])
    except BaseException:
        connection.close()
        raise
    return FeedStore(connection, HybridClock(last))


def _open_reader(path: Path) -> sqlite3.Connection:
    with faults(_NAME):
        connection = open_reader(path)
        try:
            is_made = migrations.version_of(connection) > 0
        except BaseException:
            connection.close()
            raise
    if not is_made:
        connection.close()
        raise FileNotFoundError(path)
    return connection
