"""Faults planted into the real code, each in one place: a simulator that misses one proves nothing.

`invariants` names those that may catch a fault; which of them does, and with which seed, is what a hunt
tells.  The last ones are faults that the code once had, found by the simulator.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from unittest import mock

from pycrdt import Doc, Map

from crdt import have
from crdt.causal_order import CausalOrder
from crdt.chains import Outcome, Reason, Verdict, _Admission
from crdt.clock import AHEAD_MS_MAX, milliseconds_of
from crdt.entries import Entry, FeedId
from crdt.feed_tables import FeedTables
from crdt.feed_writer import GroupWriter, _Submission
from crdt.have import Have, Missing
from crdt.incarnation import OwnFeeds, _End, consume
from crdt.operations import Stamped
from crdt.projection_follow import Follower
from crdt.roster import Roster
from crdt.sqlite import transaction
from tests.sim.failures import Violation
from tests.sim.schedule import play

_YEARS_MS = 1 << 46


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is broken, where, and by which invariants that must show."""

    name: str
    target: str
    broken: object
    invariants: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """How a fault was found."""

    seed: int
    invariant: str
    detail: str


def hunt(fault: Fault, seeds: Iterable[int]) -> Catch | None:
    """Play schedules with the fault in place until an invariant breaks."""
    for seed in seeds:
        with mock.patch(fault.target, fault.broken):
            try:
                play(seed)
            except Violation as violation:
                return Catch(seed=seed, invariant=violation.invariant, detail=violation.detail)
    return None


_missing = have.missing
_level = Follower._level


def _by_counters_alone(mine: Have, theirs: Have, is_here: Callable[[bytes], bool]) -> list[Missing]:
    return [one for one in _missing(mine, theirs, is_here) if _counts_differ(mine, theirs, one)]


def _counts_differ(mine: Have, theirs: Have, one: Missing) -> bool:
    own, other = mine.get((one.author, one.inc)), theirs[one.author, one.inc]
    return own is None or (own.seq, own.count) != (other.seq, other.count)


class _LastToArrive(CausalOrder):
    """Orders by clock alone, and what has the same clock as it came."""

    def __init__(self, stamped: Iterable[Stamped]) -> None:
        came = list(stamped)
        super().__init__(came)
        known = {one.hash: one for one in came if one.hash in self.clocks}
        self.order = sorted(known.values(), key=lambda one: self.clocks[one.hash])


def _hasty(self: GroupWriter, submissions: list[_Submission]) -> None:
    try:
        with transaction(self._usable()) as connection:
            for submission in submissions:
                submission.attempt(connection)
                submission.settle()
    except sqlite3.Error as error:
        self._note(error)


def _without_prev(self: _Admission, entry: Entry) -> Verdict:
    due_ms = milliseconds_of(entry.hlc) - AHEAD_MS_MAX
    if due_ms > self._now_ms:
        return Verdict(entry=entry, outcome=Outcome.PENDING, reason=Reason.FUTURE, due_ms=due_ms)
    return self._commit(entry)


def _read_anything(update: bytes, _: FeedId, __: int, ___: Sequence[bytes] = ()) -> list[bytes]:
    document = Doc[Map[bytes]]()
    root = document.get("f", type=Map)
    document.apply_update(update)
    return list(root.values())


def _go_on(self: OwnFeeds, tables: FeedTables) -> dict[bytes, _End]:
    if self._ends is None:
        consume(self.authorship.marker)
        own = [row.head for row in tables.feeds(None) if row.head.feed.author == self.signer.public_key]
        self._ends = {head.feed.space: _End(head.feed.inc, head.seq, head.head) for head in own if head.count}
    return self._ends


def _as_of_its_clock(self: Roster, entry: Entry) -> bool:
    return self.may(entry.author, "append", entry.hlc) or self.takes_over(entry)


def _fault(name: str, target: str, broken: object, *invariants: str) -> Fault:
    return Fault(name=name, target=target, broken=broken, invariants=frozenset(invariants))


SAME_ENTRIES, SAME_VIEW = "same entries", "same view"
AMOUNTS = "the view is what its entries amount to"
FRESH_VIEW, FRESH_ENTRIES = "a fresh node has the same view", "a fresh node has the same entries"
THEFT = "a thief adds nothing"
COMMITTED, VISIBLE = "no forgery is committed", "no forgery is visible"

FAULTS = (
    _fault("counters alone", "crdt.have.missing", _by_counters_alone, SAME_ENTRIES),
    _fault("no tie-break", "crdt.reducer.CausalOrder", _LastToArrive, SAME_VIEW, AMOUNTS, FRESH_VIEW),
    _fault(
        "acknowledged before the commit",
        "crdt.feed_writer.GroupWriter._commit",
        _hasty,
        "what is acknowledged survives a crash",
        "what is acknowledged is everywhere",
    ),
    _fault(
        "gaps allowed",
        "crdt.chains._Admission._decide_place",
        _without_prev,
        COMMITTED,
        SAME_ENTRIES,
        "honest nodes understand each other",
    ),
    _fault("no signature check", "crdt.entries.verify", lambda *_: True, COMMITTED),
    _fault("pages of any writer", "crdt.pages.read", _read_anything, "no forged page is opened"),
    _fault(
        "old incarnation continued",
        "crdt.incarnation.OwnFeeds._open",
        _go_on,
        "no feed is forked by itself",
    ),
    _fault("no moderator check", "crdt.record_rights.is_admitted", lambda *_: True, VISIBLE),
    _fault(
        "void entries count",
        "crdt.store.FeedStore.voids",
        lambda *_: frozenset(),
        SAME_VIEW,
        AMOUNTS,
        FRESH_VIEW,
    ),
    _fault(
        "ends of removed members are not asked for",
        "crdt.feed_commit.FeedCommitter._void_strays",
        lambda *_: None,
        THEFT,
        SAME_ENTRIES,
        FRESH_ENTRIES,
    ),
    _fault(
        "the future at once",
        "crdt.chains.AHEAD_MS_MAX",
        AHEAD_MS_MAX + _YEARS_MS,
        "nothing is taken before its time",
    ),
    _fault(
        "who returns is refused",
        "crdt.roster.Roster.admits",
        _as_of_its_clock,
        SAME_ENTRIES,
        FRESH_ENTRIES,
        "what is acknowledged is everywhere",
    ),
    _fault(
        "erased texts stay",
        "crdt.projection_follow.Follower._erased",
        lambda *_: [],
        SAME_VIEW,
        AMOUNTS,
        FRESH_VIEW,
    ),
)
