"""The bytes of one edit of a shared text: read strictly before pycrdt sees them.

    update   clients, 0 or 1; then blocks, client, clock, and each block; then the deletions
    block    info, origin if 0x80, right origin if 0x40, "text" as parent if neither; content
    content  4: string, or 1: length of what was deleted in the same edit
    deleted  clients; each: client, ranges; each range: clock, length

Numbers are little-endian base 128.  The format (Yjs, version 1) allows far more than an edit of plain text
needs: nested values that overflow the decoder's stack, parents of other kinds, gaps.  None of it is read.
"""

from __future__ import annotations

import msgspec

from crdt.errors import EntryRefused

ROOT = b"text"
CLIENT_BITS = 53
CLOCK_MAX = (1 << 31) - 1
_ORIGIN, _RIGHT, _CONTENT = 0x80, 0x40, 0x1F
_DELETED, _STRING = 1, 4

Id = tuple[int, int]
"""A client and a clock: one character of the text's history, counted in UTF-16 units."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit builds on and how much it adds.

    `start` to `stop` are the clocks that it takes for its client.  `needs` are the characters it must find:
    origins and ends of deleted ranges.  `cost` counts blocks and ranges.
    """

    client: int
    start: int
    stop: int
    needs: list[Id]
    text_bytes: int
    cost: int


def read_edit(update: bytes) -> Edit:
    """Read the bytes of an edit; raises `EntryRefused` for anything but a plain edit of the text."""
    reader = _Reader(update)
    client, start, blocks = 0, 0, 0
    if reader.number(1):
        blocks = reader.number(len(update))
        client, start = reader.client(), reader.clock()
    needs: list[Id] = []
    stop, text_bytes = start, 0
    for _ in range(blocks):
        length, size = _block(reader, client, stop, needs)
        stop, text_bytes = stop + length, text_bytes + size
    ranges = _deletions(reader, needs)
    if reader.left or stop > CLOCK_MAX:
        raise EntryRefused("an edit of a text has more to it than it says")
    return Edit(
        client=client, start=start, stop=stop, needs=needs, text_bytes=text_bytes, cost=blocks + ranges
    )


def _block(reader: _Reader, client: int, clock: int, needs: list[Id]) -> tuple[int, int]:
    """Read a block: its length in UTF-16 units and its size in bytes."""
    info = reader.byte()
    if info & ~(_ORIGIN | _RIGHT | _CONTENT):
        raise EntryRefused("an edit of a text has a block that no text has")
    for flag in (_ORIGIN, _RIGHT):
        if info & flag:
            needs.extend(_foreign((reader.client(), reader.clock()), client, clock))
    if not info & (_ORIGIN | _RIGHT) and (reader.number(1), reader.text()) != (1, ROOT):
        raise EntryRefused("an edit of a text belongs to another text")
    kind = info & _CONTENT
    if kind == _DELETED:
        return reader.length(), 0
    data = reader.text() if kind == _STRING else b""
    if not data:
        raise EntryRefused("an edit of a text has a block that no text has")
    return _units(data), len(data)


def _foreign(origin: Id, client: int, clock: int) -> list[Id]:
    """Give an origin that must have been there before; one in the same edit must only be above."""
    if origin[0] != client:
        return [origin]
    if origin[1] >= clock:
        raise EntryRefused("an edit of a text builds on what comes after it")
    return []


def _deletions(reader: _Reader, needs: list[Id]) -> int:
    count = 0
    for _ in range(reader.number(reader.left)):
        client = reader.client()
        for _ in range(reader.number(reader.left)):
            last = reader.clock() + reader.length() - 1
            needs.append((client, last))
            count += 1
    return count


def _units(data: bytes) -> int:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EntryRefused("an edit of a text holds bytes that are no text") from error
    return len(text) + sum(character > "\uffff" for character in text)


class _Reader:
    """Takes numbers and texts off the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def byte(self) -> int:
        if not self.left:
            raise EntryRefused("an edit of a text ends too early")
        self._at += 1
        return self._data[self._at - 1]

    def number(self, highest: int) -> int:
        """Read a number that must be spelled as short as it can be."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if value > highest or (byte == 0 and shift):
            raise EntryRefused("an edit of a text has a number out of bounds")
        return value

    def client(self) -> int:
        return self.number((1 << CLIENT_BITS) - 1)

    def clock(self) -> int:
        return self.number(CLOCK_MAX)

    def length(self) -> int:
        length = self.number(CLOCK_MAX)
        if length == 0:
            raise EntryRefused("an edit of a text has a part without length")
        return length

    def text(self) -> bytes:
        size = self.number(self.left)
        if size > self.left:
            raise EntryRefused("an edit of a text ends too early")
        self._at += size
        return self._data[self._at - size : self._at]
