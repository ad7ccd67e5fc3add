"""Real Ed25519 signers from fixed seeds, and feeds that they write, for the tests of all that is signed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from crdt import roster
from crdt.clock import pack
from crdt.entries import ZERO, Entry, EntryKind, FeedId, Position, seal
from crdt.keys import commitment
from crdt.roster import Add, Genesis, Right, RosterOperation, SpaceKind

START_MS = 1_700_000_000_000
ALL_RIGHTS: tuple[Right, ...] = ("read", "append", "moderate")


class SeedSigner:
    """A key made of a name, the same in every run; it signs as a node's own key does."""

    def __init__(self, name: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
        self.name = name
        self.public_key = self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


class Feed:
    """One author's log in one space and incarnation, as it grows; clocks rise by a millisecond an entry."""

    def __init__(self, signer: SeedSigner, space: bytes, inc: int = 1, start_ms: int = START_MS) -> None:
        self.signer, self.space, self.inc = signer, space, inc
        self.entries: list[Entry] = []
        self._start_ms = start_ms

    @property
    def id(self) -> FeedId:
        return FeedId(self.space, self.signer.public_key, self.inc)

    def say(self, kind: int, body: bytes, *, hlc: int | None = None) -> Entry:
        """Seal the next entry."""
        entry = self.branch(self.entries[-1] if self.entries else None, kind, body, hlc=hlc)
        self.entries.append(entry)
        return entry

    def branch(self, after: Entry | None, kind: int, body: bytes, *, hlc: int | None = None) -> Entry:
        """Seal an entry behind any earlier one, without making it the feed's last: a fork."""
        seq = after.seq + 1 if after else 1
        earliest = after.hlc + 1 if after else 0
        position = Position(
            feed=self.id,
            seq=seq,
            prev=after.hash if after else ZERO,
            hlc=max(pack(self._start_ms + seq), earliest) if hlc is None else hlc,
        )
        return seal(kind, body, position, self.signer)

    def records(self, count: int, size: int = 40) -> list[Entry]:
        """Say so many things that all differ."""
        first = len(self.entries)
        return [
            self.say(EntryKind.RECORD, f"{number:08d} ".encode().ljust(size, b"."))
            for number in range(first, first + count)
        ]

    def roster(self, operation: RosterOperation, *, hlc: int | None = None) -> Entry:
        """Say who may do what."""
        return self.say(EntryKind.ROSTER, roster.encode(operation), hlc=hlc)


def genesis(
    owner: SeedSigner,
    label: str = "home",
    *,
    kind: SpaceKind = "home",
    following: SeedSigner | None = None,
    start_ms: int = START_MS,
) -> Feed:
    """Make a space; the feed that is given back holds its genesis and goes on behind it."""
    body = Genesis(
        label=label,
        kind=kind,
        name=owner.name,
        made_ms=start_ms,
        next=commitment(following.public_key) if following else None,
    )
    feed = Feed(owner, ZERO, start_ms=start_ms)
    first = feed.branch(None, EntryKind.GENESIS, roster.encode(body))
    feed.space = first.hash
    feed.entries.append(first)
    return feed


def add(
    member: SeedSigner,
    rights: Sequence[Right] = ALL_RIGHTS,
    *,
    owner: bool = False,
    following: SeedSigner | None = None,
) -> Add:
    """Word the operation that makes somebody a member."""
    return Add(
        member=member.public_key,
        rights=list(rights),
        name=member.name,
        owner=owner,
        next=commitment(following.public_key) if following else None,
    )
