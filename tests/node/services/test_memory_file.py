"""Lines of a memory file: what they say comes back, and what is no line is refused."""

from __future__ import annotations

import msgspec
import pytest

from crdt.errors import BadInput
from crdt.operations import Operation, Stamped
from node.services.memory_file import (
    OperationLine,
    SpaceLine,
    decode_line,
    encode_line,
    line_of,
    operation_of,
)

FIRST, OWN, IMPORTED = b"1" * 32, b"2" * 32, b"3" * 32


def stamped(**changes: object) -> Stamped:
    given = {
        "id": "r", "type": "memory", "agent": "bot", "text": "the pier\u2028", "set": {"kind": "memory"},
        "tag": ["sea"], "untag": [("air", IMPORTED)], "base": [IMPORTED, FIRST],
    }  # fmt: skip
    operation = Operation(**{**given, **changes})  # type: ignore[arg-type]
    return Stamped(operation=operation, hash=OWN, author=b"a" * 32, hlc=5 << 16)


def test_a_line_says_everything_but_signature_and_nonce() -> None:
    line = line_of(stamped(nonce=b"n" * 16), "bot@here", {})
    again = decode_line(encode_line(line))
    assert again == line
    assert isinstance(again, OperationLine)
    back = operation_of(again, {})
    expected = msgspec.structs.replace(stamped().operation, at=5 << 16, by="bot@here", source=OWN)
    assert back == expected


def test_an_import_is_named_by_where_it_was_said_first() -> None:
    line = line_of(
        stamped(at=7, by="ann@there", source=FIRST), "local@here", {OWN: FIRST, IMPORTED: b"9" * 32}
    )
    assert (line.source, line.by, line.at) == (FIRST.hex(), "ann@there", 7)
    assert line.base == ["39" * 32, FIRST.hex()]
    assert line.untag == [("air", "39" * 32)]


def test_names_become_those_of_the_operations_that_are_here() -> None:
    line = line_of(stamped(), "bot@here", {})
    operation = operation_of(line, {IMPORTED.hex(): b"8" * 32})
    assert operation.base == [b"8" * 32, FIRST]
    assert operation.untag == [("air", b"8" * 32)]


def test_a_line_has_no_line_end_inside() -> None:
    data = encode_line(line_of(stamped(text="a\nb\u2028c"), "bot@here", {}))
    assert len(data.decode().splitlines()) == 1


def test_an_edit_of_a_document_travels_as_bytes() -> None:
    line = decode_line(encode_line(line_of(stamped(update=b"\0\xff"), "bot@here", {})))
    assert isinstance(line, OperationLine)
    assert line.update == b"\0\xff"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"line":"song"}',
        b'{"line":"space","id":"00","kind":"home"}',
        b'{"line":"space","id":"00","kind":"home","label":"x","more":1}',
        b"\xff",
        b"[" * 5000,
    ],
)
def test_what_is_no_line_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="can't be read"):
        decode_line(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", "zz"),
        ("source", "00"),
        ("base", ["0" * 63]),
        ("untag", [("t", "é")]),
        ("at", -1),
        ("by", "x" * 201),
    ],
)
def test_a_line_with_a_bad_value_is_refused(name: str, value: object) -> None:
    line = msgspec.structs.replace(line_of(stamped(), "bot@here", {}), **{name: value})
    with pytest.raises(BadInput):
        decode_line(encode_line(line))


def test_a_space_is_a_line_of_its_own() -> None:
    line = SpaceLine(id="00" * 32, kind="home", label="home")
    assert decode_line(encode_line(line)) == line
