"""Archive segments: immutable files of fragments, named by the SHA-256 of their uncompressed bytes.

The uncompressed form is lines: a header, the fragments sorted by hash, a footer with their count and the
hash of the lines between.  On disk it is a run of independent zstd frames of about 128 KiB, so that one
fragment is read without the rest, and `zstd -d` still gives the whole.

Publication never replaces: a temporary file in the same directory, fsync, a hard link to the final name,
fsync of the directory.  A crash between any two steps leaves a stray temporary file, or a whole segment
that no manifest names yet; both are swept later.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import zstandard

from crdt.canonical import encode_canonical
from crdt.errors import Damaged, NotFound
from crdt.sqlite import fsync_directory

FRAME_BYTES = 1 << 17
"""Reading a fragment decompresses its frame: 0.3 ms; frames of 1 MiB take 2 ms and save no space on disk."""
ORPHAN_AGE_S = 24 * 3600
"""An unnamed segment may belong to a writer that has not committed its manifest yet (ARCHIVE.md 3)."""
SEGMENT_FRAGMENTS_MAX = 2_000
SEGMENT_BYTES_MAX = 16 << 20
TAKEN_BYTES_MAX = 512 << 20
"""A segment of one fragment may be larger than others; beyond this none is taken from another node."""
_COMPRESSION_LEVEL = 3
_SUFFIX = ".jsonl.zst"
_TEMPORARY = ".tmp-"
_HEX = frozenset("0123456789abcdef")
_HEADER = encode_canonical({"kind": "atrium-segment", "version": 1}) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A fragment in its canonical bytes, without a line feed, and the hash of them."""

    sha256: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a fragment lies in a segment: its frame in the file, and its bytes in the decompressed frame."""

    segment: str
    frame_offset: int
    frame_bytes: int
    skip: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A segment ready to be published; `places` follows the sorted hashes."""

    sha256: str
    frames: tuple[bytes, ...]
    size_bytes: int
    fragment_sha256s: tuple[str, ...]
    places: tuple[Place, ...]


class _Footer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last line of a segment."""

    count: int
    payloadSha256: str  # noqa: N815 (the name is part of the file format)


def fragment_sha256(data: bytes) -> str:
    """Hash the canonical bytes of a fragment."""
    return hashlib.sha256(data).hexdigest()


def build(bodies: Iterable[Body]) -> Built:
    """Lay fragments out as a segment; equal fragments count once.  At least one is needed."""
    ordered = sorted({body.sha256: body.data for body in bodies}.items())
    payload = hashlib.sha256()
    whole = hashlib.sha256(_HEADER)
    compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
    frames: list[bytes] = []
    located: list[tuple[int, int, int]] = []
    pending: list[bytes] = [_HEADER]
    filled = len(_HEADER)
    for _, data in ordered:
        line = data + b"\n"
        if filled >= FRAME_BYTES:
            frames.append(compressor.compress(b"".join(pending)))
            pending, filled = [], 0
        located.append((len(frames), filled, len(data)))
        pending.append(line)
        filled += len(line)
        payload.update(line)
        whole.update(line)
    footer = encode_canonical({"count": len(ordered), "payloadSha256": payload.hexdigest()}) + b"\n"
    whole.update(footer)
    frames.append(compressor.compress(b"".join([*pending, footer])))
    name = whole.hexdigest()
    return Built(
        sha256=name,
        frames=tuple(frames),
        size_bytes=len(_HEADER) + sum(len(data) + 1 for _, data in ordered) + len(footer),
        fragment_sha256s=tuple(sha for sha, _ in ordered),
        places=_places(name, frames, located),
    )


def _places(name: str, frames: Sequence[bytes], located: Sequence[tuple[int, int, int]]) -> tuple[Place, ...]:
    offsets = [0]
    for frame in frames:
        offsets.append(offsets[-1] + len(frame))
    return tuple(
        Place(segment=name, frame_offset=offsets[at], frame_bytes=len(frames[at]), skip=skip, size=size)
        for at, skip, size in located
    )


class SegmentDirectory:
    """The folder of segments of one state directory.  Reading needs nothing but the folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, sha256: str) -> Path:
        """Tell where a segment lies; the name is hex and nothing else, so no path can be smuggled in."""
        if not is_name(sha256):
            raise NotFound(f"{sha256[:80]!r} is no segment name")
        return self._root / sha256[:2] / (sha256 + _SUFFIX)

    def publish(self, built: Built) -> None:
        """Write a segment durably under its name; an existing one of that name is the same and stays."""
        target = self.path(built.sha256)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not target.exists():
            self._write(built, target, os.link)
        # Also for a file that was there: whoever made it may have been killed before this.
        fsync_directory(target.parent)
        fsync_directory(self._root)

    def _write(self, built: Built, target: Path, place: Callable[[Path, Path], None]) -> None:
        temporary = target.parent / f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(built.frames)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                place(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    def take(self, sha256: str, stored: bytes, size_bytes: int) -> Built:
        """Publish a segment that comes from elsewhere; raises `Damaged` for bytes that are not this segment.

        `size_bytes` is its uncompressed size, beyond which nothing is decompressed.  It is laid out anew, so
        that its frames are as small as our own.
        """
        lines = _decompress_at_most(sha256, stored, size_bytes).split(b"\n")
        built = build(Body(sha256=fragment_sha256(line), data=line) for line in lines[1:-2])
        if built.sha256 != sha256:
            raise Damaged(f"segment {sha256} has other bytes than its name says")
        if self.has(sha256) and not self.is_whole(sha256):
            self._replace(built)
        self.publish(built)
        return built

    def _replace(self, built: Built) -> None:
        """Put a segment in the place of one that is damaged, whose bytes are not kept.

        Its name says that this is all of what that one was, so that nothing is lost with them.
        """
        self._write(built, self.path(built.sha256), os.replace)

    def is_whole(self, sha256: str) -> bool:
        """Tell whether a segment is there and all its bytes are as they were written."""
        try:
            self.load(sha256)
        except Damaged:
            return False
        return True

    def has(self, sha256: str) -> bool:
        """Tell whether there is a file of that name."""
        return self.path(sha256).exists()

    def read(self, place: Place) -> bytes:
        """Read the bytes at a place; raises `Damaged` when the frame can't be read.

        Whether they are the fragment that was meant, its hash tells; whoever knows it compares.
        """
        path = self.path(place.segment)
        try:
            with path.open("rb") as file:
                file.seek(place.frame_offset)
                frame = file.read(place.frame_bytes)
        except OSError as error:
            raise Damaged(f"segment {place.segment} can't be read ({error.strerror})") from error
        data, _ = _decompress(place.segment, frame)
        return data[place.skip : place.skip + place.size]

    def load(self, sha256: str) -> list[tuple[Body, Place]]:
        """Read a whole segment and check its name, its footer and every fragment's hash."""
        frames = self._frames(sha256)
        whole = hashlib.sha256()
        for _, _, data in frames:
            whole.update(data)
        if whole.hexdigest() != sha256:
            raise Damaged(f"segment {sha256} has other bytes than its name says")
        fragments = list(_lines(sha256, frames))
        if not fragments:
            raise Damaged(f"segment {sha256} has no footer")
        last, _ = fragments.pop()
        try:
            footer = msgspec.json.decode(last.data, type=_Footer)
        except msgspec.MsgspecError as error:
            raise Damaged(f"segment {sha256} has no footer ({error})") from error
        payload = hashlib.sha256()
        for body, _ in fragments:
            payload.update(body.data + b"\n")
        if footer.count != len(fragments) or footer.payloadSha256 != payload.hexdigest():
            raise Damaged(f"segment {sha256} has a footer that does not fit its fragments")
        return fragments

    def _frames(self, sha256: str) -> list[tuple[int, int, bytes]]:
        """Decompress frame by frame: (offset in the file, compressed size, data)."""
        path = self.path(sha256)
        try:
            stored = path.read_bytes()
        except OSError as error:
            raise Damaged(f"segment {sha256} can't be read ({error.strerror})") from error
        frames, offset = [], 0
        while offset < len(stored):
            data, used = _decompress(sha256, stored[offset:])
            frames.append((offset, used, data))
            offset += used
        return frames

    def names(self) -> Iterator[str]:
        """List the segments in the folder, and no file that is none or lies in the wrong place."""
        for path in sorted(self._root.glob(f"??/*{_SUFFIX}")):
            name = path.name.removesuffix(_SUFFIX)
            if is_name(name) and path == self.path(name):
                yield name

    def stored_bytes(self, sha256: str) -> int:
        """Tell the compressed size; 0 where the file is missing."""
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self, sha256: str) -> None:
        """Erase a segment that no generation names any more; a missing one is fine."""
        self.path(sha256).unlink(missing_ok=True)

    def sweep(self, named: set[str], now_s: float | None = None) -> int:
        """Remove stray temporary files, and segments that nothing names and that are a day old."""
        before_s = (time.time() if now_s is None else now_s) - ORPHAN_AGE_S
        removed = 0
        for path in self._root.glob(f"??/{_TEMPORARY}*"):
            path.unlink(missing_ok=True)
            removed += 1
        for name in self.names():
            if name not in named and self.path(name).stat().st_mtime < before_s:
                self.remove(name)
                removed += 1
        return removed


def is_name(text: str) -> bool:
    """Tell whether a text is spelled as the hash of a segment."""
    return len(text) == 64 and set(text) <= _HEX


def _decompress(sha256: str, stored: bytes) -> tuple[bytes, int]:
    """Decompress the first frame of some bytes, and tell how many of them it took.

    In steps of what the frame yields: a damaged frame may claim any size for its content.
    """
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    try:
        data = decompressor.decompress(stored)
    except zstandard.ZstdError as error:
        raise Damaged(f"segment {sha256} is not readable zstd ({error})") from error
    if not decompressor.eof:
        raise Damaged(f"segment {sha256} ends in the middle")
    return data, len(stored) - len(decompressor.unused_data)


def _decompress_at_most(sha256: str, stored: bytes, size_bytes: int) -> bytes:
    """Decompress all frames; raises `Damaged` where that is more than was said."""
    if size_bytes > TAKEN_BYTES_MAX:
        raise Damaged(f"segment {sha256} would have {size_bytes} bytes")
    reader = zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)
    try:
        data = reader.read(size_bytes + 1)
    except zstandard.ZstdError as error:
        raise Damaged(f"segment {sha256} is not readable zstd ({error})") from error
    if len(data) != size_bytes:
        raise Damaged(f"segment {sha256} has another size than its manifest says")
    return data


def _lines(sha256: str, frames: Sequence[tuple[int, int, bytes]]) -> Iterator[tuple[Body, Place]]:
    """Walk the lines after the header with their places; the last one is the footer."""
    for number, (offset, used, data) in enumerate(frames):
        start = 0
        if number == 0:
            if not data.startswith(_HEADER):
                raise Damaged(f"segment {sha256} has no segment header")
            start = len(_HEADER)
        while start < len(data):
            end = data.find(b"\n", start)
            if end < 0:
                raise Damaged(f"segment {sha256} has a frame that ends within a line")
            body = data[start:end]
            place = Place(segment=sha256, frame_offset=offset, frame_bytes=used, skip=start, size=end - start)
            yield Body(sha256=fragment_sha256(body), data=body), place
            start = end + 1
