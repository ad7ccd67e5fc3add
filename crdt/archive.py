"""The canonical conversation archive of one state directory: append, seal, supersede, read.

Fragments become durable in one of two ways.  A few of them are appended as rows of the log (`Tail`) and
sealed later; a full batch goes straight into a segment: file first, fsynced, then the manifest that names
it.  Either way `append` returns after the commit, and a crash leaves the state before or after, never
between.  Nothing here rewrites: a change costs what it adds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from crdt.errors import BlobAbsent, Damaged
from crdt.events import Fragment
from crdt.manifests import Logged, Manifest, ManifestLog, Segment, Supersede, Tail, Tombstone
from crdt.segments import (
    SEGMENT_BYTES_MAX,
    SEGMENT_FRAGMENTS_MAX,
    Body,
    Built,
    Place,
    SegmentDirectory,
    build,
)
from crdt.sqlite import faults

_DECODER = msgspec.json.Decoder(Fragment)

WantedKind = Literal["segment", "fragment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A durable fragment's hash, hybrid clock, and place: in a segment, or None while it waits in the log."""

    sha256: str
    hlc: int
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What an append made: the log's new place, and each new fragment's, in the order of the batch."""

    seq: int
    stored: tuple[Stored, ...]


def decode_fragment(data: bytes) -> Fragment:
    """Decode canonical bytes; raises `Damaged` for anything else."""
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError as error:
        raise Damaged(f"an archived fragment can't be read ({error})") from error


class Archive:
    """The archive over a manifest log and a folder of segments.  One writer at a time."""

    def __init__(self, log: ManifestLog, segments: SegmentDirectory) -> None:
        self.log = log
        self.segments = segments

    def append(self, bodies: Sequence[Body], *, seal: bool) -> Appended:
        """Make fragments durable: as a segment of their own when `seal`, else as rows that wait for one.

        A batch is at most one segment's worth (2,000 fragments; 16 MiB, or one larger fragment).
        """
        if not bodies:
            return Appended(seq=self.log.head(), stored=())
        with faults("canonical/segments"):
            return self._append_segment(bodies) if seal else self._append_tail(bodies)

    def stage(self, bodies: Sequence[Body], clocks: Mapping[str, int] | None = None) -> Segment:
        """Make a segment file durable without naming it; the sweep erases it otherwise.

        `commit` or `replace` names it.  `clocks` are of fragments that the archive had before, by hash.
        """
        with faults("canonical/segments"):
            built = build(bodies)
            self.segments.publish(built)
        return self._manifest(built, {**self._waiting_since(built), **(clocks or {})})

    def unstage(self, staged: Sequence[Segment]) -> None:
        """Erase staged segment files that the log does not name, so that what failed takes no space."""
        named = self.current()
        for segment in staged:
            if segment.sha256 not in named:
                self.segments.remove(segment.sha256)

    def commit(
        self, staged: Sequence[Segment], waiting: Sequence[Body] = (), tombstone: Tombstone | None = None
    ) -> list[Logged]:
        """Log staged segments, fragments that wait for one, and a tombstone as one transaction."""
        manifests: list[Manifest] = [*staged]
        if waiting:
            manifests.append(Tail(fragments=[bytes.fromhex(body.sha256) for body in waiting]))
        if tombstone is not None and (tombstone.removed or tombstone.revived):
            manifests.append(tombstone)
        return self.log.append(manifests, waiting) if manifests else []

    def _append_tail(self, bodies: Sequence[Body]) -> Appended:
        tail = Tail(fragments=[bytes.fromhex(body.sha256) for body in bodies])
        (logged,) = self.log.append([tail], bodies)
        stored = tuple(Stored(sha256=body.sha256, hlc=logged.hlc, place=None) for body in bodies)
        return Appended(seq=logged.seq, stored=stored)

    def _append_segment(self, bodies: Sequence[Body]) -> Appended:
        built = build(bodies)
        self.segments.publish(built)
        hlcs = self._waiting_since(built)
        (logged,) = self.log.append([self._manifest(built, hlcs)])
        return Appended(seq=logged.seq, stored=_stored(built, hlcs, logged.hlc))

    def _waiting_since(self, built: Built) -> dict[str, int]:
        """Give the clocks of those fragments of a segment that wait in the log: the first one counts."""
        waiting = {sha256.hex(): hlc for sha256, hlc, _ in self.log.tails()}
        return {sha256: waiting[sha256] for sha256 in built.fragment_sha256s if sha256 in waiting}

    def _manifest(self, built: Built, hlcs: dict[str, int]) -> Segment:
        """Describe a segment; 0 stands for the clock of the manifest itself."""
        return Segment(
            sha256=built.sha256,
            size_bytes=built.size_bytes,
            stored_bytes=sum(len(frame) for frame in built.frames),
            fragments=[(bytes.fromhex(sha), hlcs.get(sha, 0)) for sha in built.fragment_sha256s],
        )

    def seal(self) -> int:
        """Seal all waiting fragments into segments and return how many there were; each keeps its clock."""
        sealed = 0
        while waiting := self.log.own_tails():
            hlcs: dict[str, int] = {}
            bodies: list[Body] = []
            size = 0
            for sha256, hlc, size_bytes in waiting[:SEGMENT_FRAGMENTS_MAX]:
                if bodies and size + size_bytes > SEGMENT_BYTES_MAX:
                    break
                data = self.log.tail_body(sha256)
                if data is None:
                    raise Damaged(f"fragment {sha256.hex()} is listed and missing")
                hlcs[sha256.hex()] = hlc
                bodies.append(Body(sha256=sha256.hex(), data=data))
                size += size_bytes
            with faults("canonical/segments"):
                built = build(bodies)
                self.segments.publish(built)
                self.log.append([self._manifest(built, hlcs)])
            sealed += len(bodies)
        return sealed

    def supersede(
        self, replaced: Sequence[str], generations: Sequence[tuple[Built, dict[str, int]]], reason: str
    ) -> None:
        """Put new segments in the place of old ones and erase the old files.

        `generations` are segments with the clocks of their fragments.  The manifests of the new segments
        and the one that supersedes are one transaction; files are erased after it, by name, so that a
        crash in between leaves only an unnamed file for the sweep.
        """
        with faults("canonical/segments"):
            for built, _ in generations:
                self.segments.publish(built)
        self.replace(replaced, [self._manifest(built, hlcs) for built, hlcs in generations], reason)

    def replace(self, replaced: Sequence[str], staged: Sequence[Segment], reason: str) -> None:
        """Do what `supersede` does with segments that are staged, so that one is in memory at a time."""
        new = [segment.sha256 for segment in staged]
        with faults("canonical/segments"):
            self.log.append([*staged, Supersede(replaced=list(replaced), by=new, reason=reason)])
            for sha256 in set(replaced) - set(new):
                self.segments.remove(sha256)

    def load(self, logged: Logged) -> Iterator[tuple[Stored, bytes]]:
        """Give the fragments that a Segment or a Tail brought, with their bytes.

        Waiting fragments that were sealed since are left to their segment's manifest, and those of another
        node that have not come are left out.  Raises `BlobAbsent` for a segment that has not come.
        """
        manifest = logged.manifest
        if isinstance(manifest, Tail):
            for sha256 in manifest.fragments:
                if (data := self.log.tail_body(sha256)) is not None:
                    yield Stored(sha256=sha256.hex(), hlc=logged.hlc, place=None), data
        elif isinstance(manifest, Segment):
            if not self.segments.has(manifest.sha256) and logged.seq in self.log.lacking():
                raise BlobAbsent(f"segment {manifest.sha256} has not come yet")
            hlcs = {sha256.hex(): hlc for sha256, hlc in clocks_of(logged).items()}
            loaded = self.segments.load(manifest.sha256)
            if hlcs.keys() != {body.sha256 for body, _ in loaded}:
                raise Damaged(f"segment {manifest.sha256} has other fragments than its manifest says")
            for body, place in loaded:
                yield Stored(sha256=body.sha256, hlc=hlcs[body.sha256], place=place), body.data

    def read(self, sha256: str, place: Place | None) -> bytes:
        """Read one fragment's bytes and check them against its hash."""
        data = self.segments.read(place) if place else self.log.tail_body(bytes.fromhex(sha256))
        if data is None:
            raise Damaged(f"fragment {sha256} is no longer in the log")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Damaged(f"fragment {sha256} has other bytes than its name says")
        return data

    def current(self) -> dict[str, Segment]:
        """Tell which segments the log names and no later manifest replaced, later by its clock.

        Manifests of several nodes come in any order.
        """
        named: dict[str, tuple[int, Segment]] = {}
        replaced: dict[str, int] = {}
        for logged in self.log.since(0):
            manifest = logged.manifest
            if isinstance(manifest, Segment):
                latest = max(named.get(manifest.sha256, (0, manifest)), (logged.hlc, manifest), key=_clock)
                named[manifest.sha256] = latest
            elif isinstance(manifest, Supersede):
                for sha256 in set(manifest.replaced) - set(manifest.by):
                    replaced[sha256] = max(replaced.get(sha256, 0), logged.hlc)
        return {name: segment for name, (hlc, segment) in named.items() if hlc > replaced.get(name, 0)}

    def wanted(self) -> dict[str, WantedKind]:
        """Name the blobs of other nodes that have not come, in hex, and tell what each is."""
        wanted = self.log.wanted()
        if not wanted.segments and not wanted.fragments:
            return {}
        segments = {name for name in wanted.segments & self.current().keys() if not self.segments.has(name)}
        fragments = wanted.fragments - self._sealed_among(wanted.fragments)
        return {
            **dict.fromkeys(sorted(segments), "segment"),
            **dict.fromkeys(sorted(sha256.hex() for sha256 in fragments), "fragment"),
        }

    def take_segment(self, sha256: str, data: bytes) -> bool:
        """Take in a segment in its stored form that is wanted, missing or damaged; False for any other.

        Raises `Damaged` for bytes that are not the segment which its manifest describes.
        """
        manifest = self.current().get(sha256)
        if manifest is None or (sha256 not in self.log.wanted().segments and self.segments.is_whole(sha256)):
            return False
        fragments = [fragment for fragment, _ in manifest.fragments]
        with faults("canonical/segments"):
            built = self.segments.take(sha256, data, manifest.size_bytes)
        if {bytes.fromhex(name) for name in built.fragment_sha256s} != set(fragments):
            raise Damaged(f"segment {sha256} has other fragments than its manifest says")
        self.log.take_segment(sha256, fragments)
        return True

    def take_tail(self, sha256: bytes, data: bytes) -> bool:
        """Take in the bytes of a wanted fragment; False where it is not wanted.

        Raises `Damaged` for bytes that are not the fragment.
        """
        if hashlib.sha256(data).digest() != sha256:
            raise Damaged(f"fragment {sha256.hex()} has other bytes than its name says")
        return self.log.take_fragment(Body(sha256=sha256.hex(), data=data))

    def gone_tails(self, current: Mapping[str, Segment]) -> set[bytes]:
        """Name fragments that wait, though another node's segment had them and its replacement has not.

        `current` are the segments that the log names now.
        """
        taken = frozenset(sha256 for sha256, _, _ in self.log.tails())
        taken -= {sha256 for sha256, _, _ in self.log.own_tails()}
        gone = self._sealed_among(taken)
        for segment in current.values() if gone else ():
            gone.difference_update(sha256 for sha256, _ in segment.fragments)
        return gone

    def sweep(self) -> int:
        """Remove stray temporary files, replaced segments, and old ones that nothing names; count them.

        A replaced segment may hold what had to go: it is not kept for a day, as others are.  One whose
        replacement has not come from another node yet stays.
        """
        current = self.current()
        replaced, kept = self._replaced()
        replaced -= current.keys() | kept
        if sealed := self._sealed_among(self.log.wanted().fragments) | self.gone_tails(current):
            self.log.forget_fragments(sorted(sealed))
        with faults("canonical/segments"):
            left = [name for name in self.segments.names() if name in replaced]
            for name in left:
                self.segments.remove(name)
            return len(left) + self.segments.sweep(set(current) | kept)

    def newest_generation(self, reason: str) -> int:
        """Tell the place of the newest manifest that replaced segments for such a reason, 0 for none."""
        newest = 0
        for logged in self.log.since(0):
            if isinstance(logged.manifest, Supersede) and logged.manifest.reason.startswith(reason):
                newest = logged.seq
        return newest

    def _replaced(self) -> tuple[set[str], set[str]]:
        """Name the segments that were replaced, and those of them whose replacement has not come."""
        replaced: set[str] = set()
        kept: set[str] = set()
        wanted = self.log.wanted().segments
        for logged in self.log.since(0):
            if isinstance(logged.manifest, Supersede):
                replaced.update(logged.manifest.replaced)
                if not wanted.isdisjoint(logged.manifest.by):
                    kept.update(logged.manifest.replaced)
        return replaced, kept

    def _sealed_among(self, fragments: frozenset[bytes]) -> set[bytes]:
        """Tell which of some fragments any segment has, be it here or not."""
        sealed: set[bytes] = set()
        for logged in self.log.since(0) if fragments else ():
            if isinstance(logged.manifest, Segment):
                sealed.update(fragments.intersection(sha256 for sha256, _ in logged.manifest.fragments))
        return sealed


def clocks_of(logged: Logged) -> dict[bytes, int]:
    """Tell the clock that a manifest gives each fragment: the one it names, or its own."""
    manifest = logged.manifest
    if isinstance(manifest, Segment):
        return {sha256: hlc or logged.hlc for sha256, hlc in manifest.fragments}
    return dict.fromkeys(manifest.fragments, logged.hlc) if isinstance(manifest, Tail) else {}


def _clock(item: tuple[int, Segment]) -> int:
    return item[0]


def _stored(built: Built, hlcs: dict[str, int], hlc: int) -> tuple[Stored, ...]:
    return tuple(
        Stored(sha256=sha, hlc=hlcs.get(sha, hlc), place=place)
        for sha, place in zip(built.fragment_sha256s, built.places, strict=True)
    )
