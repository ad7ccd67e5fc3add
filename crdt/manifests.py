"""What the archive's log says: which segments exist, which fragments wait for one, what was replaced.

One manifest is one entry of a log.  The log is local for now; its interface, `ManifestLog`, is what the
signed feed takes over.  Numbers of kinds are those of feed entries (DECISIONS.md 9).

    kind  manifest    said by                    when
    4     Segment     whoever seals fragments    after the segment file is durable
    5     Tail        capture, ingest            with the fragments' bytes, before their segment is sealed
    6     Supersede   redact, merging            after every replacing segment is durable
    7     Tombstone   a full ingest              conversations gone from the index, or back in it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from crdt.segments import Body


class Segment(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=4):
    """A sealed segment.  `fragments` are (hash, hybrid clock of the manifest that first carried it)."""

    sha256: str
    size_bytes: int
    stored_bytes: int
    fragments: list[tuple[bytes, int]]


class Tail(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=5):
    """Fragments whose bytes are rows of the log until their segment is sealed."""

    fragments: list[bytes]


class Supersede(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=6):
    """A newer generation: what `replaced` held is in `by`, apart from what a newer redactor took out."""

    replaced: list[str]
    by: list[str]
    reason: str


class Tombstone(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=7):
    """Conversations left out of the index and of plain exports, and others brought back."""

    removed: list[str] = []
    revived: list[str] = []


Manifest = Segment | Tail | Supersede | Tombstone


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A manifest with its place in the log and its hybrid clock."""

    seq: int
    hlc: int
    manifest: Manifest


class ManifestLog(Protocol):
    """An append-only log.  Append is durable when it returns, all of it or nothing."""

    def append(self, manifests: Sequence[Manifest], tails: Sequence[Body] = ()) -> list[Logged]:
        """Add manifests in order, with the bytes of the fragments that the Tails among them name.

        The bytes of fragments that a Segment names are dropped from the rows in the same transaction.
        """
        ...

    def since(self, seq: int) -> Iterator[Logged]:
        """Walk the log after a place."""
        ...

    def head(self) -> int:
        """Tell the place of the newest manifest, 0 when there is none."""
        ...

    def tail_body(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment, None where they are sealed by now."""
        ...

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments: (hash, hybrid clock, size in bytes), oldest first."""
        ...

    def fold(self) -> None:
        """Leave nothing readable of what was dropped; raises `Unavailable` while another reads it."""
        ...

    def close(self) -> None:
        """Give back what the log holds open."""
        ...
