"""Objects that somebody signed and others carry: `<payload> "." <signature>`, both base64url without padding.

The signature covers `"atrium-v1" 0 context 0 payload`, the very bytes of the payload, and is checked before
any of them is used but the issuer's key.  The payload is JSON in the one spelling that `seal` gives it:
whatever is spelled otherwise (names twice, spaces, another order, other base64) is refused, so that two
nodes never read one object differently.  The context keeps an object of one kind from passing as another.
"""

from __future__ import annotations

import base64
import binascii
from typing import Protocol, TypeVar

import msgspec

from crdt.entries import verify
from crdt.errors import BadInput
from crdt.keys import Signer

CHARS_MAX = 16 << 10
"""What is read of a stranger at once (MESH.md 5)."""
_DOMAIN = b"atrium-v1\0"
_ENCODER = msgspec.json.Encoder()


class Issued(Protocol):
    """An object with the key that signs it."""

    @property
    def iss(self) -> bytes:
        """The issuer's public key."""
        ...


T = TypeVar("T", bound=Issued)


def seal(issued: Issued, context: str, signer: Signer) -> str:
    """Sign an object whose issuer is the signer."""
    if issued.iss != signer.public_key:
        raise AssertionError("nobody signs what another issues")
    payload = _ENCODER.encode(issued)
    return f"{spell(payload)}.{spell(signer.sign(message(context, payload)))}"


def unseal(sealed: str, context: str, kind: type[T]) -> T:
    """Read an object and check its signature; raises `BadInput` for anything that `seal` did not make."""
    payload, signature = _halves(sealed)
    try:
        issued = msgspec.json.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"a signed object can't be read ({error})") from error
    if _ENCODER.encode(issued) != payload:
        raise BadInput("a signed object is not spelled as its issuer spells it")
    if not verify(issued.iss, signature, message(context, payload)):
        raise BadInput("the signature of a signed object is not its issuer's")
    return issued


def message(context: str, payload: bytes) -> bytes:
    """Give the bytes that are signed."""
    return _DOMAIN + context.encode("ascii") + b"\0" + payload


def spell(data: bytes) -> str:
    """Write bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def unspell(text: str) -> bytes:
    """Read them; raises `BadInput` for another spelling, of which base64 has many."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if spell(data) != text:
        raise BadInput("a signed object holds what is no base64url")
    return data


def _halves(sealed: str) -> tuple[bytes, bytes]:
    if len(sealed) > CHARS_MAX:
        raise BadInput(f"a signed object has at most {CHARS_MAX} characters")
    payload, dot, signature = sealed.partition(".")
    if not dot:
        raise BadInput("a signed object has two halves with a dot between them")
    return unspell(payload), unspell(signature)
