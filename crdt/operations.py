"""One operation on one record: the body of an entry of kind `record`.

A record is nothing but the set of operations on it; `reducer` says what that set amounts to.  Every
operation names in `base` the heads that its author saw (the hashes of the entries nobody had built on yet),
so that what is concurrent can be told from what is later.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid

import msgspec

from crdt.errors import BadInput

BASE_MAX = 64
TAGS_MAX = 64
TAG_CHARS_MAX = 100
FIELDS_MAX = 64
ID_CHARS_MAX = 128
AGENT_CHARS_MAX = 64
BY_CHARS_MAX = 256
TEXT_BYTES_MAX = 256 << 10
NONCE_BYTES = 16

Value = None | bool | int | float | str | list[str]
"""What a field may hold.  Structures are spelled as JSON in a string by the type that has them."""


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one agent did to one record.

    `nonce` comes with the creation and makes the id certify its author (`minted`).  `text` replaces the
    content; `update` is a pycrdt update of a collaborative document.  A dot in `untag` is (tag, hash of
    the entry that added it).  `at` and `by` are the clock and `agent@node` of an operation that was
    imported from elsewhere, whose signature could not come along; `source` is the hash that it had there.
    """

    id: str
    type: str
    agent: str = "local"
    set: dict[str, Value] = {}
    tag: list[str] = []
    untag: list[tuple[str, bytes]] = []
    text: str | None = None
    update: bytes | None = None
    base: list[bytes] = []
    deleted: bool | None = None
    nonce: bytes | None = None
    at: int | None = None
    by: str | None = None
    source: bytes | None = None


class Stamped(msgspec.Struct, frozen=True, kw_only=True):
    """An operation with what its sealed entry adds: hash, author's key and hybrid clock."""

    operation: Operation
    hash: bytes
    author: bytes
    hlc: int

    @property
    def rank(self) -> tuple[int, bytes, bytes]:
        """The order in which the last writer wins."""
        return self.hlc, self.author, self.hash


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_DECODER = msgspec.msgpack.Decoder(Operation)


def encode(operation: Operation) -> bytes:
    """Write an operation as the body of an entry."""
    return _ENCODER.encode(operation)


def decode(body: bytes) -> Operation:
    """Read the body of an entry; raises `BadInput` for what is no operation or breaks a limit."""
    try:
        operation = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"a record's operation can't be read ({error})") from error
    _check(operation)
    return operation


def mint(author: bytes) -> tuple[str, bytes]:
    """Make the id of a new record and the nonce that proves whose it is."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return minted(author, nonce), nonce


def minted(author: bytes, nonce: bytes) -> str:
    """Derive a record id, spelled as a UUID of version 4, that only this author could have made.

    To anyone without the nonce it is random.  Nobody finds a second (author, nonce) for it, so an id says
    who created the record, and nobody can claim another's by an earlier clock.
    """
    digest = hashlib.sha256(b"atrium-v1\0record\0" + author + nonce).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _check(operation: Operation) -> None:
    bounded = (
        (0 < len(operation.id) <= ID_CHARS_MAX, "id"),
        (0 < len(operation.type) <= ID_CHARS_MAX, "type"),
        (len(operation.agent) <= AGENT_CHARS_MAX, "agent"),
        (len(operation.set) <= FIELDS_MAX, "set"),
        (len(operation.tag) <= TAGS_MAX and all(_is_tag(tag) for tag in operation.tag), "tag"),
        (len(operation.untag) <= TAGS_MAX * 4 and all(len(h) == 32 for _, h in operation.untag), "untag"),
        (len(operation.base) <= BASE_MAX and all(len(h) == 32 for h in operation.base), "base"),
        (len((operation.text or "").encode("utf-8", "surrogatepass")) <= TEXT_BYTES_MAX, "text"),
        (len(operation.update or b"") <= TEXT_BYTES_MAX, "update"),
        (operation.nonce is None or len(operation.nonce) == NONCE_BYTES, "nonce"),
        (len(operation.by or "") <= BY_CHARS_MAX, "by"),
        (operation.source is None or len(operation.source) == 32, "source"),
    )
    for is_fine, name in bounded:
        if not is_fine:
            raise BadInput(f"a record's operation breaks the limit of `{name}`")


def _is_tag(tag: str) -> bool:
    return 0 < len(tag) <= TAG_CHARS_MAX
