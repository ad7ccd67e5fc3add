"""Read a growing file of JSON lines: only what is new, in bounded memory, whatever its bytes are.

The file belongs to a running agent.  It may grow while it is read, end in half a line, be cut short or be
written anew, and hold bytes that are no JSON.  None of that is fatal: half a line waits for its line feed,
a file that did not merely grow is read from its start, and a line that is no record is counted by name and
given to the adapter to keep.  A line without an end is read once, whatever its length: its beginning is given
as soon as it is over the limit, and a cursor may point into its middle.

Lines end in LF and nothing else: U+2028 and a lone CR are text.  A last line without LF is taken when it is a
whole object, since some files never get their last line feed.

Invariants: the lines given do not depend on how the file was cut into runs; at most one record of
`RECORD_BYTES_MAX`, one chunk and one increment are in memory; a cursor with the file's fingerprint is only
given once the file was read to its end.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, TypeVar, cast

import msgspec

from archivist.providers.base import Cursor, Increment, JsonValue, Source, SourceUnreadable

MIB: Final = 1 << 20
RECORD_BYTES_MAX: Final = 64 * MIB
"""A longer line is kept as its beginning only: it would not fit the memory that a capture may take."""
KEPT_BYTES: Final = 64 << 10
"""How much of a line over the limit is kept."""
INCREMENT_BYTES: Final = 4 * MIB
CHUNK_BYTES: Final = MIB
HEAD_BYTES: Final = 4096
TAIL_BYTES: Final = 1024

OVERSIZED: Final = "record over 64 MiB"
TRUNCATED: Final = "\n[TRUNCATED: record over 64 MiB]"
NOT_JSON: Final = "line is not JSON"
NOT_UTF8: Final = "line is not UTF-8"
NOT_OBJECT: Final = "line is not an object"
TOO_DEEP: Final = "line nests too deeply"
NUL_BYTES: Final = "NUL bytes around a record"

Line = bytes | bytearray
StructT = TypeVar("StructT", bound=msgspec.Struct)

_JSON: Final = json.JSONDecoder()
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SEEK_DATA: Final[int] = getattr(os, "SEEK_DATA", -1)
"""Where a system has it, a hole of a sparse file is passed over without being read."""


class _Part(IntEnum):
    """What a piece of a file is: a line, or one part of a line over the limit."""

    LINE = 0
    BEGINNING = 1
    MIDDLE = 2
    END = 3


class LineAdapter(Protocol):
    """Turns the lines of one file into events; made anew for each run, from the cursor's state.

    `number` is the line's, from 1.
    """

    def begin(self, increment: Increment) -> None:
        """Send the events of the lines that follow to this increment."""
        ...

    def take(self, line: Line, number: int) -> None:
        """Decode a line and make its events.

        Raises `msgspec.DecodeError` or `RecursionError`, before anything was made, for a line that it can't
        decode; `take_object` or `keep` is called for it instead.
        """
        ...

    def take_object(self, value: dict[str, JsonValue], number: int) -> None:
        """Make the events of a record whose fields have other types than expected.

        Raises nothing but `RecursionError`, before anything was made.
        """
        ...

    def keep(self, reason: str, text: str, number: int) -> None:
        """Count a line that is no record, and keep its text."""
        ...

    def finish(self) -> dict[str, object]:
        """Complete the increment and return the state for its cursor."""
        ...


AdapterMaker = Callable[[Source, Mapping[str, object]], LineAdapter]


def read_jsonl(source: Source, cursor: Cursor | None, make: AdapterMaker) -> Iterator[Increment]:
    """Read the whole lines that follow the cursor, in increments of about `INCREMENT_BYTES`.

    A file with the cursor's fingerprint is not opened.  One that vanished gives nothing.
    """
    fingerprint = (source.size_bytes, source.modified_ns, source.inode)
    if cursor is not None and fingerprint == (cursor.size_bytes, cursor.modified_ns, cursor.inode):
        return
    with _opened(source) as descriptor:
        if descriptor is not None:
            yield from _increments(_File(descriptor, os.fstat(descriptor)), source, cursor, make)


def mended(kind: type[StructT], value: dict[str, JsonValue]) -> StructT:
    """Build a struct from those fields that have the declared types; the others keep their defaults."""
    good: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in value:
            try:
                good[field.name] = msgspec.convert(value[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return kind(**good)


def without_lone_surrogates(text: str) -> str:
    """Replace what UTF-8 can't say; JSON can, as an escape."""
    return _LONE_SURROGATE.sub("\ufffd", text)


@dataclass(slots=True)
class _Place:
    """How far a file was read."""

    offset: int
    lines: int
    is_inside_line: bool

    def advance(self, line: Line, size_bytes: int, part: _Part) -> None:
        self.offset += size_bytes
        self.lines += part is _Part.END or (part is _Part.LINE and size_bytes > len(line))
        self.is_inside_line = part in (_Part.BEGINNING, _Part.MIDDLE)


@dataclass(frozen=True, slots=True)
class _File:
    """An open file, and what it was when it was opened."""

    descriptor: int
    found: os.stat_result

    def sha256(self, start: int, end: int) -> str:
        """Hash a range of the file; empty text for an empty range."""
        data = os.pread(self.descriptor, end - start, start) if end > start else b""
        return hashlib.sha256(data).hexdigest() if data else ""

    def head_sha256(self, offset: int) -> str:
        return self.sha256(0, min(HEAD_BYTES, offset))

    def tail_sha256(self, offset: int) -> str:
        return self.sha256(max(0, offset - TAIL_BYTES), offset)

    def only_grew(self, cursor: Cursor) -> bool:
        """Tell whether the bytes that the cursor counts as read are still there."""
        return (
            cursor.offset <= self.found.st_size
            and self.head_sha256(cursor.offset) == cursor.head_sha256
            and self.tail_sha256(cursor.offset) == cursor.tail_sha256
        )

    def cursor(self, place: _Place, state: dict[str, object]) -> Cursor:
        """Describe a place in the middle of the file, with a fingerprint that no file has."""
        return Cursor(
            size_bytes=place.offset,
            inode=self.found.st_ino,
            offset=place.offset,
            lines=place.lines,
            is_inside_line=place.is_inside_line,
            head_sha256=self.head_sha256(place.offset),
            tail_sha256=self.tail_sha256(place.offset),
            state=state,
        )

    def final_cursor(self, cursor: Cursor) -> Cursor:
        """Give a cursor the fingerprint of what was read, unless the file was cut short meanwhile."""
        if os.fstat(self.descriptor).st_size < self.found.st_size:
            return cursor
        return msgspec.structs.replace(
            cursor, size_bytes=self.found.st_size, modified_ns=self.found.st_mtime_ns
        )


@contextmanager
def _opened(source: Source) -> Iterator[int | None]:
    """Open a regular file, and give None where there is none any more."""
    # Without O_NONBLOCK, opening a pipe that took the file's place would wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(source.path, flags)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        reason = f"can't be opened: {error.strerror}"
        raise SourceUnreadable([source.relative_path], because=reason) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SourceUnreadable([source.relative_path], because="is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _increments(
    file: _File, source: Source, cursor: Cursor | None, make: AdapterMaker
) -> Iterator[Increment]:
    resumed = cursor if cursor is not None and file.only_grew(cursor) else None
    rewritten = cursor is not None and resumed is None
    start = resumed or Cursor()
    adapter = make(source, start.state)
    place, began = _Place(start.offset, start.lines, start.is_inside_line), start.offset
    increment = Increment(cursor=start, rewritten=rewritten)
    adapter.begin(increment)
    for line, size_bytes, part in _pieces(file.descriptor, place, file.found.st_size):
        if part is _Part.LINE:
            _give(adapter, line, place.lines + 1, increment)
        elif part is _Part.BEGINNING:
            adapter.keep(OVERSIZED, _printable(line.decode("utf-8", "replace") + TRUNCATED), place.lines + 1)
        place.advance(line, size_bytes, part)
        if place.offset - began >= INCREMENT_BYTES and place.offset < file.found.st_size:
            increment.cursor = file.cursor(place, adapter.finish())
            increment.bytes_read = place.offset - began
            yield increment
            began = place.offset
            increment = Increment(cursor=increment.cursor, rewritten=rewritten)
            adapter.begin(increment)
    increment.cursor = file.final_cursor(file.cursor(place, adapter.finish()))
    increment.bytes_read = place.offset - began
    yield increment


def _pieces(descriptor: int, place: _Place, end: int) -> Iterator[tuple[Line, int, _Part]]:
    """Give each whole line from a place on without its LF, and its size in the file with it.

    Of a line over the limit its first `KEPT_BYTES` are given as soon as it is known to be one, then the sizes
    of the rest.  What follows the last LF is given where it is a whole object: nothing that is still being
    written is one.
    """
    position, is_inside, pending = place.offset, place.is_inside_line, bytearray()
    while position < end:
        if is_inside and (hole := _hole_bytes(descriptor, position, end)):
            position += hole
            yield b"", hole, _Part.MIDDLE
            continue
        chunk = os.pread(descriptor, min(CHUNK_BYTES, end - position), position)
        if not chunk:
            return
        position += len(chunk)
        head, feed, rest = chunk.partition(b"\n")
        if not is_inside:
            pending += head
            if len(pending) > RECORD_BYTES_MAX:
                yield pending[:KEPT_BYTES], len(pending), _Part.BEGINNING
                is_inside, head, pending = True, b"", bytearray()
        if not feed:
            if is_inside and head:
                yield b"", len(head), _Part.MIDDLE
            continue
        yield (b"", len(head) + 1, _Part.END) if is_inside else (pending, len(pending) + 1, _Part.LINE)
        *whole, tail = rest.split(b"\n")
        is_inside, pending = False, bytearray(tail)
        for line in whole:
            yield line, len(line) + 1, _Part.LINE
    if _is_whole_object(pending):
        yield pending, len(pending), _Part.LINE


def _hole_bytes(descriptor: int, position: int, end: int) -> int:
    """Tell how many bytes from here on the file system keeps no data for; such bytes are NUL."""
    try:
        return min(os.lseek(descriptor, position, _SEEK_DATA), end) - position
    except OSError as error:
        # ENXIO says that there is no data up to the end, anything else that the system can't tell.
        return end - position if error.errno == errno.ENXIO else 0


def _is_whole_object(line: Line) -> bool:
    """Tell whether a line can only be complete: no true beginning of an object is an object."""
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return False
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _give(adapter: LineAdapter, line: Line, number: int, increment: Increment) -> None:
    try:
        if line and not line.isspace():
            adapter.take(line, number)
    except (msgspec.DecodeError, RecursionError):
        _give_tolerantly(adapter, line, number, increment)


def _give_tolerantly(adapter: LineAdapter, line: Line, number: int, increment: Increment) -> None:
    """Give what can still be read of a line that the adapter could not decode."""
    if not (line[0] and line[-1]):
        # What a file system leaves where a machine stopped before the bytes reached the disk.
        increment.skipped[NUL_BYTES] += 1
    rest = line.strip(b"\0 \t\r").removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    while rest:
        end = _first_object_end(rest)
        _give_text(adapter, rest[:end].rstrip(), number)
        rest = rest[end:].lstrip()


def _first_object_end(text: str) -> int:
    """Find where the object that a text begins with ends; the whole text where it begins with none.

    Two records stand in one line where their writers did not wait for each other.
    """
    try:
        found, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return len(text)
    return end if isinstance(found, dict) and not _LONE_SURROGATE.search(text, 0, end) else len(text)


def _give_text(adapter: LineAdapter, text: str, number: int) -> None:
    if _LONE_SURROGATE.search(text):
        replaced = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        adapter.keep(NOT_UTF8, _printable(replaced), number)
        return
    try:
        value = json.loads(text)
        if isinstance(value, dict):
            _give_object(adapter, value, number)
        else:
            adapter.keep(NOT_OBJECT, text, number)
    except ValueError:
        adapter.keep(NOT_JSON, _printable(text), number)
    except RecursionError:
        adapter.keep(TOO_DEEP, text, number)


def _printable(text: str) -> str:
    return text.replace("\0", "\ufffd")


def _give_object(adapter: LineAdapter, value: dict[str, JsonValue], number: int) -> None:
    """Give an object the strict way once more, without lone surrogates, else field by field."""
    clean = without_lone_surrogates(json.dumps(value, ensure_ascii=False))
    try:
        adapter.take(clean.encode(), number)
    except msgspec.DecodeError:
        adapter.take_object(cast("dict[str, JsonValue]", json.loads(clean)), number)
