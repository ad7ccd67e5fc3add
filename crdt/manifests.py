"""What the archive's log says: which segments exist, which fragments wait for one, what was replaced.

One manifest is one entry of a log: `manifest_log` writes it as a signed entry of a feed.  Numbers of kinds
are those of feed entries (DECISIONS.md 9).  A manifest too large for one entry is said in several, each of
which is true by itself.

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

NAMES_MAX = 4_000
"""Names of 64 digits that one manifest holds: half of what fits into an entry."""

_DECODER = msgspec.msgpack.Decoder(Manifest)
_ENCODER = msgspec.msgpack.Encoder()
_KINDS: dict[type[Manifest], int] = {Segment: 4, Tail: 5, Supersede: 6, Tombstone: 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A manifest with its place in the log and its hybrid clock."""

    seq: int
    hlc: int
    manifest: Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Bytes of other nodes that have not come.  Fragments may be in a segment that is here, or wanted."""

    segments: frozenset[str] = frozenset()
    fragments: frozenset[bytes] = frozenset()


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

    def own_tails(self) -> list[tuple[bytes, int, int]]:
        """List those of the waiting fragments that this node has to seal."""
        ...

    def wanted(self) -> Wanted:
        """Tell what manifests of other nodes name whose bytes have not come."""
        ...

    def lacking(self) -> set[int]:
        """Tell the places of the manifests that name bytes that have not come."""
        ...

    def take_fragment(self, body: Body) -> bool:
        """Keep the bytes of a wanted fragment, which were checked; tell whether it was one."""
        ...

    def take_segment(self, segment: str, fragments: Sequence[bytes]) -> None:
        """Want a segment no longer, whose file is durable, nor the fragments in it."""
        ...

    def forget_fragments(self, fragments: Sequence[bytes]) -> None:
        """Want fragments of other nodes no longer, and drop those that came: segments have or had them."""
        ...

    def fold(self) -> None:
        """Leave nothing readable of what was dropped; raises `Unavailable` while another reads it."""
        ...

    def close(self) -> None:
        """Give back what the log holds open."""
        ...


def kind_of(manifest: Manifest) -> int:
    """Tell the kind of entry that a manifest is."""
    return _KINDS[type(manifest)]


def encode(manifest: Manifest) -> bytes:
    """Write a manifest as the body of an entry."""
    return _ENCODER.encode(manifest)


def decode(kind: int, body: bytes | None) -> Manifest | None:
    """Read the body of an entry; None for one that was erased, or that says what nobody knows."""
    if body is None or kind not in _KINDS.values():
        return None
    try:
        manifest = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return manifest if _KINDS[type(manifest)] == kind else None


def split(manifest: Manifest) -> list[Manifest]:
    """Say a manifest in as many entries as it takes.  One segment's fragments always fit into one."""
    if isinstance(manifest, Tombstone):
        removed, revived = _chunks(manifest.removed), _chunks(manifest.revived)
        if len(removed) <= 1 and len(revived) <= 1:
            return [manifest]
        parts: list[Manifest] = [Tombstone(removed=names) for names in removed]
        return [*parts, *(Tombstone(revived=names) for names in revived)]
    if isinstance(manifest, Supersede) and len(manifest.replaced) + len(manifest.by) > NAMES_MAX:
        return _split_supersede(manifest)
    return [manifest]


def _split_supersede(manifest: Supersede) -> list[Manifest]:
    """Spread the new names; a name that is both old and new stays with itself, since it stays current."""
    replaced, by = _chunks(manifest.replaced), _chunks(manifest.by)
    new = set(manifest.by)
    parts: list[Manifest] = []
    for number in range(max(len(replaced), len(by))):
        old = replaced[number] if number < len(replaced) else []
        names = by[number] if number < len(by) else []
        kept = [name for name in old if name in new and name not in names]
        parts.append(Supersede(replaced=old, by=[*names, *kept], reason=manifest.reason))
    return parts


def _chunks(names: Sequence[str]) -> list[list[str]]:
    size = NAMES_MAX // 2
    return [list(names[at : at + size]) for at in range(0, len(names), size)]
