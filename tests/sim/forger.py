"""Somebody who knows everything that is said, has a key, and sends whatever may do harm.

As an outsider the forger signs in the names of others; as Mallory, a member who may append and no more, it
breaks the rules of its own feed and claims what is others'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import msgspec

from crdt import pages, roster
from crdt.clock import pack
from crdt.entries import ZERO, Entry, EntryKind, FeedId, Position, parse, seal
from crdt.errors import EntryRefused
from crdt.operations import NONCE_BYTES, Operation, encode, minted
from crdt.pages import Page
from crdt.roster import Remove, Revoke, RosterOperation
from tests.crdt.signers import ALL_RIGHTS, SeedSigner, add
from tests.sim import wire
from tests.sim.network import flipped

FORGED = "FORGED"
"""Stands in every text that nobody may ever see."""
HOUR_MS = 3_600_000


class Signs(Protocol):
    """Makes 64 bytes for a message."""

    def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Copied:
    """Has one signature, of another message."""

    entry: Entry

    def sign(self, _: bytes) -> bytes:
        return self.entry.signature


@dataclass(frozen=True, slots=True)
class Impostor:
    """Says to be an author, whose key it doesn't have."""

    public_key: bytes
    hand: Signs

    def sign(self, message: bytes) -> bytes:
        return self.hand.sign(message)


@dataclass(slots=True)
class Forger:
    """Makes messages; `forged` has the hashes of entries that no store may commit.

    `erased` names entries of others that Mallory says are erased.
    """

    random: Random
    space: bytes
    known: Callable[[], list[Entry]]
    now_ms: Callable[[], int]
    mallory: SeedSigner = field(default_factory=lambda: SeedSigner("mallory"))
    outsider: SeedSigner = field(default_factory=lambda: SeedSigner("outsider"))
    forged: dict[bytes, str] = field(default_factory=dict)
    erased: set[bytes] = field(default_factory=set)
    forged_pages: list[wire.PageOf] = field(default_factory=list)
    _own: list[Entry] = field(default_factory=list)

    def message(self) -> wire.Message | None:
        """Make the next message; None where there is nothing yet to begin with."""
        make = self.random.choice(
            (
                self._in_another_name,
                self._in_another_name,
                self._changed,
                self._bits,
                self._page,
                self._as_outsider,
                self._honest,
                self._honest,
                self._gap,
                self._wrong_prev,
                self._backdated,
                self._another_s_record,
                self._another_s_record,
                self._early,
                self._fork,
                self._promotion,
                self._erasure,
            )
        )
        return make()

    def _in_another_name(self) -> wire.Message | None:
        """Continue somebody's feed, or begin one, signed with another key."""
        entry = self._any()
        if entry is None:
            return None
        is_new = self.random.random() < 0.3
        position = Position(
            feed=FeedId(self.space, entry.author, self.random.getrandbits(64) if is_new else entry.inc),
            seq=1 if is_new else entry.seq + 1,
            prev=ZERO if is_new else entry.hash,
            hlc=max(entry.hlc + 1, pack(self.now_ms())),
        )
        impostor = Impostor(entry.author, self.outsider)
        return self._forge(
            "signed with another key", seal(EntryKind.RECORD, self._body(), position, impostor)
        )

    def _changed(self) -> wire.Message | None:
        """Put another body under a true signature, and the header right."""
        entry = self._any()
        if entry is None:
            return None
        impostor = Impostor(entry.author, Copied(entry))
        position = Position(feed=entry.feed, seq=entry.seq, prev=entry.prev, hlc=entry.hlc)
        return self._forge("another body", seal(entry.kind, self._body(), position, impostor))

    def _bits(self) -> wire.Message | None:
        """Turn over one bit of a true entry."""
        entry = self._any()
        if entry is None:
            return None
        raw = flipped(entry.raw, self.random)
        try:
            self.forged[parse(raw, erased=True).hash] = "a bit turned over"
        except EntryRefused:
            return wire.Loose(entries=[raw])
        return wire.Loose(entries=[raw])

    def _page(self) -> wire.Message | None:
        """Put true entries into a page that their author did not make."""
        entry = self._any()
        if entry is None:
            return None
        feed, number = entry.feed, self.random.choice((1, 2, 7))
        other = msgspec.structs.replace(feed, inc=feed.inc ^ 1)
        page = Page(feed=other, number=number, entries=[entry], is_sealed=False)
        made = wire.PageOf(
            space=self.space,
            author=feed.author,
            inc=feed.inc,
            number=number,
            since=0,
            update=pages.encode(page),
        )
        self.forged_pages.append(made)
        return made

    def _as_outsider(self) -> wire.Message | None:
        """Write as who is no member at all."""
        position = Position(
            feed=FeedId(self.space, self.outsider.public_key, self.random.getrandbits(64)),
            seq=1,
            prev=ZERO,
            hlc=pack(self.now_ms()),
        )
        return self._forge("no member", seal(EntryKind.RECORD, self._body(), position, self.outsider))

    def _honest(self) -> wire.Message | None:
        """Do as members do, so that there is a feed to break."""
        nonce = self.random.randbytes(NONCE_BYTES)
        operation = Operation(
            id=minted(self.mallory.public_key, nonce),
            type="memory",
            set={"kind": "memory"},
            text="of mallory",
            nonce=nonce,
        )
        entry = seal(EntryKind.RECORD, encode(operation), self._next(), self.mallory)
        self._own.append(entry)
        return self._sent_own()

    def _sent_own(self) -> wire.Message:
        return wire.Loose(entries=[entry.raw for entry in self._own[-self.random.randint(1, 4) :]])

    def _gap(self) -> wire.Message | None:
        """Leave out a number."""
        following = msgspec.structs.replace(self._next(), prev=self.random.randbytes(32))
        skipped = msgspec.structs.replace(following, seq=following.seq + self.random.randint(1, 3))
        return self._forge("behind a gap", seal(EntryKind.RECORD, self._body(), skipped, self.mallory))

    def _wrong_prev(self) -> wire.Message | None:
        """Follow an entry of another feed, or of another number."""
        entry = self._any()
        if entry is None:
            return None
        seq = entry.seq + self.random.choice((1, 2))
        position = msgspec.structs.replace(self._next(), seq=seq, prev=entry.hash, hlc=pack(self.now_ms()))
        if entry.author == self.mallory.public_key and seq == entry.seq + 1:
            return None
        return self._forge("a wrong prev", seal(EntryKind.RECORD, self._body(), position, self.mallory))

    def _backdated(self) -> wire.Message | None:
        """Have a clock that is not behind that of the entry before."""
        if not self._own:
            return None
        hlc = self._own[-1].hlc - self.random.choice((0, 1, HOUR_MS << 16))
        position = msgspec.structs.replace(self._next(), hlc=hlc)
        return self._forge("dated back", seal(EntryKind.RECORD, self._body(), position, self.mallory))

    def _another_s_record(self) -> wire.Message | None:
        """Say in one's own feed what is another's to say: an edit of a record, or that one made it."""
        target = self._record_of_another()
        if target is None:
            return None
        is_claim = self.random.random() < 0.5
        operation = msgspec.structs.replace(
            target,
            text=FORGED if target.type == "memory" else None,
            update=None,
            set={"kind": "memory"} if target.type == "memory" else {"title": FORGED},
            tag=[FORGED],
            untag=[],
            deleted=None,
            nonce=self.random.randbytes(NONCE_BYTES) if is_claim else None,
            base=[] if is_claim else target.base,
        )
        self._own.append(seal(EntryKind.RECORD, encode(operation), self._next(), self.mallory))
        return self._sent_own()

    def _early(self) -> wire.Message | None:
        """Have a clock far ahead, in a feed that holds nothing else; it counts once its time has come."""
        nonce = self.random.randbytes(NONCE_BYTES)
        said = Operation(
            id=minted(self.mallory.public_key, nonce),
            type="memory",
            set={"kind": "memory"},
            text="from the future",
            nonce=nonce,
        )
        position = Position(
            feed=FeedId(self.space, self.mallory.public_key, self.random.getrandbits(64)),
            seq=1,
            prev=ZERO,
            hlc=pack(self.now_ms() + self.random.randint(6, 60) * 60_000),
        )
        return wire.Loose(entries=[seal(EntryKind.RECORD, encode(said), position, self.mallory).raw])

    def _promotion(self) -> wire.Message | None:
        """Say that one is an owner, or that an owner's key is revoked in one's favour."""
        entry = self._any()
        old = self.outsider.public_key if entry is None else entry.author
        said: RosterOperation = self.random.choice(
            (add(self.mallory, ALL_RIGHTS, owner=True), Revoke(old=old, cut={}), Remove(member=old, cut={}))
        )
        self._own.append(seal(EntryKind.ROSTER, roster.encode(said), self._next(), self.mallory))
        return self._sent_own()

    def _erasure(self) -> wire.Message | None:
        """Say that what another said is erased."""
        entry = self._any()
        if entry is None or entry.author == self.mallory.public_key:
            return None
        self.erased.add(entry.hash)
        self._own.append(seal(EntryKind.ERASE, entry.hash, self._next(), self.mallory))
        return self._sent_own()

    def _fork(self) -> wire.Message | None:
        """Say two things at one place."""
        if len(self._own) < 2:
            return None
        self._own.pop()
        return self._honest()

    def _forge(self, what: str, entry: Entry) -> wire.Message:
        self.forged[entry.hash] = what
        return wire.Loose(entries=[entry.raw])

    def _any(self) -> Entry | None:
        known = [entry for entry in self.known() if entry.kind == EntryKind.RECORD]
        return self.random.choice(known) if known else None

    def _record_of_another(self) -> Operation | None:
        for _ in range(5):
            entry = self._any()
            if entry is None or entry.author == self.mallory.public_key or entry.body is None:
                continue
            operation = msgspec.msgpack.decode(entry.body, type=Operation)
            if operation.type in ("memory", "task") and operation.nonce is not None:
                return operation
        return None

    def _body(self) -> bytes:
        target = self._record_of_another()
        if target is None:
            return encode(Operation(id="x", type="memory", text=FORGED))
        return encode(msgspec.structs.replace(target, text=FORGED, update=None, tag=[FORGED]))

    def _next(self) -> Position:
        """Give the place behind the last entry of Mallory's feed."""
        last = self._own[-1] if self._own else None
        return Position(
            feed=FeedId(self.space, self.mallory.public_key, 1),
            seq=last.seq + 1 if last else 1,
            prev=last.hash if last else ZERO,
            hlc=max(last.hlc + 1 if last else 0, pack(self.now_ms())),
        )
