"""Link tokens, by which a machine is let in, and grants, by which it comes back.

    atrium1.<payload>.<signature>.<seed>[.<hints>]

A token is good for who has its seed, the private half of the key that its payload names: whoever only sees
the payload, in a log or on a wire, has nothing.  Address hints ride outside of the signature, since an
address proves nothing.  A grant names its holder's key, and so is of use to nobody else.  Both say which
spaces they open by their ids, never by labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

from crdt.errors import BadInput
from crdt.keys import KEY_BYTES, Signer
from crdt.roster import RIGHTS, Right
from mesh.sealed import CHARS_MAX, seal, spell, unseal, unspell

TOKEN_CONTEXT, GRANT_CONTEXT = "token", "grant"
ID_BYTES = 16
TTL_S, TTL_S_MAX = 15 * 60, 7 * 86_400
GRANT_S = 30 * 86_400
"""A session renews a grant at half of this (MESH.md 5)."""
USES_MAX = 100
SPACES_MAX = 64
HINTS_MAX = 8
_HINT_CHARS_MAX = 255
_PREFIX = "atrium1"
_ASK = "ask for another token, and copy all of it"

_Bytes16 = Annotated[bytes, msgspec.Meta(min_length=ID_BYTES, max_length=ID_BYTES)]
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
_Seconds = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
_Uses = Annotated[int, msgspec.Meta(ge=1, le=USES_MAX)]


class Capability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be done in one space, by its id."""

    space: _Bytes32
    r: Annotated[list[Right], msgspec.Meta(min_length=1, max_length=len(RIGHTS))]


_Capabilities = Annotated[list[Capability], msgspec.Meta(min_length=1, max_length=SPACES_MAX)]


class LinkToken(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="link"
):
    """The signed part of a token; `kp` is the public half of its seed, `aud` the one key that may use it.

    Instants are seconds since 1970; `max` says how often it can be used.
    """

    v: Literal[1]
    iss: _Bytes32
    jti: _Bytes16
    kp: _Bytes32
    aud: _Bytes32 | None
    caps: _Capabilities
    nbf: _Seconds
    exp: _Seconds
    max: _Uses


class Grant(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="grant"
):
    """What the node `iss` lets the node `aud` do until `exp`; `gid` names it for its revocation."""

    v: Literal[1]
    iss: _Bytes32
    aud: _Bytes32
    gid: _Bytes16
    caps: _Capabilities
    nbf: _Seconds
    exp: _Seconds


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a token is asked to be; `aud` binds it to one key."""

    caps: list[Capability]
    ttl_s: int = TTL_S
    uses: int = 1
    aud: bytes | None = None
    hints: tuple[str, ...] = ()


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A whole token: its signed part as received, what that says, the seed, and addresses to try."""

    sealed: str
    said: LinkToken
    seed: bytes
    hints: tuple[str, ...]

    @property
    def text(self) -> str:
        """What a person carries from one machine to the other."""
        parts = [_PREFIX, self.sealed, spell(self.seed)]
        return ".".join([*parts, spell(msgspec.json.encode(self.hints))] if self.hints else parts)


def mint(wish: Wish, signer: Signer, now_s: int, random_bytes: Callable[[int], bytes]) -> Token:
    """Make a token; raises `BadInput` for one that would be good for too long or too often."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not 0 < wish.ttl_s <= TTL_S_MAX:
        raise BadInput("a token is good for at most seven days", hint="let it end earlier")
    if not 0 < wish.uses <= USES_MAX:
        raise BadInput(f"a token can be used at most {USES_MAX} times", hint="make several tokens")
    seed = random_bytes(KEY_BYTES)
    said = LinkToken(
        v=1,
        iss=signer.public_key,
        jti=random_bytes(ID_BYTES),
        kp=Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw(),
        aud=wish.aud,
        caps=_canonical(wish.caps),
        nbf=now_s,
        exp=now_s + wish.ttl_s,
        max=wish.uses,
    )
    hints = wish.hints[:HINTS_MAX]
    return Token(sealed=seal(said, TOKEN_CONTEXT, signer), said=said, seed=seed, hints=hints)


def parse(text: str) -> Token:
    """Read what a person carried here; raises `BadInput` for anything that no node has made.

    That it is truly its issuer's is checked; whether it is over is `is_current`, whether it is used up only
    its issuer knows.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    spelled = text.strip()
    parts = spelled.split(".")
    if len(spelled) > CHARS_MAX or parts[0] != _PREFIX or len(parts) not in (4, 5):
        raise BadInput("this is no link token, or not all of it", hint=_ASK)
    sealed, seed = ".".join(parts[1:3]), unspell(parts[3])
    said = unseal(sealed, TOKEN_CONTEXT, LinkToken)
    if len(seed) != KEY_BYTES:
        raise BadInput("the secret half of this token is not whole", hint=_ASK)
    if Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw() != said.kp:
        raise BadInput("the secret half of this token is that of another", hint=_ASK)
    return Token(sealed=sealed, said=said, seed=seed, hints=_hints(parts[4:]))


def is_current(issued: LinkToken | Grant, now_s: int) -> bool:
    """Tell whether an instant lies within what a token or a grant is good for."""
    return issued.nbf <= now_s < issued.exp


def covers(given: Sequence[Capability], wanted: Sequence[Capability]) -> bool:
    """Tell whether all that is wanted is given; nothing else makes a scope narrower."""
    rights: dict[bytes, set[str]] = {}
    for one in given:
        rights.setdefault(one.space, set()).update(one.r)
    return all(set(one.r) <= rights.get(one.space, set()) for one in wanted)


def _canonical(capabilities: Sequence[Capability]) -> list[Capability]:
    """Give each space once, in order, with its rights in order."""
    rights: dict[bytes, set[Right]] = {}
    for one in capabilities:
        rights.setdefault(one.space, set()).update(one.r)
    return [Capability(space=space, r=sorted(rights[space])) for space in sorted(rights)]


def _hints(parts: Sequence[str]) -> tuple[str, ...]:
    """Read the addresses that came along, which nobody signed."""
    if not parts:
        return ()
    try:
        hints = msgspec.json.decode(unspell(parts[0]), type=tuple[str, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput("the addresses in this token can't be read", hint=_ASK) from error
    return tuple(hint for hint in hints[:HINTS_MAX] if len(hint) <= _HINT_CHARS_MAX)
