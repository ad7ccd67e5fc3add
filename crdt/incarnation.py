"""This node's own feeds: which incarnation is written, and the marker of a clean stop.

A node goes on with a feed only while it is certain to know its end.  The marker says so: it is written at a
clean close, names the file that the feeds are in and the end of each, and is consumed before the first
write, so that a crash, a restored backup and a copied directory have none that fits.  Then the next write
to each space begins a new incarnation, and what others hold of the old one stays true.

    {"file": [device, inode], "heads": {space in hex: [incarnation, seq, hash in hex]}}
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from crdt.clock import HybridClock, wall_ms
from crdt.entries import ZERO, Draft, Entry, EntryKind, FeedId, Position, seal
from crdt.feed_tables import FeedTables
from crdt.keys import Signer
from crdt.roster import Genesis, SpaceKind, encode
from crdt.sqlite import fsync_directory

MARKER_BYTES_MAX = 1 << 20
_INC_BITS = 64


class Authorship(msgspec.Struct, frozen=True, kw_only=True):
    """What an author brings along besides its key.

    `marker` is the file of the clean stop; without one every opening begins new incarnations.  `name` is
    the node's, for people.  `next_commitment` goes into every genesis (`roster.Genesis.next`).
    """

    marker: Path | None = None
    name: str = ""
    next_commitment: bytes | None = None
    now_ms: Callable[[], int] = wall_ms


def genesis_body(kind: SpaceKind, authorship: Authorship, made_ms: int) -> bytes:
    """Write what the first entry of one of a node's own two spaces says."""
    said = Genesis(
        label=kind, kind=kind, name=authorship.name, made_ms=made_ms, next=authorship.next_commitment
    )
    return encode(said)


class Marker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was true at a clean stop."""

    file: tuple[int, int]
    heads: dict[str, tuple[int, int, str]]


_DECODER = msgspec.json.Decoder(Marker)


class _End(msgspec.Struct, frozen=True):
    """The last entry that this node wrote in a space."""

    inc: int
    seq: int
    hash: bytes


class OwnFeeds:
    """Gives drafts their places in this node's feeds and seals them; used by the writer's thread alone.

    `last_hlc` is the highest clock among all stored entries.  Since clocks are read for entries that are
    stored in the same transaction and for nothing else, no other mark of it has to be kept.
    """

    def __init__(self, signer: Signer, authorship: Authorship, store: Path, last_hlc: int) -> None:
        self.signer = signer
        self.authorship = authorship
        self.clock = HybridClock(last_hlc, authorship.now_ms)
        self._store = store
        self._ends: dict[bytes, _End] | None = None

    @property
    def has_written(self) -> bool:
        """Tell whether the marker was consumed."""
        return self._ends is not None

    def renew(self) -> None:
        """Begin new incarnations from the next write on: somebody else holds entries that we don't know."""
        if self._ends is None:
            consume(self.authorship.marker)
        self._ends = {}

    def seal(self, tables: FeedTables, draft: Draft) -> Entry:
        """Make the next entry of this node in a space; it must be committed or the feed is not continued."""
        ends = self._open(tables)
        is_genesis = draft.kind == EntryKind.GENESIS
        end = None if is_genesis else self._known_end(tables, draft.space)
        if end is None:
            end = _End(secrets.randbits(_INC_BITS), 0, ZERO)
        position = Position(
            feed=FeedId(draft.space, self.signer.public_key, end.inc),
            seq=end.seq + 1,
            prev=end.hash,
            hlc=self.clock.tick(),
        )
        entry = seal(draft.kind, draft.body, position, self.signer)
        ends[entry.home] = _End(entry.inc, entry.seq, entry.hash)
        return entry

    def leave(self, tables: FeedTables) -> Marker | None:
        """Give the marker of a clean stop; None where nothing was written and the old one still holds."""
        if self._ends is None:
            return None
        heads = {}
        for space in self._ends:
            end = self._known_end(tables, space)
            if end is not None:
                heads[space.hex()] = (end.inc, end.seq, end.hash.hex())
        return Marker(file=_identity(self._store), heads=heads)

    def _open(self, tables: FeedTables) -> dict[bytes, _End]:
        """Consume the marker at the first write, and believe it only where it fits the rows."""
        if self._ends is None:
            marker = consume(self.authorship.marker)
            self._ends = {}
            if marker is not None and marker.file == _identity(self._store):
                self._ends = {
                    bytes.fromhex(space): _End(inc, seq, bytes.fromhex(sha256))
                    for space, (inc, seq, sha256) in marker.heads.items()
                }
                if any(self._known_end(tables, space) is None for space in self._ends):
                    self._ends = {}
        return self._ends

    def _known_end(self, tables: FeedTables, space: bytes) -> _End | None:
        """Give the end of the feed that is written, if the rows agree that it is the end."""
        end = (self._ends or {}).get(space)
        if end is None:
            return None
        row = tables.feed(FeedId(space, self.signer.public_key, end.inc))
        if row is None or row.head.is_forked or (row.head.seq, row.head.head) != (end.seq, end.hash):
            return None
        return end


def consume(path: Path | None) -> Marker | None:
    """Take the marker away, durably, and give what it said; None where there is none that can be read."""
    if path is None:
        return None
    try:
        data = path.read_bytes()[:MARKER_BYTES_MAX]
        path.unlink()
    except FileNotFoundError:
        return None
    fsync_directory(path.parent)
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def leave(path: Path, marker: Marker) -> None:
    """Write the marker, whole or not at all, and durably."""
    draft = path.with_name(f"{path.name}.new-{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(marker))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def _identity(path: Path) -> tuple[int, int]:
    """Name a file so that a copy of it is another."""
    found = path.stat()
    return found.st_dev, found.st_ino
