"""Decide about entries that come from elsewhere: pure, so that every node decides alike.

An entry is committed if its author may append to the space, the author vouches for its exact bytes, the
entry before it is here, and its clock lies behind that one's and not ahead of ours.  What lacks something
that may still come is pending and names what it waits for; the rest is refused.

The author vouches for an entry by its signature, or by that of a later entry of the same feed that leads back
to it through `prev`: `prev` covers header and signature of the entry before, and the header covers the body.
So one verification vouches for a whole run.  A second entry at the same place of a feed is a fork: both
branches are kept, so that nodes agree whichever they saw first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from crdt.clock import AHEAD_MS_MAX, milliseconds_of
from crdt.entries import Entry, EntryKind, FeedId, is_signed
from crdt.errors import EntryRefused
from crdt.roster import Roster, genesis_of

_ROSTER_KINDS = (EntryKind.GENESIS, EntryKind.ROSTER)


class Outcome(StrEnum):
    """What becomes of an entry."""

    COMMITTED = "committed"
    KNOWN = "known"
    PENDING = "pending"
    REFUSED = "refused"


class Reason(StrEnum):
    """Why an entry is not committed: the first five may pass, the others won't."""

    GAP = "gap"
    FUTURE = "future"
    UNKNOWN_AUTHOR = "unknown_author"
    UNKNOWN_SPACE = "unknown_space"
    NO_BODY = "no_body"
    SIGNATURE = "signature"
    NOT_ALLOWED = "not_allowed"
    VOID = "void"
    PREV = "prev"
    CLOCK = "clock"
    PRIVATE = "private"
    GENESIS = "genesis"


DETAILS = {
    Reason.GAP: "the entry before it is not here yet",
    Reason.FUTURE: "its clock is more than five minutes ahead",
    Reason.UNKNOWN_AUTHOR: "its author is no member of the space as far as is known here",
    Reason.UNKNOWN_SPACE: "its space is not here",
    Reason.NO_BODY: "it has no body and nothing here says that it was erased",
    Reason.SIGNATURE: "its author did not sign it",
    Reason.NOT_ALLOWED: "its author had no right to append to the space",
    Reason.VOID: "it lies beyond the point at which its author was removed, or beside what that one had said",
    Reason.PREV: "the entry before it is one of another place",
    Reason.CLOCK: "its clock is not behind that of the entry before it",
    Reason.PRIVATE: "entries of a private space come from nowhere else",
    Reason.GENESIS: "it makes a space and can't be read",
}
"""The same as sentences for people."""


class Place(msgspec.Struct, frozen=True):
    """Where an entry that is here stands."""

    feed: FeedId
    seq: int
    hlc: int


def place_of(entry: Entry) -> Place:
    """Tell where an entry stands."""
    return Place(entry.feed, entry.seq, entry.hlc)


class Chains(Protocol):
    """What is stored so far; every answer is as of the same moment."""

    def place(self, hash_: bytes) -> Place | None:
        """Find a committed entry."""
        ...

    def is_taken(self, feed: FeedId, seq: int) -> bool:
        """Tell whether any entry is committed at this place of a feed."""
        ...

    def roster(self, space: bytes) -> Roster | None:
        """Give a space's roster; None where its genesis is not here."""
        ...

    def is_awaited(self, feed: FeedId, hash_: bytes) -> bool:
        """Tell whether a pending entry of that very feed waits for this one as its predecessor."""
        ...

    def is_erased(self, entry: Entry) -> bool:
        """Tell whether something committed here says that the entry's body was erased."""
        ...


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one entry.

    A pending entry is tried again when something commits whose `keys_of` has `waits_for`, or at `due_ms` of
    the wall clock; its signature is good and need not be verified again.
    """

    entry: Entry
    outcome: Outcome
    reason: Reason | None = None
    waits_for: bytes | None = None
    due_ms: int | None = None
    is_fork: bool = False


def admit(
    entries: Iterable[Entry], chains: Chains, now_ms: int, *, verified: Collection[bytes] = ()
) -> list[Verdict]:
    """Decide about a batch of entries in any order; what one of them says about members holds for all.

    Verdicts come one per different entry, those to commit in an order in which they can be.  `verified` has
    the hashes of entries whose signature was verified before (those that were pending).  Which spaces are
    let in at all is the caller's affair: any genesis that is truly signed makes one.
    """
    return _Admission(chains, now_ms, verified).run(entries)


def keys_of(entry: Entry) -> set[bytes]:
    """Name all that a pending entry may wait for and that this entry brings when it is committed."""
    changes_space = entry.kind in (*_ROSTER_KINDS, EntryKind.ERASE)
    return {entry.hash, entry.home} if changes_space else {entry.hash}


def vouched(
    entries: Iterable[Entry],
    verified: Collection[bytes] = (),
    is_awaited: Callable[[Entry], bool] = lambda _: False,
) -> set[bytes]:
    """Give the hashes of the entries that their authors vouch for, verifying one signature per run.

    An entry whose own signature is false counts if a vouched one leads back to it, in the batch or (as
    `is_awaited` tells) among those that are pending: else who receives both at once would keep what who
    receives them one by one refuses.  None but the author can bring that about.
    """
    named: set[tuple[FeedId, bytes]] = set()
    found = set()
    for entry in sorted(entries, key=_seq, reverse=True):
        feed = entry.feed
        is_named = entry.hash in verified or (feed, entry.hash) in named
        if is_named or is_signed(entry) or is_awaited(entry):
            found.add(entry.hash)
            named.add((feed, entry.prev))
    return found


def is_void(entry: Entry, roster: Roster, place: Callable[[bytes], Place | None]) -> bool:
    """Tell whether an entry that is not here yet would count for nothing.

    What leads to the ends of a feed is here where these are, so nothing new does (`branches`).
    """
    if roster.is_void(entry.author, entry.inc, entry.seq):
        return True
    ends = [place(end) for end in roster.ends(entry.author, entry.inc)]
    return bool(ends) and all(end is not None and is_end(end, entry.feed, roster) for end in ends)


def is_end(place: Place, feed: FeedId, roster: Roster) -> bool:
    """Tell whether a place can be that of a feed's end: beyond the cut, others would refuse what is there."""
    return place.feed == feed and not roster.is_void(feed.author, feed.inc, place.seq)


def refusal(verdict: Verdict) -> EntryRefused:
    """Word a refusal."""
    entry, reason = verdict.entry, verdict.reason or Reason.SIGNATURE
    return EntryRefused(f"entry {entry.seq} of {entry.author.hex()[:12]} is refused: {DETAILS[reason]}")


def _seq(entry: Entry) -> int:
    return entry.seq


class _Admission:
    """One batch: what is stored, and what the batch has added so far."""

    def __init__(self, chains: Chains, now_ms: int, verified: Collection[bytes]) -> None:
        self._chains, self._now_ms = chains, now_ms
        self._vouched = set(verified)
        self._placed: dict[bytes, Place] = {}
        self._taken: set[tuple[FeedId, int]] = set()
        self._rosters: dict[bytes, Roster | None] = {}
        self._roster_entries: dict[bytes, list[Entry]] = {}

    def run(self, entries: Iterable[Entry]) -> list[Verdict]:
        different = sorted({entry.hash: entry for entry in entries}.values(), key=_seq)
        verdicts, waiting = [], []
        for entry in different:
            if self._chains.place(entry.hash) is None:
                waiting.append(entry)
            else:
                verdicts.append(Verdict(entry=entry, outcome=Outcome.KNOWN))
        # Feeds that say who is a member come first, and again as long as that brings new members.
        while True:
            leading = {entry.feed for entry in waiting if entry.kind in _ROSTER_KINDS}
            decided = self._decide_all([entry for entry in waiting if entry.feed in leading])
            if not self._renew_rosters():
                break
            verdicts += [verdict for verdict in decided if verdict.outcome is Outcome.COMMITTED]
            waiting = [entry for entry in waiting if entry.hash not in self._placed]
        rest = [entry for entry in waiting if entry.feed not in leading]
        return verdicts + decided + self._decide_all(rest)

    def _decide_all(self, entries: Sequence[Entry]) -> list[Verdict]:
        """Decide in the order of seq, so that an entry comes behind the one that it follows."""
        # What is refused whoever signed it costs no verification.
        worth_it = [entry for entry in entries if self._fault(entry) is None]
        self._vouched |= vouched(worth_it, self._vouched, self._is_awaited)
        return [self._decide(entry) for entry in entries]

    def _place(self, sha256: bytes) -> Place | None:
        return self._placed.get(sha256) or self._chains.place(sha256)

    def _is_awaited(self, entry: Entry) -> bool:
        return self._chains.is_awaited(entry.feed, entry.hash)

    def _roster(self, space: bytes) -> Roster | None:
        if space not in self._rosters:
            self._rosters[space] = self._chains.roster(space)
        return self._rosters[space]

    def _renew_rosters(self) -> bool:
        """Fold in what the batch said about members; tell whether it said anything."""
        for space, entries in self._roster_entries.items():
            before = self._roster(space)
            self._rosters[space] = before.extended(entries) if before else Roster.of(space, entries)
        changed = bool(self._roster_entries)
        self._roster_entries = {}
        return changed

    def _fault(self, entry: Entry) -> Reason | None:
        """Find why an entry is refused whoever signed it and wherever it stands."""
        if entry.kind == EntryKind.GENESIS:
            return _fault_of_genesis(entry)
        roster = self._roster(entry.space)
        if roster is None:
            return None
        if roster.kind == "private":
            return Reason.PRIVATE
        if roster.takes_over(entry):
            return None
        if roster.is_writer(entry.author):
            return Reason.VOID if is_void(entry, roster, self._place) else None
        return Reason.NOT_ALLOWED if roster.knows(entry.author) else None

    def _decide(self, entry: Entry) -> Verdict:
        fault = self._fault(entry)
        if fault is not None:
            return _refused(entry, fault)
        if entry.hash not in self._vouched:
            return _refused(entry, Reason.SIGNATURE)
        if entry.kind != EntryKind.GENESIS:
            roster = self._roster(entry.space)
            if roster is None:
                return _pending(entry, Reason.UNKNOWN_SPACE, entry.space)
            if not roster.admits(entry):
                return _pending(entry, Reason.UNKNOWN_AUTHOR, entry.space)
        if entry.body is None and not self._chains.is_erased(entry):
            return _pending(entry, Reason.NO_BODY, entry.space)
        return self._decide_place(entry)

    def _decide_place(self, entry: Entry) -> Verdict:
        if entry.seq > 1:
            before = self._place(entry.prev)
            if before is None:
                return _pending(entry, Reason.GAP, entry.prev)
            if (before.feed, before.seq) != (entry.feed, entry.seq - 1):
                return _refused(entry, Reason.PREV)
            if entry.hlc <= before.hlc:
                return _refused(entry, Reason.CLOCK)
        due_ms = milliseconds_of(entry.hlc) - AHEAD_MS_MAX
        if due_ms > self._now_ms:
            return Verdict(entry=entry, outcome=Outcome.PENDING, reason=Reason.FUTURE, due_ms=due_ms)
        return self._commit(entry)

    def _commit(self, entry: Entry) -> Verdict:
        feed, seq = entry.feed, entry.seq
        is_fork = (feed, seq) in self._taken or self._chains.is_taken(feed, seq)
        self._placed[entry.hash] = place_of(entry)
        self._taken.add((feed, seq))
        if entry.kind in _ROSTER_KINDS:
            self._roster_entries.setdefault(entry.home, []).append(entry)
        return Verdict(entry=entry, outcome=Outcome.COMMITTED, is_fork=is_fork)


def _fault_of_genesis(entry: Entry) -> Reason | None:
    try:
        kind = genesis_of(entry).kind
    except EntryRefused:
        return Reason.GENESIS
    return Reason.PRIVATE if kind == "private" else None


def _refused(entry: Entry, reason: Reason) -> Verdict:
    return Verdict(entry=entry, outcome=Outcome.REFUSED, reason=reason)


def _pending(entry: Entry, reason: Reason, waits_for: bytes) -> Verdict:
    return Verdict(entry=entry, outcome=Outcome.PENDING, reason=reason, waits_for=waits_for)
