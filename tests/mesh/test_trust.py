"""Link tokens and grants: what they open, for whom, how long, and what is none."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from crdt.errors import BadInput
from mesh.sealed import seal, spell, unseal
from mesh.trust import (
    GRANT_CONTEXT,
    HINTS_MAX,
    TOKEN_CONTEXT,
    TTL_S_MAX,
    USES_MAX,
    Capability,
    Grant,
    LinkToken,
    Wish,
    covers,
    is_current,
    mint,
    parse,
)
from tests.crdt.signers import SeedSigner

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")
HOME, TEAM = b"h" * 32, b"t" * 32
NOW_S = 1_800_000_000


@pytest.fixture
def random_bytes() -> Callable[[int], bytes]:
    return random.Random(1).randbytes  # noqa: S311 - a replayable order


def can(space: bytes, *rights: str) -> Capability:
    return msgspec.convert({"space": space, "r": list(rights)}, Capability)


def test_a_token_is_read_as_it_was_made(random_bytes: Callable[[int], bytes]) -> None:
    hints = ("192.168.7.2:8765", "[fd00::2]:8765")
    wish = Wish(caps=[can(TEAM, "read"), can(HOME, "read", "append")], hints=hints, aud=BEN.public_key)
    made = mint(wish, ANNA, NOW_S, random_bytes)
    found = parse(f" {made.text}\n")
    assert found == made
    assert (found.said.iss, found.said.aud, found.hints) == (ANNA.public_key, BEN.public_key, hints)
    assert [one.space for one in found.said.caps] == [HOME, TEAM]
    assert found.said.exp - found.said.nbf == 15 * 60
    assert len(mint(Wish(caps=[can(HOME, "read")]), ANNA, NOW_S, random_bytes).text) < 600


def test_two_tokens_have_nothing_secret_in_common(random_bytes: Callable[[int], bytes]) -> None:
    one, other = (mint(Wish(caps=[can(HOME, "read")]), ANNA, NOW_S, random_bytes) for _ in range(2))
    assert one.seed != other.seed
    assert (one.said.jti, one.said.kp) != (other.said.jti, other.said.kp)
    assert spell(one.seed) not in one.sealed


def test_a_token_without_its_seed_or_with_another_s_is_none(random_bytes: Callable[[int], bytes]) -> None:
    one, other = (mint(Wish(caps=[can(HOME, "read")]), ANNA, NOW_S, random_bytes) for _ in range(2))
    for text in (
        f"atrium1.{one.sealed}",
        f"atrium1.{one.sealed}.{spell(other.seed)}",
        f"atrium1.{one.sealed}.{spell(one.seed[:-1])}",
        f"atrium2.{one.sealed}.{spell(one.seed)}",
        one.text + ".bm9uc2Vuc2U",
        one.text[:-1],
        one.text + "." + one.text,
        "",
        "x" * 100_000,
    ):
        with pytest.raises(BadInput):
            parse(text)


def test_a_grant_is_no_token_and_a_token_no_grant(random_bytes: Callable[[int], bytes]) -> None:
    token = mint(Wish(caps=[can(HOME, "read")]), ANNA, NOW_S, random_bytes)
    grant = Grant(
        v=1, iss=ANNA.public_key, aud=BEN.public_key, gid=random_bytes(16),
        caps=[can(HOME, "read")], nbf=NOW_S, exp=NOW_S + 9,
    )  # fmt: skip
    sealed = seal(grant, GRANT_CONTEXT, ANNA)
    assert unseal(sealed, GRANT_CONTEXT, Grant) == grant
    with pytest.raises(BadInput):
        unseal(sealed, TOKEN_CONTEXT, LinkToken)
    with pytest.raises(BadInput):
        parse(f"atrium1.{sealed}.{spell(token.seed)}")
    with pytest.raises(BadInput):
        unseal(token.sealed, GRANT_CONTEXT, Grant)


def test_what_a_token_may_be_is_bounded(random_bytes: Callable[[int], bytes]) -> None:
    for wish in (
        Wish(caps=[can(HOME, "read")], ttl_s=TTL_S_MAX + 1),
        Wish(caps=[can(HOME, "read")], ttl_s=0),
        Wish(caps=[can(HOME, "read")], uses=USES_MAX + 1),
        Wish(caps=[can(HOME, "read")], uses=0),
    ):
        with pytest.raises(BadInput):
            mint(wish, ANNA, NOW_S, random_bytes)


def test_addresses_that_nobody_signed_are_bounded(random_bytes: Callable[[int], bytes]) -> None:
    made = mint(Wish(caps=[can(HOME, "read")]), ANNA, NOW_S, random_bytes)
    many = [f"host-{number}:1" for number in range(HINTS_MAX + 5)]
    assert parse(f"{made.text}.{spell(msgspec.json.encode(many))}").hints == tuple(many[:HINTS_MAX])
    assert parse(f"{made.text}.{spell(msgspec.json.encode(['x' * 256, 'y']))}").hints == ("y",)


def test_a_token_is_good_from_its_beginning_until_before_its_end(
    random_bytes: Callable[[int], bytes],
) -> None:
    said = mint(Wish(caps=[can(HOME, "read")], ttl_s=60), ANNA, NOW_S, random_bytes).said
    found = [is_current(said, NOW_S + at) for at in (-1, 0, 59, 60)]
    assert found == [False, True, True, False]


def test_a_scope_is_only_ever_narrowed() -> None:
    given = [can(HOME, "read", "append"), can(TEAM, "read")]
    assert covers(given, [])
    assert covers(given, [can(HOME, "append")])
    assert covers(given, given[::-1])
    assert not covers(given, [can(HOME, "read", "moderate")])
    assert not covers(given, [can(TEAM, "append")])
    assert not covers(given, [can(b"x" * 32, "read")])
    assert not covers([], [can(HOME, "read")])
