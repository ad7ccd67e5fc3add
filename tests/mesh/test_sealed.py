"""Signed objects: only what their issuer made, in its one spelling, for its one purpose, is read."""

from __future__ import annotations

import base64

import msgspec
import pytest

from crdt.errors import BadInput
from mesh.sealed import CHARS_MAX, message, seal, spell, unseal, unspell
from tests.crdt.signers import SeedSigner

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object to sign."""

    iss: bytes
    n: int = 0


def signed(payload: bytes, signer: SeedSigner = ANNA, context: str = "note") -> str:
    """Sign any payload as an issuer could."""
    return f"{spell(payload)}.{spell(signer.sign(message(context, payload)))}"


@pytest.fixture
def payload() -> bytes:
    return msgspec.json.encode(Note(iss=ANNA.public_key, n=7))


def test_what_was_sealed_is_read_as_it_was(payload: bytes) -> None:
    note = Note(iss=ANNA.public_key, n=7)
    sealed = seal(note, "note", ANNA)
    assert sealed == signed(payload)
    assert unseal(sealed, "note", Note) == note


def test_every_flipped_bit_is_refused(payload: bytes) -> None:
    signature = ANNA.sign(message("note", payload))
    for part, other, is_payload in ((payload, signature, True), (signature, payload, False)):
        for bit in range(len(part) * 8):
            changed = bytearray(part)
            changed[bit // 8] ^= 1 << bit % 8
            halves = (bytes(changed), other) if is_payload else (other, bytes(changed))
            with pytest.raises(BadInput):
                unseal(".".join(map(spell, halves)), "note", Note)


def test_an_object_of_one_purpose_is_none_of_another(payload: bytes) -> None:
    with pytest.raises(BadInput, match="not its issuer's"):
        unseal(signed(payload, context="grant"), "note", Note)


def test_who_signs_in_another_s_name_is_refused(payload: bytes) -> None:
    with pytest.raises(BadInput, match="not its issuer's"):
        unseal(signed(payload, BEN), "note", Note)
    with pytest.raises(AssertionError):
        seal(Note(iss=ANNA.public_key), "note", BEN)


def test_a_key_that_vouches_for_anything_is_refused() -> None:
    weak = (1).to_bytes(32, "little")
    payload = msgspec.json.encode(Note(iss=weak))
    with pytest.raises(BadInput, match="not its issuer's"):
        unseal(f"{spell(payload)}.{spell(weak + bytes(32))}", "note", Note)


ISS = base64.b64encode(ANNA.public_key).decode("ascii")


@pytest.mark.parametrize(
    "spelled",
    [
        f'{{"iss": "{ISS}","n":7}}',
        f'{{"n":7,"iss":"{ISS}"}}',
        f'{{"iss":"{ISS}","n":7,"n":7}}',
        f'{{"iss":"{ISS}","n":7,"more":1}}',
        f'{{"iss":"{ISS}","n":NaN}}',
        f'{{"iss":"{ISS}","n":7.0}}',
        f'{{"iss":"{ISS}"}}',
        '{"n":7}',
        f'{{"iss":"{ISS}","n":7}} ',
        "[" * 100_000,
        "",
    ],
)
def test_another_spelling_is_refused_though_its_issuer_signed_it(spelled: str) -> None:
    with pytest.raises(BadInput):
        unseal(signed(spelled.encode()), "note", Note)


@pytest.mark.parametrize("spelled", ["YQ==", "YR", "Y Q", "Y", "YQ\n", "é", "+/+/"])
def test_base64_has_one_spelling(spelled: str) -> None:
    with pytest.raises(BadInput):
        unspell(spelled)
    assert unspell(spell(b"\xfb\xff")) == b"\xfb\xff"


def test_what_is_too_long_or_has_no_halves_is_not_looked_at(payload: bytes) -> None:
    with pytest.raises(BadInput, match="at most"):
        unseal("a" * (CHARS_MAX + 1), "note", Note)
    for text in ("", spell(payload), signed(payload) + ".", "." + signed(payload)):
        with pytest.raises(BadInput):
            unseal(text, "note", Note)
