"""A store in memory: the smallest thing that keeps what `chains` decides, pending entries included."""

from __future__ import annotations

from collections.abc import Iterable

from crdt import chains
from crdt.chains import Outcome, Place, Verdict
from crdt.clock import wall_ms
from crdt.entries import Entry, FeedId
from crdt.roster import Roster

FAR_MS = wall_ms() + 10**9


class MemoryChains:
    """Takes batches as a node does: what is pending is tried again as soon as what it waits for is here."""

    def __init__(self, now_ms: int = FAR_MS) -> None:
        self.now_ms = now_ms
        self.committed: dict[bytes, Entry] = {}
        self.pending: dict[bytes, Verdict] = {}
        self.forked: set[FeedId] = set()
        self.erased: set[bytes] = set()
        self._seqs: set[tuple[FeedId, int]] = set()

    def place(self, hash_: bytes) -> Place | None:
        entry = self.committed.get(hash_)
        return Place(entry.feed, entry.seq, entry.hlc) if entry else None

    def is_taken(self, feed: FeedId, seq: int) -> bool:
        return (feed, seq) in self._seqs

    def roster(self, space: bytes) -> Roster | None:
        return Roster.of(space, self.committed.values()) if space in self.committed else None

    def is_awaited(self, feed: FeedId, hash_: bytes) -> bool:
        return any(v.entry.feed == feed and v.waits_for == hash_ for v in self.pending.values())

    def is_erased(self, entry: Entry) -> bool:
        return entry.hash in self.erased

    def receive(self, entries: Iterable[Entry]) -> list[Verdict]:
        """Take a batch and all pending entries that it wakes; give the verdicts of the batch."""
        first = self._take(list(entries))
        woken = self._woken(first)
        while woken:
            woken = self._woken(self._take(woken))
        return first

    def tick(self, now_ms: int) -> None:
        """Let time pass, and take what has become due."""
        self.now_ms = now_ms
        due = [v.entry for v in self.pending.values() if v.due_ms is not None and v.due_ms <= now_ms]
        self.receive(due)

    def _take(self, entries: list[Entry]) -> list[Verdict]:
        verdicts = chains.admit(entries, self, self.now_ms, verified=self.pending.keys())
        for verdict in verdicts:
            entry = verdict.entry
            self.pending.pop(entry.hash, None)
            if verdict.outcome is Outcome.COMMITTED:
                self.committed[entry.hash] = entry
                self._seqs.add((entry.feed, entry.seq))
                self.forked |= {entry.feed} if verdict.is_fork else set()
            elif verdict.outcome is Outcome.PENDING:
                self.pending[entry.hash] = verdict
        return verdicts

    def _woken(self, verdicts: list[Verdict]) -> list[Entry]:
        brought = {
            key
            for verdict in verdicts
            if verdict.outcome is Outcome.COMMITTED
            for key in chains.keys_of(verdict.entry)
        }
        return [v.entry for v in self.pending.values() if v.waits_for in brought]
