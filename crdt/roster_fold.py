"""Fold roster operations in their order into what they amount to; `roster` says by which rules.

One fold takes for granted which entries are void and finds the cuts that follow; `roster` repeats it until
the two agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crdt.entries import Entry
from crdt.keys import commitment
from crdt.roster_operations import (
    RIGHTS,
    Add,
    Alias,
    Cut,
    Label,
    Remove,
    Revoke,
    RosterOperation,
    genesis_of,
)

Named = tuple[int, bytes]
"""Incarnation and hash of an entry."""


def is_beyond(cut: Cut | None, inc: int, seq: int) -> bool:
    """Tell whether a cut leaves an entry out; no cut leaves out none."""
    return cut is not None and seq > cut.get(inc, 0)


@dataclass(slots=True, kw_only=True)
class Standing:
    """One key during the fold; `seniority` is None for who is no owner, 0 for the first of them.

    `heir` says that it took a revoked key's place, `revoked` that another took its own.
    """

    name: str
    promise: bytes | None
    seniority: int | None = None
    removed: bool = False
    revoked: bool = False
    heir: bool = False
    clocks: list[int] = field(default_factory=list)
    granted: list[frozenset[str]] = field(default_factory=list)

    @property
    def rights(self) -> frozenset[str]:
        """What the key may do by the last operation about it."""
        return self.granted[-1]

    @property
    def is_writer(self) -> bool:
        """Tell whether something it said may be of effect: it might append once, or it is an heir."""
        return self.heir or any("append" in rights for rights in self.granted)

    @property
    def since_hlc(self) -> int:
        """When the last operation about it was said."""
        return self.clocks[-1]

    @property
    def history(self) -> list[tuple[int, list[str]]]:
        """Rights by when they were given, in one spelling."""
        return [(hlc, sorted(rights)) for hlc, rights in zip(self.clocks, self.granted, strict=True)]

    def rights_at(self, hlc: int) -> frozenset[str]:
        """Give what the key may do at a reading of the clock."""
        position = bisect_right(self.clocks, hlc)
        return self.granted[position - 1] if position else frozenset()

    def grant(self, hlc: int, rights: frozenset[str]) -> None:
        """Give other rights from a reading on; readings come in order."""
        self.clocks.append(hlc)
        self.granted.append(rights)


class Fold:
    """What the operations so far amount to, given which entries are void and which alone count."""

    def __init__(
        self, genesis: Entry, void: dict[bytes, Cut], counting: Mapping[bytes, frozenset[Named]]
    ) -> None:
        said = genesis_of(genesis)
        self.space = genesis.hash
        self.label, self.kind, self.owner = said.label, said.kind, genesis.author
        self.alias: bytes | None = None
        self.cuts: dict[bytes, Cut] = {}
        self.counting: dict[bytes, frozenset[Named]] = {}
        """Of those who were removed or revoked, what they have said about members."""
        self.ends: dict[bytes, dict[int, frozenset[bytes]]] = {}
        """Of the same, where each incarnation ends as far as that is known; it is in no need of a fold."""
        self._genesis, self._void, self._counting, self._owners = genesis, void, counting, 1
        self._revocations: list[Entry] = []
        first = Standing(name=said.name, promise=said.next, seniority=0)
        # The owner's rights have no beginning: the genesis itself needs them.
        first.grant(0, RIGHTS)
        self.standings = {genesis.author: first}

    def apply(self, entry: Entry, operation: RosterOperation) -> None:
        """Take the next operation, which has no effect where its author may not say it."""
        if is_beyond(self._void.get(entry.author), entry.inc, entry.seq):
            return
        named = (entry.inc, entry.hash)
        if named not in self._counting.get(entry.author, (named,)):
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
        """Tell whether a key is the one that another promised to be followed by."""
        standing = self.standings.get(old)
        return standing is not None and standing.promise == commitment(key)

    def _is_owner(self, key: bytes) -> bool:
        standing = self.standings.get(key)
        return standing is not None and standing.seniority is not None

    def may_add(self, author: bytes, member: bytes) -> bool:
        """Tell whether an author may make a key a member or change its rights."""
        standing = self.standings.get(member)
        return self._may_change(author, member) and (standing is None or not standing.revoked)

    def may_remove(self, author: bytes, member: bytes) -> bool:
        """Tell whether an author may end a membership."""
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
            standing = self.standings[add.member] = Standing(name=add.name, promise=add.next)
        standing.name, standing.removed = add.name, False
        standing.promise = standing.promise or add.next
        # What an owner says about members has to come in everywhere.
        standing.grant(entry.hlc, frozenset((*add.rights, "append") if add.owner else add.rights))
        for noted in (self.cuts, self.counting, self.ends):
            noted.pop(add.member, None)
        if not add.owner:
            standing.seniority = None
        elif standing.seniority is None:
            standing.seniority, self._owners = self._owners, self._owners + 1

    def _remove(self, entry: Entry, remove: Remove) -> None:
        if not self.may_remove(entry.author, remove.member):
            return
        self._cut(remove.member, remove, entry)
        self._end(remove.member, entry.hlc)

    def _revoke(self, entry: Entry, revoke: Revoke) -> None:
        old, heir = self.standings.get(revoke.old), self.standings.get(entry.author)
        if old is None or old.revoked or entry.seq != 1 or not self.is_promised(entry.author, revoke.old):
            return
        if heir is None:
            heir = self.standings[entry.author] = Standing(name=old.name, promise=revoke.next)
            heir.removed = old.removed
            heir.grant(entry.hlc, frozenset())
            if old.removed:
                self.cuts[entry.author] = {entry.inc: entry.seq}
        if heir.revoked:
            return
        ranks = [rank for rank in (old.seniority, heir.seniority) if rank is not None]
        heir.seniority = min(ranks, default=None)
        heir.removed = heir.removed and old.removed
        heir.heir = True
        heir.grant(entry.hlc, heir.rights | old.rights)
        if self.owner == revoke.old:
            self.owner = entry.author
        self._cut(revoke.old, revoke, entry)
        self._end(revoke.old, entry.hlc)
        old.revoked = True
        self._revocations.append(entry)

    def _end(self, member: bytes, hlc: int) -> None:
        standing = self.standings[member]
        standing.removed, standing.seniority = True, None
        standing.grant(hlc, frozenset())

    def _cut(self, member: bytes, operation: Remove | Revoke, entry: Entry) -> None:
        """Note a cut: neither the genesis nor the operation that makes the cut can be void by it.

        Nor can the revocation by which the member came: without it the revoked key would be back.  Of who
        is removed already, no cut brings anything back.
        """
        spared = [e for e in (self._genesis, entry, *self._revocations) if e.author == member]
        cut = dict(operation.cut)
        for one in spared:
            cut[one.inc] = max(cut.get(one.inc, 0), one.seq)
        said = _said(operation, spared)
        ends = _ends(operation, spared)
        if self.standings[member].removed:
            before, counting = self.cuts.get(member, {}), self.counting.get(member)
            cut = {inc: min(seq, before[inc]) for inc, seq in cut.items() if inc in before}
            if counting is not None:
                said = counting if said is None else said & counting
            # Two removals rarely name different ends; the first then counts, by which the other was met.
            ends |= self.ends.get(member, {})
        self.cuts[member], self.ends[member] = cut, ends
        self.counting.pop(member, None)
        if said is not None:
            self.counting[member] = said


def _said(operation: Remove | Revoke, spared: Sequence[Entry]) -> frozenset[Named] | None:
    """Give what alone counts of what was said about members; None where all of it does."""
    if operation.said is None:
        return None
    named = ((inc, sha256) for inc, hashes in operation.said.items() for sha256 in hashes)
    return frozenset((*named, *((one.inc, one.hash) for one in spared)))


def _ends(operation: Remove | Revoke, spared: Sequence[Entry]) -> dict[int, frozenset[bytes]]:
    """Give where the feeds of who is removed end.

    What no cut makes void is an end as well, and so is what counts about members: a node where these are no
    ends would refuse what the roster of another counts.
    """
    if operation.ends is None or operation.said is None:
        return {}
    ends = {inc: {*hashes, *operation.said.get(inc, ())} for inc, hashes in operation.ends.items() if hashes}
    for one in spared:
        if one.inc in ends or one.inc not in operation.cut:
            ends.setdefault(one.inc, set()).add(one.hash)
    return {inc: frozenset(hashes) for inc, hashes in ends.items()}
