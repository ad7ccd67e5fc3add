"""Sealed entries: what is written is what is read, and nothing else is taken for it."""

from __future__ import annotations

import random
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt.entries import (
    BODY_BYTES_MAX,
    HEADER_BYTES,
    SEQ_MAX,
    SIGNATURE_BYTES,
    ZERO,
    Entry,
    EntryKind,
    FeedId,
    Position,
    hash_of,
    is_signed,
    parse,
    seal,
    verify,
)
from crdt.errors import BadInput, EntryRefused
from tests.crdt.signers import Feed, SeedSigner, genesis

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")
SPACE = bytes(range(32))
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the points that signatures are made with (RFC 8032)."""


def position(**changes: object) -> Position:
    """Give the place of a second entry, or of another."""
    usual = Position(feed=FeedId(SPACE, ANNA.public_key, 7), seq=2, prev=b"p" * 32, hlc=5)
    return msgspec.structs.replace(usual, **changes)


def entry(body: bytes = b"body", **changes: object) -> Entry:
    return seal(EntryKind.RECORD, body, position(**changes), ANNA)


def with_header(made: Entry, at: int, data: bytes) -> bytes:
    """Overwrite bytes of the header and sign that, as the author itself could."""
    header = made.header[:at] + data + made.header[at + len(data) :]
    return header + (made.body or b"") + ANNA.sign(b"atrium-v1\0entry\0" + header)


@given(
    st.binary(max_size=300),
    st.integers(2, SEQ_MAX),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(2, 2**16 - 1),
)
def test_what_is_sealed_is_what_is_read(body: bytes, seq: int, hlc: int, inc: int, kind: int) -> None:
    place = position(feed=FeedId(SPACE, ANNA.public_key, inc), seq=seq, hlc=hlc)
    made = seal(kind, body, place, ANNA)
    read = parse(made.raw)
    assert read == made
    assert (read.feed, read.seq, read.prev, read.hlc) == (place.feed, seq, place.prev, hlc)
    assert (read.kind, read.body, read.body_size) == (kind, body, len(body))
    assert is_signed(read)


def test_the_hash_is_of_header_and_signature_and_so_names_the_body_too() -> None:
    made = entry()
    assert made.hash == hash_of(made.header, made.signature)
    assert len(made.header) == HEADER_BYTES == 160
    assert made.body_sha256 == made.header[-32:]
    assert entry(b"other").hash != made.hash


def test_a_genesis_belongs_to_the_space_that_it_makes() -> None:
    home = genesis(ANNA)
    first, second = home.entries[0], home.records(1)[0]
    assert first.space == ZERO
    assert first.home == home.space == first.hash == second.prev == second.home
    assert first.feed == second.feed


def test_an_erased_body_leaves_an_entry_that_still_verifies() -> None:
    made = entry()
    bare = made.header + made.signature
    with pytest.raises(EntryRefused):
        parse(bare)
    read = parse(bare, erased=True)
    assert (read.body, read.hash, read.body_size, read.raw) == (None, made.hash, 4, bare)
    assert is_signed(read)
    assert parse(made.raw, erased=True).body == b"body"
    assert parse(entry(b"").raw, erased=True).body == b""


def test_a_body_of_the_limit_is_taken_and_one_beyond_is_not() -> None:
    largest = bytes(BODY_BYTES_MAX)
    assert parse(entry(largest).raw).body == largest
    with pytest.raises(BadInput, match="512 KiB"):
        entry(largest + b"x")
    with pytest.raises(EntryRefused):
        parse(entry(largest).raw + b"x")


@pytest.mark.parametrize(
    ("at", "data"),
    [
        pytest.param(0, b"A2", id="magic"),
        pytest.param(2, ZERO, id="no space, and no genesis"),
        pytest.param(34, bytes([1]) + bytes(31), id="author of small order"),
        pytest.param(34, b"\xff" * 32, id="author in a second spelling"),
        pytest.param(74, bytes(8), id="seq 0"),
        pytest.param(74, struct.pack(">Q", 1), id="first, and something before it"),
        pytest.param(74, struct.pack(">Q", SEQ_MAX + 1), id="seq beyond the limit"),
        pytest.param(82, ZERO, id="second, and nothing before it"),
        pytest.param(114, struct.pack(">Q", 2**63), id="clock beyond the limit"),
        pytest.param(122, struct.pack(">H", EntryKind.GENESIS), id="genesis in a space"),
        pytest.param(124, struct.pack(">I", 3), id="smaller body"),
        pytest.param(124, struct.pack(">I", 0), id="no body"),
        pytest.param(124, struct.pack(">I", 2**32 - 1), id="huge body"),
        pytest.param(128, bytes(32), id="other body"),
    ],
)
def test_impossible_headers_are_refused_though_they_are_signed(at: int, data: bytes) -> None:
    with pytest.raises(EntryRefused):
        parse(with_header(entry(), at, data))


@pytest.mark.parametrize("size", [0, 1, HEADER_BYTES, HEADER_BYTES + SIGNATURE_BYTES - 1])
def test_what_is_too_short_is_refused(size: int) -> None:
    with pytest.raises(EntryRefused):
        parse(entry().raw[:size])


def test_what_is_cut_or_has_more_behind_it_is_refused() -> None:
    raw = entry().raw
    for odd in (raw[:-1], raw[1:], raw + b"\0", raw + raw):
        with pytest.raises(EntryRefused):
            parse(odd)


def test_an_impossible_position_is_not_even_sealed() -> None:
    for odd in ({"seq": 1}, {"prev": ZERO}, {"seq": SEQ_MAX + 1}, {"hlc": 2**63}):
        with pytest.raises(EntryRefused):
            entry(**odd)


def test_nobody_seals_for_another() -> None:
    with pytest.raises(AssertionError):
        seal(EntryKind.RECORD, b"", position(), BEN)


def test_another_s_signature_is_none() -> None:
    made = entry()
    forged = made.header + b"body" + BEN.sign(b"atrium-v1\0entry\0" + made.header)
    assert not is_signed(parse(forged))
    assert not is_signed(parse(made.header + b"body" + ANNA.sign(made.header)))


def test_a_signature_has_one_spelling() -> None:
    """Adding the order of the group to its second half is the same signature to a lax verifier."""
    made = entry()
    scalar = int.from_bytes(made.signature[32:], "little") + GROUP_ORDER
    respelled = made.signature[:32] + scalar.to_bytes(32, "little")
    assert not is_signed(parse(made.header + b"body" + respelled))


def test_keys_of_small_order_verify_nothing() -> None:
    identity = bytes([1]) + bytes(31)
    assert not verify(identity, identity + bytes(32), b"any message")
    assert not verify(b"short", bytes(64), b"")
    assert not verify(ANNA.public_key, b"short", b"")


def test_of_2000_flipped_bits_none_is_accepted() -> None:
    draw = random.Random(7)  # noqa: S311
    feed = Feed(ANNA, SPACE, inc=3)
    raws = [made.raw for made in feed.records(20, size=200)]
    accepted = []
    for _ in range(2_000):
        raw = bytearray(draw.choice(raws))
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
        try:
            read = parse(bytes(raw), erased=draw.random() < 0.5)
        except EntryRefused:
            continue
        if is_signed(read):
            accepted.append(read)
    assert accepted == []
