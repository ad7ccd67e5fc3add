"""Public keys of nodes: which are acceptable, and how people see them.

A key is 32 bytes of Ed25519.  A `node id` is its base32 without padding, lower case; a fingerprint is the
first 32 characters of that, in groups of four, for comparing by eye.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Protocol

from crdt.errors import BadInput

KEY_BYTES = 32
NODE_ID_CHARS = 52
_FINGERPRINT_CHARS = 32
_PRIME = 2**255 - 19
_SIGN_BIT = 1 << 255
_SMALL_ORDER_Y = (
    0,
    1,
    _PRIME - 1,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
)
"""The y coordinates of the eight points whose multiples are few: OpenSSL accepts a constant as their
signature of any message (RFC 8032 leaves the check to the user)."""


class Signer(Protocol):
    """A node's own key; it never leaves whoever implements this."""

    @property
    def public_key(self) -> bytes:
        """The 32 bytes of the public half."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Sign with Ed25519; 64 bytes, the same for the same message."""
        ...


def is_acceptable(key: bytes) -> bool:
    """Tell whether bytes are a key in its one spelling, and not one of small order."""
    if len(key) != KEY_BYTES:
        return False
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    return y < _PRIME and y not in _SMALL_ORDER_Y


def node_id(key: bytes) -> str:
    """Spell a key: 52 characters of base32."""
    return base64.b32encode(key).decode("ascii").rstrip("=").lower()


def parse_node_id(text: str) -> bytes:
    """Read a spelled key; raises `BadInput` for anything that no node has."""
    spelled = text.strip().lower()
    try:
        key = base64.b32decode(spelled.upper() + "====")
    except ValueError:
        key = b""
    if not is_acceptable(key) or node_id(key) != spelled:
        raise BadInput(
            f"`{text.strip()[: NODE_ID_CHARS + 8]}` is no node's key",
            hint="`atrium identity show` prints the key of a node",
        )
    return key


def fingerprint(key: bytes) -> str:
    """Give what people compare by eye: eight groups of four characters."""
    head = node_id(key)[:_FINGERPRINT_CHARS]
    return " ".join(head[at : at + 4] for at in range(0, _FINGERPRINT_CHARS, 4))


def commitment(next_key: bytes) -> bytes:
    """Hash the key that will follow, so that it can be promised without being shown."""
    return hashlib.sha256(next_key).digest()
