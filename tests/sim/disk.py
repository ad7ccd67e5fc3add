"""What a machine has on its disk: all that a crash leaves and a backup copies.

Databases are bytes, opened in memory.  The marker of a clean stop is a real file, and so is the one whose
device and inode stand for those of `feeds.db`: a copied directory has another, a rolled back disk the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec

from crdt import incarnation, migrations
from crdt.projection_schema import _create_once


class DiskFault(StrEnum):
    """What has become of a transaction whose COMMIT reports an error."""

    LOST = "lost"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A copy of a disk as of one moment, while the machine runs (hot) or after its clean stop (cold)."""

    machine: str
    feeds: bytes
    projection: bytes
    marker: bytes | None
    identity: Path

    def incarnations(self) -> set[int]:
        """Give those that who starts from this very disk may take for its own."""
        if self.marker is None:
            return set()
        ends = msgspec.json.decode(self.marker, type=incarnation.Marker).heads.values()
        return {inc for inc, _, _ in ends}


class MemoryConnection(sqlite3.Connection):
    """Reading and writing share one connection to a database in memory, which no reader may close.

    `fault` is how the next COMMIT fails, without a loss of power.
    """

    fault: DiskFault | None = None

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Cursor:  # type: ignore[override]
        """Run a statement, or fail as a disk does."""
        if self.fault is None or statement != "COMMIT":
            return super().execute(statement, parameters)
        fault, self.fault = self.fault, None
        if fault is DiskFault.KEPT:
            super().execute(statement)
        raise sqlite3.OperationalError("disk I/O error")

    def close(self) -> None:
        """Leave it open: what is committed is still to be copied."""

    def committed(self) -> bytes:
        """Give the database without what no COMMIT has made durable."""
        if self.in_transaction:
            raise AssertionError("a transaction is open")
        return self.serialize()


class Disk:
    """The disk of one machine; closed databases lie here as bytes."""

    def __init__(self, folder: Path, machine: str) -> None:
        self._folder, self._machine = folder, machine
        self._files = 0
        self.marker = folder / f"{machine}.incarnation"
        self.identity = self._another_file()
        self.feeds = blank_feeds()
        self.projection = blank_projection()

    def image(self) -> Image:
        """Copy what lies here."""
        return Image(
            machine=self._machine,
            feeds=self.feeds,
            projection=self.projection,
            marker=self.marker.read_bytes() if self.marker.exists() else None,
            identity=self.identity,
        )

    def roll_back(self, image: Image) -> None:
        """Become the disk that an image was made of, as a virtual machine's snapshot does."""
        self.feeds, self.projection, self.identity = image.feeds, image.projection, image.identity
        self._put_marker(image.marker)

    def copy_in(self, image: Image) -> None:
        """Put copies of the image's files in the place of what is here."""
        self.roll_back(image)
        self.identity = self._another_file()

    def copy_canonical(self, image: Image) -> None:
        """Put back the copy of `canonical/` alone: the marker and the projection of now stay."""
        self.feeds = image.feeds
        self.identity = self._another_file()

    def _put_marker(self, marker: bytes | None) -> None:
        self.marker.unlink(missing_ok=True)
        if marker is not None:
            self.marker.write_bytes(marker)

    def _another_file(self) -> Path:
        self._files += 1
        path = self._folder / f"{self._machine}.feeds.{self._files}"
        path.touch()
        return path


def opened(data: bytes) -> MemoryConnection:
    """Open a database in memory as the store opens a file, but for what only a file has."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=MemoryConnection)
    connection.deserialize(data)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@cache
def blank_feeds() -> bytes:
    """Make the feeds of a node that has said nothing, by the real migrations."""
    return _made(migrations.migrate)


@cache
def blank_projection() -> bytes:
    """Make a projection of nothing."""
    return _made(_create_once)


def _made(make: Callable[[sqlite3.Connection], None]) -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        make(connection)
        return connection.serialize()
    finally:
        connection.close()
