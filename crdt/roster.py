"""Who belongs to a space and may do what there, as a pure function of the signed entries that say so.

The author of the genesis is the first owner.  An operation applies if its author is an owner at that place
of the order (hlc, author, hash).  Three rules keep every node at the same answer, whatever arrives first:

- Owners have seniority, the order in which they became owners.  Nobody changes or removes an owner but a
  senior one, the owner itself, or the key that it promised to be followed by.  Without this, a removed owner
  could remove its remover with an operation dated back.
- What a removed or revoked author says beyond the cut of its removal is void, its roster operations too.
  Since voiding these can change who was an owner, the fold is repeated until the cuts stay the same.
- The promise of a next key is made once; whoever steals the present key can't make another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec

from crdt.entries import Entry, EntryKind
from crdt.errors import EntryRefused, NotFound
from crdt.keys import commitment, is_acceptable

RIGHTS = frozenset(("read", "append", "moderate"))
NAME_CHARS_MAX = 100
FOLDS_MAX = 32
"""Each fold settles one more rank of seniority; a deeper roster is cut here, on every node alike."""

Right = Literal["read", "append", "moderate"]
SpaceKind = Literal["home", "private", "space"]
Cut = dict[int, int]
"""The last valid seq per incarnation; an incarnation that is not listed has none."""
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
_Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)]


class _Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower, omit_defaults=True):
    """The body of an entry about a space."""


class Genesis(_Body, frozen=True, kw_only=True):
    """The making of a space: its label, and its owner's node as people call it.

    `next` is the commitment (`keys.commitment`) of the key that will follow the owner's.
    """

    label: _Name
    kind: SpaceKind
    name: _Name
    made_ms: int
    next: _Bytes32 | None = None


class Add(_Body, frozen=True, kw_only=True):
    """Make a member, or change what one may do; adding a removed one again lifts its cut."""

    member: _Bytes32
    rights: list[Right]
    name: _Name
    owner: bool = False
    next: _Bytes32 | None = None


class Remove(_Body, frozen=True, kw_only=True):
    """End a membership; a member can also remove itself."""

    member: _Bytes32
    cut: Cut


class Revoke(_Body, frozen=True, kw_only=True):
    """Say that a key was stolen or lost: its author, the promised next key, stands in its place from now on.

    `next` is the commitment of the key after this one.
    """

    old: _Bytes32
    cut: Cut
    next: _Bytes32 | None = None


class Alias(_Body, frozen=True, kw_only=True):
    """Treat the space `own`, whose roster this is, as one with `into`."""

    own: _Bytes32
    into: _Bytes32


class Label(_Body, frozen=True, kw_only=True):
    """Give the space another label."""

    label: _Name


RosterOperation = Add | Remove | Revoke | Alias | Label

_ENCODER = msgspec.msgpack.Encoder()
_GENESIS = msgspec.msgpack.Decoder(Genesis)
_OPERATION = msgspec.msgpack.Decoder(RosterOperation)


def encode(body: Genesis | RosterOperation) -> bytes:
    """Write the body of an entry of kind `genesis` or `roster`."""
    if isinstance(body, Remove | Revoke):
        body = msgspec.structs.replace(body, cut=dict(sorted(body.cut.items())))
    return _ENCODER.encode(body)


def genesis_of(entry: Entry) -> Genesis:
    """Read what a genesis says; raises `EntryRefused` for one that says nothing."""
    try:
        return _GENESIS.decode(entry.body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EntryRefused(f"the first entry of a space can't be read ({error})") from error


def operation_of(entry: Entry) -> RosterOperation | None:
    """Read what a roster entry says; None for what this version doesn't know, which has no effect."""
    try:
        operation = _OPERATION.decode(entry.body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    named = operation.member if isinstance(operation, Add | Remove) else None
    return operation if named is None or is_acceptable(named) else None


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """How one key stands in a space; `since_hlc` is when it was last added or changed, or removed."""

    name: str
    rights: frozenset[str]
    owner: bool
    since_hlc: int
    removed: bool


class Roster:
    """The members of one space and their rights, as of all the entries that were given."""

    def __init__(self, fold: _Fold, entries: Sequence[Entry]) -> None:
        self._fold, self._entries = fold, entries

    @classmethod
    def of(cls, space: bytes, entries: Iterable[Entry]) -> Roster:
        """Fold the genesis and the roster entries of a space, in any order; others are passed over.

        Raises `NotFound` without the genesis.
        """
        genesis, operations = None, {}
        for entry in entries:
            if entry.kind == EntryKind.GENESIS and entry.hash == space:
                genesis = entry
            elif entry.kind == EntryKind.ROSTER and entry.space == space:
                operations[entry.hash] = entry
        if genesis is None:
            raise NotFound(f"there is no space {space.hex()[:12]} here", hint="run `atrium spaces`")
        ranked = sorted(operations.values(), key=lambda entry: (entry.hlc, entry.author, entry.hash))
        said = [(entry, operation) for entry in ranked if (operation := operation_of(entry)) is not None]
        cuts: dict[bytes, Cut] = {}
        for _ in range(FOLDS_MAX):
            fold = _Fold(genesis, cuts)
            for entry, operation in said:
                fold.apply(entry, operation)
            if fold.cuts == cuts:
                break
            cuts = fold.cuts
        return cls(fold, [genesis, *ranked])

    def extended(self, entries: Iterable[Entry]) -> Roster:
        """Fold in what else was said."""
        return Roster.of(self.space, [*self._entries, *entries])

    @property
    def space(self) -> bytes:
        """The id of the space."""
        return self._fold.space

    @property
    def label(self) -> str:
        """What people call the space."""
        return self._fold.label

    @property
    def kind(self) -> SpaceKind:
        """Whether it is a home, private (never replicated) or another space."""
        return self._fold.kind

    @property
    def owner(self) -> bytes:
        """The key that made the space, or the last that took its place."""
        return self._fold.owner

    @property
    def alias(self) -> bytes | None:
        """The space that this one is treated as one with."""
        return self._fold.alias

    @property
    def members(self) -> dict[bytes, Member]:
        """Everybody who is or was a member, by key, in the order of joining."""
        return {
            key: Member(
                name=standing.name,
                rights=standing.rights,
                owner=standing.seniority is not None,
                since_hlc=standing.since_hlc,
                removed=standing.removed,
            )
            for key, standing in self._fold.standings.items()
        }

    def knows(self, author: bytes) -> bool:
        """Tell whether this key is or was a member."""
        return author in self._fold.standings

    def may(self, author: bytes, right: str, hlc: int) -> bool:
        """Tell whether this key had a right at that reading of the clock."""
        standing = self._fold.standings.get(author)
        return standing is not None and right in standing.rights_at(hlc)

    def may_add(self, author: bytes, member: bytes) -> bool:
        """Tell whether an `Add` of this key by that author, or a change of its rights, would apply now."""
        return self._fold.may_add(author, member)

    def may_remove(self, author: bytes, member: bytes) -> bool:
        """Tell whether a `Remove` would apply now."""
        return self._fold.may_remove(author, member)

    def promise_of(self, member: bytes) -> bytes | None:
        """Give the commitment of the key that may take a member's place, None where there is none."""
        standing = self._fold.standings.get(member)
        return None if standing is None else standing.promise

    def is_void(self, author: bytes, inc: int, seq: int) -> bool:
        """Tell whether an entry lies beyond the cut of its author's removal or revocation."""
        return _is_beyond(self._fold.cuts.get(author), inc, seq)

    def standings(self) -> dict[bytes, bytes]:
        """Sum up each key's rights over time and its cut: equal bytes, equal answers about its entries."""
        return {
            key: _ENCODER.encode((standing.clocks, standing.granted, self._fold.cuts.get(key)))
            for key, standing in self._fold.standings.items()
        }

    def admits(self, entry: Entry) -> bool:
        """Tell whether the author may append this: as a member, or as the promised key that takes over."""
        return self.may(entry.author, "append", entry.hlc) or self._takes_over(entry)

    def _takes_over(self, entry: Entry) -> bool:
        operation = operation_of(entry) if entry.kind == EntryKind.ROSTER else None
        return isinstance(operation, Revoke) and self._fold.is_promised(entry.author, operation.old)


def _is_beyond(cut: Cut | None, inc: int, seq: int) -> bool:
    return cut is not None and seq > cut.get(inc, 0)


@dataclass(slots=True, kw_only=True)
class _Standing:
    """One key during the fold; `seniority` is None for who is no owner, 0 for the first of them."""

    name: str
    promise: bytes | None
    seniority: int | None = None
    removed: bool = False
    revoked: bool = False
    clocks: list[int] = field(default_factory=list)
    granted: list[frozenset[str]] = field(default_factory=list)

    @property
    def rights(self) -> frozenset[str]:
        return self.granted[-1]

    @property
    def since_hlc(self) -> int:
        return self.clocks[-1]

    def rights_at(self, hlc: int) -> frozenset[str]:
        position = bisect_right(self.clocks, hlc)
        return self.granted[position - 1] if position else frozenset()

    def grant(self, hlc: int, rights: frozenset[str]) -> None:
        self.clocks.append(hlc)
        self.granted.append(rights)


class _Fold:
    """What the operations so far amount to, given which entries are void."""

    def __init__(self, genesis: Entry, void: dict[bytes, Cut]) -> None:
        said = genesis_of(genesis)
        self.space = genesis.hash
        self.label, self.kind, self.owner = said.label, said.kind, genesis.author
        self.alias: bytes | None = None
        self.cuts: dict[bytes, Cut] = {}
        self._genesis, self._void, self._owners = genesis, void, 1
        first = _Standing(name=said.name, promise=said.next, seniority=0)
        # The owner's rights have no beginning: the genesis itself needs them.
        first.grant(0, RIGHTS)
        self.standings = {genesis.author: first}

    def apply(self, entry: Entry, operation: RosterOperation) -> None:
        if _is_beyond(self._void.get(entry.author), entry.inc, entry.seq):
            return
        match operation:
            case Add():
                self._add(entry, operation)
            case Remove():
                self._remove(entry, operation)
            case Revoke():
                self._revoke(entry, operation)
            case Alias(own=own, into=into):
                if own == self.space and self._is_owner(entry.author):
                    self.alias = into
            case Label(label=label):
                if self._is_owner(entry.author):
                    self.label = label

    def is_promised(self, key: bytes, old: bytes) -> bool:
        standing = self.standings.get(old)
        return standing is not None and standing.promise == commitment(key)

    def _is_owner(self, key: bytes) -> bool:
        standing = self.standings.get(key)
        return standing is not None and standing.seniority is not None

    def may_add(self, author: bytes, member: bytes) -> bool:
        standing = self.standings.get(member)
        return self._may_change(author, member) and (standing is None or not standing.revoked)

    def may_remove(self, author: bytes, member: bytes) -> bool:
        standing = self.standings.get(member)
        allowed = author == member or self._may_change(author, member)
        return standing is not None and not standing.removed and allowed

    def _may_change(self, author: bytes, member: bytes) -> bool:
        """Tell whether an owner may say something about a key: of owners, only of itself and of juniors."""
        by, of = self.standings.get(author), self.standings.get(member)
        if by is None or by.seniority is None:
            return False
        return of is None or of.seniority is None or author == member or by.seniority < of.seniority

    def _add(self, entry: Entry, add: Add) -> None:
        if not self.may_add(entry.author, add.member):
            return
        standing = self.standings.get(add.member)
        if standing is None:
            standing = self.standings[add.member] = _Standing(name=add.name, promise=add.next)
        standing.name, standing.removed = add.name, False
        standing.promise = standing.promise or add.next
        standing.grant(entry.hlc, frozenset(add.rights))
        self.cuts.pop(add.member, None)
        if not add.owner:
            standing.seniority = None
        elif standing.seniority is None:
            standing.seniority, self._owners = self._owners, self._owners + 1

    def _remove(self, entry: Entry, remove: Remove) -> None:
        if not self.may_remove(entry.author, remove.member):
            return
        self._end(remove.member, entry.hlc)
        self.cuts[remove.member] = self._cut(remove.member, remove.cut, entry)

    def _revoke(self, entry: Entry, revoke: Revoke) -> None:
        old, heir = self.standings.get(revoke.old), self.standings.get(entry.author)
        if old is None or old.revoked or not self.is_promised(entry.author, revoke.old):
            return
        if heir is None:
            heir = self.standings[entry.author] = _Standing(name=old.name, promise=revoke.next)
            heir.removed = old.removed
            heir.grant(entry.hlc, frozenset())
        if heir.revoked:
            return
        ranks = [rank for rank in (old.seniority, heir.seniority) if rank is not None]
        heir.seniority = min(ranks, default=None)
        heir.removed = heir.removed and old.removed
        heir.grant(entry.hlc, heir.rights | old.rights)
        if self.owner == revoke.old:
            self.owner = entry.author
        self._end(revoke.old, entry.hlc)
        old.revoked = True
        self.cuts[revoke.old] = self._cut(revoke.old, revoke.cut, entry)

    def _end(self, member: bytes, hlc: int) -> None:
        standing = self.standings[member]
        standing.removed, standing.seniority = True, None
        standing.grant(hlc, frozenset())

    def _cut(self, member: bytes, cut: Cut, entry: Entry) -> Cut:
        """Complete a cut: neither the genesis nor the operation that makes the cut can be void by it."""
        kept = dict(cut)
        for spared in (self._genesis, entry):
            if spared.author == member:
                kept[spared.inc] = max(kept.get(spared.inc, 0), spared.seq)
        return kept
