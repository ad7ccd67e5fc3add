"""The bytes of an edit: what is read, and that nothing else reaches pycrdt."""

from __future__ import annotations

import random

import pytest
from pycrdt import Doc, Map, Text

from crdt.errors import EntryRefused
from crdt.text_updates import Edit, read_edit


def number(value: int) -> bytes:
    """Spell a number in base 128, low digits first."""
    digits = b""
    while value > 127:
        digits, value = digits + bytes([value & 127 | 128]), value >> 7
    return digits + bytes([value])


def block(
    content: bytes, *, kind: int = 4, client: int = 5, clock: int = 0, parent: bytes = b"text"
) -> bytes:
    """Spell an update of one block without origin."""
    item = bytes([kind]) + number(1) + number(len(parent)) + parent + content
    return number(1) + number(1) + number(client) + number(clock) + item + number(0)


STRING = number(1) + b"x"
HOSTILE = {
    "nothing": b"",
    "a value nested so deep that a decoder overflows": block(
        number(1) + b"\x75\x01" * 100_000 + b"\x7e", kind=8
    ),
    "an embedded value": block(number(4) + b"true", kind=5),
    "a format": block(number(1) + b"b" + number(4) + b"true", kind=6),
    "a type": block(b"\1", kind=7),
    "a subdocument": block(number(1) + b"g" + number(4) + b"null", kind=9),
    "a collected block": number(1) + number(1) + number(5) + number(0) + b"\0" + number(9) + number(0),
    "a gap": number(1) + number(1) + number(5) + number(0) + b"\x0a" + number(9) + number(0),
    "another text": block(STRING, parent=b"other"),
    "a key": block(STRING, kind=0x24),
    "an empty string": block(number(0)),
    "bytes that are no text": block(number(1) + b"\xff"),
    "two clients": number(2) + block(STRING)[1:],
    "a client out of bounds": block(STRING, client=1 << 53),
    "a clock out of bounds": block(STRING, clock=1 << 31),
    "a number spelled long": block(STRING).replace(number(5), b"\x85\x00", 1),
    "a number without end": b"\xff" * 1000,
    "more blocks than bytes": number(1) + number(1 << 30) + number(5) + number(0),
    "more to it": block(STRING) + b"\0",
    "too little": block(STRING)[:-1],
    "an origin in itself": b"\1\1\5\0\x84\5\0" + STRING + b"\0",
    "an empty range": b"\0\1\1\1\0\0",
    "ranges without end": b"\0\1\1" + number(1 << 30),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_plain_edit_is_refused(name: str) -> None:
    with pytest.raises(EntryRefused):
        read_edit(HOSTILE[name])


def test_a_plain_edit_is_read() -> None:
    assert read_edit(block(STRING)) == Edit(client=5, start=0, stop=1, needs=[], text_bytes=1, cost=1)
    assert read_edit(b"\0\0") == Edit(client=0, start=0, stop=0, needs=[], text_bytes=0, cost=0)


def test_lengths_are_counted_as_pycrdt_counts_them() -> None:
    updates: list[bytes] = []
    document: Doc[Text] = Doc(client_id=7)
    text = document.get("text", type=Text)
    watched = document.observe(lambda event: updates.append(event.update))
    text.insert(0, "aö😀b")
    text.insert(len("aö😀".encode()), "c")
    del text[1:3]
    document.unobserve(watched)
    first, second, third = (read_edit(update) for update in updates)
    assert (first.start, first.stop, first.text_bytes) == (0, 5, 8)
    assert (second.start, second.stop) == (5, 6)
    assert (third.start, third.stop, third.needs, third.cost) == (0, 0, [(7, 1)], 1)


def test_edits_of_other_types_are_refused() -> None:
    document: Doc[Map[object]] = Doc(client_id=7)
    document["text"] = Map({"a": 1})
    with pytest.raises(EntryRefused):
        read_edit(document.get_update())


def test_changed_bytes_are_read_or_refused_and_nothing_else() -> None:
    chosen = random.Random(7)  # noqa: S311
    outcomes = set()
    for _ in range(2_000):
        data = bytearray(block(STRING, clock=300))
        data[chosen.randrange(len(data))] = chosen.randrange(256)
        try:
            outcomes.add(type(read_edit(bytes(data))))
        except EntryRefused:
            outcomes.add(EntryRefused)
    assert outcomes == {Edit, EntryRefused}
