"""Canonical JSON: one value has one byte form, and a form never holds a line end.

Keys are sorted, absent optionals are omitted by the types, bytes are UTF-8, and U+2028 and U+2029 are
escaped, since readers that split on Unicode line ends read one record as two.
"""

from __future__ import annotations

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
_ESCAPES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def encode_canonical(value: object) -> bytes:
    """Encode a value of builtins and structs, without a line feed at its end."""
    data = _ENCODER.encode(value)
    if b"\xe2\x80" in data:
        for raw, escaped in _ESCAPES:
            data = data.replace(raw, escaped)
    return data
