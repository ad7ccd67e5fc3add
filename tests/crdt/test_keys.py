"""Keys of nodes: which are acceptable, and how they are spelled."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from crdt.errors import BadInput
from crdt.keys import NODE_ID_CHARS, commitment, fingerprint, is_acceptable, node_id, parse_node_id
from tests.crdt.signers import SeedSigner

KEY = SeedSigner("anna").public_key
PRIME = 2**255 - 19
SIGN = 1 << 255
EIGHTH = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7


def point(y: int) -> bytes:
    return y.to_bytes(32, "little")


@pytest.mark.parametrize("y", [0, 1, PRIME - 1, EIGHTH, PRIME - EIGHTH])
@pytest.mark.parametrize("sign", [0, SIGN])
def test_keys_of_small_order_are_refused_with_either_sign(y: int, sign: int) -> None:
    assert not is_acceptable(point(y | sign))


def test_there_are_no_more_points_of_small_order() -> None:
    """Eight points have few multiples: those of y = 1 and -1, two each of 0 and of the eighth roots."""
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    for y in (EIGHTH, PRIME - EIGHTH):
        # Doubling a point of order eight gives one of order four, of which y is 0: x squared is -y squared.
        x_squared = (y * y - 1) * pow(d * y * y + 1, -1, PRIME) % PRIME
        assert (y * y + x_squared) % PRIME == 0


@pytest.mark.parametrize("y", [PRIME, PRIME + 1, PRIME + 3, 2**255 - 1])
def test_second_spellings_are_refused(y: int) -> None:
    assert not is_acceptable(point(y))
    assert not is_acceptable(point(y | SIGN))


def test_a_signature_that_fits_any_message_is_why() -> None:
    """Without the check, whoever names such a key as the author could sign as it without a secret."""
    identity = point(1)
    Ed25519PublicKey.from_public_bytes(identity).verify(identity + bytes(32), b"any message at all")


@pytest.mark.parametrize("key", [b"", KEY[:-1], KEY + b"\0"])
def test_a_key_has_32_bytes(key: bytes) -> None:
    assert not is_acceptable(key)


def test_real_keys_are_acceptable() -> None:
    assert all(is_acceptable(SeedSigner(str(number)).public_key) for number in range(50))


def test_a_node_id_is_read_as_it_is_spelled() -> None:
    spelled = node_id(KEY)
    assert len(spelled) == NODE_ID_CHARS
    assert spelled == spelled.lower()
    assert parse_node_id(spelled) == KEY
    assert parse_node_id(f"  {spelled.upper()}\n") == KEY


def with_last(char: str) -> str:
    return node_id(KEY)[:-1] + char


@pytest.mark.parametrize(
    "text",
    [
        "",
        "anna",
        node_id(KEY)[:-1],
        node_id(KEY) + "a",
        node_id(KEY) + "====",
        node_id(point(1)),
        "é" * NODE_ID_CHARS,
        "1" * NODE_ID_CHARS,
        *(with_last(char) for char in "bcdefghijklmnoprstuvwxyz234567"),
    ],
)
def test_other_spellings_are_no_key_of_that_node(text: str) -> None:
    """The last character has four bits to spare, which must be zero."""
    with pytest.raises(BadInput) as raised:
        parse_node_id(text)
    assert "identity show" in raised.value.hint


def test_a_fingerprint_is_eight_groups_of_four() -> None:
    groups = fingerprint(KEY).split(" ")
    assert [len(group) for group in groups] == [4] * 8
    assert node_id(KEY).startswith("".join(groups))


def test_a_commitment_does_not_show_the_key() -> None:
    assert len(commitment(KEY)) == 32
    assert commitment(KEY) != commitment(SeedSigner("ben").public_key)
