"""Operations: their bytes, their limits, and ids that say whose a record is."""

from __future__ import annotations

import uuid

import msgspec
import pytest

from crdt.errors import BadInput
from crdt.operations import NONCE_BYTES, TEXT_BYTES_MAX, Operation, decode, encode, mint, minted
from tests.crdt.record_kit import ANN, BEN, stamp

HASH = bytes(32)
WHOLE = Operation(
    id="r", type="memory", agent="a", set={"kind": "doc", "n": 1, "f": 0.5, "l": ["x"], "none": None},
    tag=["t"], untag=[("t", HASH)], text="text", update=b"u", base=[HASH], deleted=False,
    nonce=bytes(NONCE_BYTES), at=3, by="ann@one", source=HASH,
)  # fmt: skip


def test_an_operation_survives_its_bytes() -> None:
    assert decode(encode(WHOLE)) == WHOLE
    assert decode(encode(Operation(id="r", type="t"))) == Operation(id="r", type="t")


def test_the_order_of_fields_does_not_change_the_bytes() -> None:
    turned = msgspec.structs.replace(WHOLE, set=dict(reversed(WHOLE.set.items())))
    assert encode(turned) == encode(WHOLE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", ""),
        ("id", "i" * 129),
        ("type", ""),
        ("agent", "a" * 65),
        ("set", {f"f{number}": 1 for number in range(65)}),
        ("tag", [""]),
        ("tag", ["t" * 101]),
        ("tag", [f"t{number}" for number in range(65)]),
        ("untag", [("t", b"short")]),
        ("base", [HASH] * 65),
        ("base", [b"short"]),
        ("text", "ö" * (TEXT_BYTES_MAX // 2 + 1)),
        ("update", bytes(TEXT_BYTES_MAX + 1)),
        ("nonce", b"short"),
        ("by", "b" * 257),
        ("source", b"short"),
    ],
)
def test_what_breaks_a_limit_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"`{name}`"):
        decode(encode(msgspec.structs.replace(WHOLE, **{name: value})))


@pytest.mark.parametrize("body", [b"", b"\x80", b"\xff", encode(WHOLE)[:-1], b"\x91" * 100_000])
def test_what_is_no_operation_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        decode(body)


def test_an_id_is_its_author_s_and_looks_like_any_other() -> None:
    identity, nonce = mint(ANN)
    assert minted(ANN, nonce) == identity
    assert minted(BEN, nonce) != identity
    assert uuid.UUID(identity).version == 4
    assert mint(ANN)[0] != identity


def test_rank_is_clock_then_author_then_hash() -> None:
    one, other = stamp(WHOLE, 1, BEN), stamp(WHOLE, 2, ANN)
    assert one.rank < other.rank
    assert one.rank == (1, BEN, one.hash)
