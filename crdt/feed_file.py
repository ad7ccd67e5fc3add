"""The file by which two nodes exchange feeds: `atrium feeds export` and `atrium feeds import`.

    magic   "atrium-feeds", a zero byte, and a byte for the version
    frame   its size in 4 bytes, then msgpack: the spaces, pages, loose entries and parts of blobs
    frame   the end: how many of each there were, and the SHA-256 of all bytes before this frame's size

Spaces come first.  The end tells a file that was cut from one that is whole.  It proves nothing about who
made it: entries prove themselves (`chains`), and blobs are named by their hash.  A reader holds one frame at
a time, or one blob; every error names the byte at which the frame began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import msgspec

from crdt import have, pages
from crdt.archive_file import opened, replacing
from crdt.entries import HEADER_BYTES, SIGNATURE_BYTES, Entry, FeedId
from crdt.errors import EntryRefused
from crdt.pages import Page
from crdt.sqlite import faults

VERSION = 1
FRAME_BYTES_MAX = 3 << 20
LOOSE_BYTES_MAX = 1 << 20
ENTRY_BYTES_MIN = HEADER_BYTES + SIGNATURE_BYTES
BLOB_BYTES_MAX = 256 << 20
"""A blob is in memory while it is written or read; segments end at 16 MiB unless one fragment is larger."""
_MAGIC = b"atrium-feeds\0"
_START = _MAGIC + bytes([VERSION])
_SIZE_BYTES = 4
_PART_BYTES = 1 << 20
_HINT = "export it again on the machine it came from"
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
_Count = Annotated[int, msgspec.Meta(ge=0)]

BlobKind = Literal["segment", "fragment"]


class _Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="frame", forbid_unknown_fields=True):
    """What has a place of its own in a file."""


class Space(_Frame, frozen=True, kw_only=True, tag="space"):
    """A space that the file has something of, and what the node that wrote it has of it (`have.encode`)."""

    space: _Bytes32
    have: bytes


class PageUpdate(_Frame, frozen=True, kw_only=True, tag="page"):
    """A page of a feed as a pycrdt update."""

    space: _Bytes32
    author: _Bytes32
    inc: _Count
    number: _Count
    update: bytes


class Loose(_Frame, frozen=True, kw_only=True, tag="loose"):
    """Entries that are in no page: those from the first fork of a feed on."""

    entries: list[bytes]


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment in its canonical bytes, or a segment as it lies on disk, by the hash that names it.

    The name of a segment is that of its uncompressed bytes, which who takes it in must check.
    """

    kind: BlobKind
    sha256: bytes
    data: bytes


class Counts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds; `entries` are the loose ones."""

    spaces: _Count = 0
    pages: _Count = 0
    entries: _Count = 0
    blobs: _Count = 0


class _BlobPart(_Frame, frozen=True, kw_only=True, tag="blob"):
    """A piece of a blob; pieces follow each other, and `left` counts the bytes behind this one."""

    kind: BlobKind
    sha256: _Bytes32
    left: _Count
    data: bytes


class _End(_Frame, frozen=True, kw_only=True, tag="end"):
    """The last frame; `sha256` is of all bytes before its size."""

    counts: Counts
    sha256: _Bytes32


Part = Space | PageUpdate | Loose | Blob
_AnyFrame = Space | PageUpdate | Loose | _BlobPart | _End
_DECODER = msgspec.msgpack.Decoder(_AnyFrame)


def write(path: Path, parts: Iterable[Part]) -> Counts:
    """Write a file, whole or not at all; spaces must come before anything else."""
    with replacing(path) as file:
        return _Writer(file).write(parts)


def read(path: Path, tick: Callable[[int], None] = lambda _: None) -> Iterator[Part]:
    """Walk the parts of a file; raises `EntryRefused` at the first thing that is not as `write` makes it.

    The end is checked when it is reached, so what was yielded before may come from a file that was cut: run
    through it once with `check` to take nothing of such a file.  `tick` is told the bytes read so far.
    """
    with faults(path.name), opened(path) as file:
        yield from _Reader(file, path.name, tick).parts()


def check(path: Path, tick: Callable[[int], None] = lambda _: None) -> Counts:
    """Read a whole file and keep nothing of it; raises `EntryRefused`."""
    counts = Counts()
    for part in read(path, tick):
        counts = _counted(counts, part)
    return counts


def page_part(page: Page) -> PageUpdate:
    """Make the part for a page."""
    feed = page.feed
    return PageUpdate(
        space=feed.space, author=feed.author, inc=feed.inc, number=page.number, update=pages.encode(page)
    )


def loose_parts(entries: Iterable[Entry]) -> Iterator[Loose]:
    """Make the parts for entries that are in no page, about a megabyte each."""
    held: list[bytes] = []
    size = 0
    for entry in entries:
        raw = entry.raw
        if held and size + len(raw) > LOOSE_BYTES_MAX:
            yield Loose(entries=held)
            held, size = [], 0
        held.append(raw)
        size += len(raw)
    if held:
        yield Loose(entries=held)


def raws_of(part: PageUpdate | Loose) -> list[bytes]:
    """Take the bytes of the entries out of a part; raises `EntryRefused` for what is no page."""
    if isinstance(part, Loose):
        return part.entries
    return pages.read(part.update, FeedId(part.space, part.author, part.inc), part.number)


def _counted(counts: Counts, part: Part) -> Counts:
    match part:
        case Space():
            return msgspec.structs.replace(counts, spaces=counts.spaces + 1)
        case PageUpdate():
            return msgspec.structs.replace(counts, pages=counts.pages + 1)
        case Loose():
            return msgspec.structs.replace(counts, entries=counts.entries + len(part.entries))
        case Blob():
            return msgspec.structs.replace(counts, blobs=counts.blobs + 1)


class _Writer:
    """Writes frames and hashes them on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._counts = Counts()

    def write(self, parts: Iterable[Part]) -> Counts:
        self._put(_START)
        for part in parts:
            for frame in _frames(part):
                self._put_frame(frame)
            self._counts = _counted(self._counts, part)
        self._put_frame(_End(counts=self._counts, sha256=self._digest.digest()))
        return self._counts

    def _put_frame(self, frame: _AnyFrame) -> None:
        data = msgspec.msgpack.encode(frame)
        if len(data) > FRAME_BYTES_MAX:
            raise AssertionError("no part is that large")
        self._put(len(data).to_bytes(_SIZE_BYTES) + data)

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)


def _frames(part: Part) -> Iterator[_AnyFrame]:
    if not isinstance(part, Blob):
        yield part
        return
    for start in range(0, max(len(part.data), 1), _PART_BYTES):
        data = part.data[start : start + _PART_BYTES]
        left = len(part.data) - start - len(data)
        yield _BlobPart(kind=part.kind, sha256=part.sha256, left=left, data=data)


class _Reader:
    """Reads frames, hashes them on the way, and knows where it is."""

    def __init__(self, file: BinaryIO, name: str, tick: Callable[[int], None]) -> None:
        self._file, self._name, self._tick = file, name, tick
        self._digest = hashlib.sha256()
        self._at = self._frame_at = 0
        self._counts = Counts()
        self._spaces: set[bytes] = set()

    def parts(self) -> Iterator[Part]:
        start = self._file.read(len(_START))
        if not start.startswith(_MAGIC):
            raise self._refused("this is no file of feeds")
        if start != _START:
            raise EntryRefused(f"{self._name} is of a version that is not known", hint="update this program")
        self._took(start)
        while not isinstance(frame := self._frame(), _End):
            part = self._blob(frame) if isinstance(frame, _BlobPart) else frame
            self._check_place(part)
            self._counts = _counted(self._counts, part)
            yield part
        if frame.counts != self._counts or self._file.read(1):
            raise self._refused("the end does not fit what came before, or more follows it")

    def _frame(self) -> _AnyFrame:
        """Read one frame; for the end, compare the hash of all that came before."""
        self._frame_at, before = self._at, self._digest.digest()
        size = int.from_bytes(self._bytes(_SIZE_BYTES))
        if size > FRAME_BYTES_MAX:
            raise self._refused(f"a frame of {size} bytes, at most {FRAME_BYTES_MAX}")
        data = self._bytes(size)
        try:
            frame = _DECODER.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._refused(f"a frame that can't be read ({error})") from error
        if isinstance(frame, _End) and frame.sha256 != before:
            raise self._refused("the hash of the file is another: it was changed")
        self._tick(self._at)
        return frame

    def _blob(self, part: _BlobPart) -> Blob:
        if len(part.data) + part.left > BLOB_BYTES_MAX:
            raise self._refused("a blob that is too large")
        data = bytearray(part.data)
        first = part
        while part.left:
            following = self._frame()
            if not isinstance(following, _BlobPart) or not _continues(part, following):
                raise self._refused("something else where a blob goes on")
            part = following
            data += part.data
        blob = Blob(kind=first.kind, sha256=first.sha256, data=bytes(data))
        if blob.kind == "fragment" and hashlib.sha256(blob.data).digest() != blob.sha256:
            raise self._refused("a fragment that is not the one it is named")
        return blob

    def _check_place(self, part: Part) -> None:
        """Refuse a space behind what is in spaces, a page of a space that was not named, and crumbs."""
        if isinstance(part, PageUpdate) and part.space not in self._spaces:
            raise self._refused("a page of a space that the file does not name")
        if isinstance(part, Loose) and any(len(raw) < ENTRY_BYTES_MIN for raw in part.entries):
            # A million of them fit into a frame, and each would be refused by name.
            raise self._refused("loose bytes that are too few for an entry")
        if not isinstance(part, Space):
            return
        if part.space in self._spaces or self._counts != Counts(spaces=len(self._spaces)):
            raise self._refused("a space that comes twice, or behind what is in spaces")
        self._spaces.add(part.space)
        try:
            have.decode(part.have)
        except EntryRefused as error:
            raise self._refused(error.detail) from error

    def _bytes(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise self._refused("the file ends here: it was cut")
        self._took(data)
        return data

    def _took(self, data: bytes) -> None:
        self._digest.update(data)
        self._at += len(data)

    def _refused(self, what: str) -> EntryRefused:
        return EntryRefused(f"{self._name}, frame at byte {self._frame_at}: {what}", hint=_HINT)


def _continues(part: _BlobPart, following: _BlobPart) -> bool:
    is_same = (part.kind, part.sha256) == (following.kind, following.sha256)
    return is_same and 0 < len(following.data) == part.left - following.left
