"""One entry of a feed: a fixed-width header, a body, and the author's signature over the header.

    offset  bytes  field                    integers are big-endian
    0       2      magic "A1"
    2       32     space                    zeros in the genesis of a space, whose hash the space is named by
    34      32     author                   Ed25519 public key
    66      8      inc                      incarnation, 64 random bits
    74      8      seq                      1, 2, 3 ... within (space, author, inc)
    82      32     prev                     hash of entry seq - 1, zeros for the first
    114     8      hlc                      rises strictly within a feed
    122     2      kind
    124     4      body_size
    128     32     body_sha256
    160            body, then 64 bytes of signature

`hash` is the SHA-256 of header and signature.  The header holds the body's hash, so that this names every
byte of the entry, and a chain can still be verified when a body was erased (DECISIONS.md 21).
"""

from __future__ import annotations

import hashlib
import struct
from enum import IntEnum

import msgspec

from crdt.errors import BadInput, EntryRefused
from crdt.keys import KEY_BYTES, Signer, is_acceptable

MAGIC = b"A1"
BODY_BYTES_MAX = 512 << 10
SIGNATURE_BYTES = 64
HASH_BYTES = 32
ZERO = bytes(HASH_BYTES)
SEQ_MAX = (1 << 48) - 1
_HEADER = struct.Struct(">2s32s32sQQ32sQHI32s")
HEADER_BYTES = _HEADER.size
_BODY_SIZE_AT = 124
_CONTEXT = b"atrium-v1\0entry\0"
_HLC_MAX = (1 << 63) - 1


class EntryKind(IntEnum):
    """What an entry is about (DECISIONS.md 9).  Unknown kinds are stored and relayed, never applied."""

    GENESIS = 1
    ROSTER = 2
    RECORD = 3
    SEGMENT = 4
    TAIL = 5
    SUPERSEDE = 6
    TOMBSTONE = 7
    CHECKPOINT = 8
    ERASE = 9


class FeedId(msgspec.Struct, frozen=True, order=True):
    """One author's log in one space and incarnation."""

    space: bytes
    author: bytes
    inc: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed entry.  `body` is None where it was erased; `header` and `signature` are its exact bytes."""

    space: bytes
    author: bytes
    inc: int
    seq: int
    prev: bytes
    hlc: int
    kind: int
    body: bytes | None
    header: bytes
    signature: bytes
    hash: bytes

    @property
    def feed(self) -> FeedId:
        """The feed that the entry belongs to; a genesis belongs to the space that it makes."""
        return FeedId(self.home, self.author, self.inc)

    @property
    def home(self) -> bytes:
        """The space that the entry belongs to."""
        return self.hash if self.kind == EntryKind.GENESIS else self.space

    @property
    def raw(self) -> bytes:
        """The bytes that travel; without a body where that was erased, whatever the header says."""
        return self.header + (self.body or b"") + self.signature

    @property
    def body_sha256(self) -> bytes:
        """The hash that the header gives of the body."""
        return self.header[-HASH_BYTES:]

    @property
    def body_size(self) -> int:
        """The size that the header gives of the body."""
        return int.from_bytes(self.header[_BODY_SIZE_AT : _BODY_SIZE_AT + 4])


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What an author wants to say, before it has a place in a feed."""

    space: bytes
    kind: int
    body: bytes


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry goes: its feed, its number there, the hash before it, and its clock."""

    feed: FeedId
    seq: int
    prev: bytes
    hlc: int


def seal(kind: int, body: bytes, position: Position, signer: Signer) -> Entry:
    """Sign an entry; raises `BadInput` for a body over 512 KiB, `EntryRefused` for an impossible position."""
    if len(body) > BODY_BYTES_MAX:
        raise BadInput(
            f"one entry holds at most {BODY_BYTES_MAX >> 10} KiB, this has {len(body) >> 10}",
            hint="write it in several parts",
        )
    feed = position.feed
    if feed.author != signer.public_key:
        raise AssertionError("a node seals only what it says itself")
    header = _HEADER.pack(
        MAGIC, feed.space, feed.author, feed.inc, position.seq, position.prev, position.hlc, kind,
        len(body), hashlib.sha256(body).digest(),
    )  # fmt: skip
    # Read back as a receiver will, since an entry that nobody takes would end the feed for everybody.
    return parse(header + body + signer.sign(_CONTEXT + header))


def hash_of(header: bytes, signature: bytes) -> bytes:
    """Name an entry."""
    return hashlib.sha256(header + signature).digest()


def parse(raw: bytes, *, erased: bool = False) -> Entry:
    """Read an entry from its exact bytes and check all but the signature; raises `EntryRefused`.

    `erased` accepts an entry that comes without its body.
    """
    if not HEADER_BYTES + SIGNATURE_BYTES <= len(raw) <= HEADER_BYTES + BODY_BYTES_MAX + SIGNATURE_BYTES:
        raise EntryRefused(f"an entry can't have {len(raw)} bytes")
    header, signature = raw[:HEADER_BYTES], raw[-SIGNATURE_BYTES:]
    body = raw[HEADER_BYTES:-SIGNATURE_BYTES]
    magic, space, author, inc, seq, prev, hlc, kind, body_size, body_sha256 = _HEADER.unpack(header)
    if magic != MAGIC:
        raise EntryRefused("an entry begins with other bytes than A1")
    if not is_acceptable(author):
        raise EntryRefused("an entry's author is no acceptable key")
    if not 1 <= seq <= SEQ_MAX or hlc > _HLC_MAX or body_size > BODY_BYTES_MAX:
        raise EntryRefused("an entry has a number out of bounds")
    if (seq == 1) != (prev == ZERO):
        raise EntryRefused("an entry's number and the hash before it disagree")
    if (kind == EntryKind.GENESIS) != (space == ZERO) or (kind == EntryKind.GENESIS and seq != 1):
        raise EntryRefused("only the first entry of a space is without one")
    is_erased = erased and not body and body_size > 0
    if not is_erased and (len(body) != body_size or hashlib.sha256(body).digest() != body_sha256):
        raise EntryRefused("an entry's body is not the one that its header names")
    return Entry(
        space=space, author=author, inc=inc, seq=seq, prev=prev, hlc=hlc, kind=kind,
        body=None if is_erased else body, header=header, signature=signature, hash=hash_of(header, signature),
    )  # fmt: skip


def is_signed(entry: Entry) -> bool:
    """Verify the signature (about 0.2 ms)."""
    return verify(entry.author, entry.signature, _CONTEXT + entry.header)


def verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Verify an Ed25519 signature by an acceptable key."""
    # Imported here, since readers of a store need no cryptography.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(public_key) != KEY_BYTES or not is_acceptable(public_key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
