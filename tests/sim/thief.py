"""Somebody who has the keys of removed members, and puts branches beside what they said before the cut.

Each branch is truly signed, dated back and within the numbers that count.  Nodes that have the ends of the
feed refuse it; others take it, and make it void when the ends come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from crdt.entries import Entry, EntryKind, FeedId, Position, seal
from crdt.operations import NONCE_BYTES, Operation, encode, minted
from crdt.roster import Roster
from tests.crdt.signers import SeedSigner
from tests.sim import wire


@dataclass(frozen=True, slots=True)
class Stolen:
    """An entry of a thief's, and where its feed ended when it was made."""

    feed: FeedId
    ends: frozenset[bytes]


@dataclass(slots=True)
class Thief:
    """Makes messages; `stolen` has the hashes of entries that may count nowhere while their ends hold."""

    random: Random
    known: Callable[[], list[Entry]]
    signers: dict[bytes, SeedSigner]
    stolen: dict[bytes, Stolen] = field(default_factory=dict)

    def message(self, roster: Roster) -> wire.Message | None:
        """Make the next message; None while nobody was removed, or nothing of theirs is known."""
        ends = roster.all_ends()
        places = [
            entry
            for entry in self.known()
            if entry.feed in ends
            and entry.author in self.signers
            and not roster.is_void(entry.author, entry.inc, entry.seq + 1)
        ]
        if not places:
            return None
        after = self.random.choice(places)
        entry = self._beside(after)
        self.stolen[entry.hash] = Stolen(after.feed, ends[after.feed])
        return wire.Loose(entries=[entry.raw])

    def _beside(self, after: Entry) -> Entry:
        signer, nonce = self.signers[after.author], self.random.randbytes(NONCE_BYTES)
        operation = Operation(
            id=minted(signer.public_key, nonce),
            type="memory",
            set={"kind": "memory"},
            text="by a thief",
            nonce=nonce,
        )
        position = Position(feed=after.feed, seq=after.seq + 1, prev=after.hash, hlc=after.hlc + 1)
        return seal(EntryKind.RECORD, encode(operation), position, signer)
