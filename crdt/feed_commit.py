"""What the writer's thread does within a transaction: seal what this node says, admit what others said.

An entry takes effect when it is committed, whoever wrote it: a roster entry may void what lies beyond a cut
and let in what waits for a membership, an erasure drops a body, and anything may be what another waits for.

Void entries stay, out of the way: they count in no head and no digest, as on a node that heard of the
removal first and refused them.  Erased bodies are overwritten in the file (secure_delete); one whose erasure
became void comes back with the next copy of its entry, since other nodes never lost it.
"""

from __future__ import annotations

import secrets
import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

import msgspec

from crdt import chains
from crdt.chains import Outcome, Place, Verdict
from crdt.clock import wall_ms
from crdt.entries import ZERO, Draft, Entry, EntryKind, FeedId, is_signed
from crdt.errors import EntryRefused, NotAllowed
from crdt.feed_blobs import BlobTables
from crdt.feed_branches import BranchTables
from crdt.feed_tables import Committed, FeedRow, FeedTables
from crdt.incarnation import OwnFeeds, genesis_body
from crdt.manifests import Segment, Tail, decode
from crdt.pending import PendingTable
from crdt.roster import Roster, SpaceKind
from crdt.rosters import Rosters
from crdt.segments import is_name

OWN_SPACES: tuple[SpaceKind, ...] = ("home", "private")
_ERASABLE_NOT = frozenset(kind for kind in EntryKind if kind != EntryKind.RECORD)
_ENDLESS = (1 << 63) - 1

Fragments = list[tuple[bytes, bytes]]
"""Hash and bytes of fragments."""


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What became of entries from elsewhere.

    `committed` has also what waited for them until now.  `pending` says of each why; `known` counts.
    """

    committed: list[Committed] = []
    known: int = 0
    pending: list[Verdict] = []
    refused: list[EntryRefused] = []


class FeedCommitter:
    """Commits entries over one connection; each public call is one job of the writer."""

    def __init__(self, connection: sqlite3.Connection, own: OwnFeeds | None) -> None:
        self.tables = FeedTables(connection)
        self.rosters = Rosters(self.tables)
        self.waiting = PendingTable(connection)
        self.blobs = BlobTables(connection)
        self.branches = BranchTables(connection)
        self._own = own
        self._opening = secrets.token_bytes(16)

    def write(self, drafts: Sequence[Draft], fragments: Fragments) -> list[Committed]:
        """Seal drafts and commit them, with fragments that wait; makes the node's own spaces first.

        Not where all is about membership: a key that takes another's place has its spaces only thereby.
        """
        self.tables.begin_opening(self._opening)
        if not drafts or any(draft.kind != EntryKind.ROSTER for draft in drafts):
            self.make_own_spaces()
        committed = [self._seal(draft) for draft in drafts]
        clocks, sealed = _fragments(committed)
        self.blobs.drop_tails(sealed)
        if fragments:
            latest = committed[-1].entry.hlc if committed else self._author().clock.tick()
            self.blobs.add_tails((sha256, clocks.get(sha256, latest), data) for sha256, data in fragments)
        self._take_effect(committed)
        self._let_in(committed)
        return committed

    def make_own_spaces(self) -> None:
        """Make this node's home and private space where it has none."""
        own = self._author()
        for kind in OWN_SPACES:
            if self.rosters.own(kind, own.signer.public_key) is None:
                body = genesis_body(kind, own.authorship, own.authorship.now_ms())
                self._seal(Draft(space=ZERO, kind=EntryKind.GENESIS, body=body))

    def receive(self, entries: Sequence[Entry], verified: Collection[bytes]) -> Received:
        """Admit entries of others; `verified` has the hashes of those that their authors surely vouch for."""
        self.tables.begin_opening(self._opening)
        erased = (e.body for e in entries if e.kind == EntryKind.ERASE and e.body is not None)
        again = [
            *self.waiting.due(self._now_ms()),
            *(e for target in erased for e in self.waiting.find(target)),
        ]
        good = {*verified, *(entry.hash for entry in again)}
        view = _View(self, [*again, *entries])
        verdicts = chains.admit([*again, *entries], view, self._now_ms(), verified=good)
        committed = self._settle(verdicts)
        self._give_back(verdict.entry for verdict in verdicts if verdict.outcome is Outcome.KNOWN)
        return Received(
            committed=[*committed, *self._let_in(committed)],
            known=sum(verdict.outcome is Outcome.KNOWN for verdict in verdicts),
            pending=[verdict for verdict in verdicts if verdict.outcome is Outcome.PENDING],
            refused=[chains.refusal(verdict) for verdict in verdicts if verdict.outcome is Outcome.REFUSED],
        )

    def _seal(self, draft: Draft) -> Committed:
        own = self._author()
        if draft.kind not in (EntryKind.GENESIS, EntryKind.ROSTER):
            roster = self.rosters.of(draft.space)
            if not roster.may(own.signer.public_key, "append", _ENDLESS):
                raise NotAllowed(f"this node may not write to the space `{roster.label}`")
        entry = own.seal(self.tables, draft)
        return Committed(self.tables.add_entry(entry), entry)

    def _settle(self, verdicts: Sequence[Verdict]) -> list[Committed]:
        """Commit, keep or forget, as was decided."""
        admitted = (verdict.entry for verdict in verdicts if verdict.outcome is Outcome.COMMITTED)
        committed, branched = self.tables.add_entries(admitted)
        self.waiting.drop(v.entry for v in verdicts if v.outcome is not Outcome.PENDING)
        self.waiting.put(v for v in verdicts if v.outcome is Outcome.PENDING)
        if self._own is not None and committed:
            self._own.clock.observe(max(item.entry.hlc for item in committed))
        for feed in branched:
            self._measure(feed)
        self._take_effect(committed)
        self._stay_erased(committed)
        self._want(committed)
        return committed

    def _give_back(self, known: Iterable[Entry]) -> None:
        """Take the body of an entry that is here without one, and that nothing here erases any more."""
        for entry in known:
            if entry.body is not None and self.tables.is_bare(entry.hash) and not self.is_erased(entry):
                self.tables.restore(entry.hash, entry.body)

    def _want(self, committed: Sequence[Committed]) -> None:
        """Want the bytes that manifests of others name."""
        for item in committed:
            manifest = decode(item.entry.kind, item.entry.body)
            if isinstance(manifest, Segment) and is_name(manifest.sha256):
                fragments = [sha256 for sha256, _ in manifest.fragments]
                self.blobs.want_segment(bytes.fromhex(manifest.sha256), fragments, item.id)
            elif isinstance(manifest, Tail):
                self.blobs.want_fragments(manifest.fragments, item.id, item.entry.hlc)

    def _let_in(self, committed: Sequence[Committed]) -> list[Committed]:
        """Commit what waited for these entries, and in turn for those."""
        let_in: list[Committed] = []
        news = list(committed)
        while news and not self.waiting.is_empty():
            ready = self.waiting.ready(key for item in news for key in chains.keys_of(item.entry))
            if not ready:
                break
            verified = {entry.hash for entry in ready}
            verdicts = chains.admit(ready, _View(self, ready), self._now_ms(), verified=verified)
            news = self._settle(verdicts)
            let_in += news
        return let_in

    def _take_effect(self, committed: Sequence[Committed]) -> None:
        spaces = {item.entry.home for item in committed if item.entry.kind == EntryKind.ROSTER}
        self._void_strays(item for item in committed if item.entry.home not in spaces)
        for space in spaces:
            for row in self.tables.feeds(space):
                self._void(row)
            # Who may erase may have changed with who is a member.
            for erasure in self.tables.all_erasures(space):
                self._erase(erasure)
        for item in committed:
            if item.entry.kind == EntryKind.ERASE:
                self._erase(item.entry)

    def _erase(self, erasure: Entry) -> None:
        target = self.tables.by_hash(erasure.body or b"")
        if target is not None and self._may_erase(erasure, target.entry):
            self.tables.erase(target.id)

    def _stay_erased(self, committed: Sequence[Committed]) -> None:
        """Drop the bodies of entries whose erasure came first."""
        if not self.tables.has_erasures():
            return
        for item in committed:
            if item.entry.body is not None and self.is_erased(item.entry):
                self.tables.erase(item.id)

    def is_erased(self, entry: Entry, others: Sequence[Entry] = ()) -> bool:
        """Tell whether a committed entry, or one of some others, erases the body of this one."""
        found = [*self.tables.erasures(entry.hash), *(o for o in others if o.body == entry.hash)]
        return any(self._may_erase(erasure, entry) for erasure in found)

    def _may_erase(self, erasure: Entry, target: Entry) -> bool:
        """Tell whether an erasure is of an author who may: the target's own, or a moderator of its space.

        What says who is a member, and what says where the archive is, can't be erased.
        """
        if target.kind in _ERASABLE_NOT or erasure.kind != EntryKind.ERASE or erasure.space != target.space:
            return False
        roster = self.rosters.find(target.space)
        if roster is None or self._is_void(erasure, roster):
            return False
        is_own = erasure.author == target.author
        return is_own or roster.may(erasure.author, "moderate", erasure.hlc)

    def _is_void(self, entry: Entry, roster: Roster) -> bool:
        """Tell whether an entry is void, or would be if it came now."""
        is_void = self.branches.is_void(entry.hash)
        if is_void is None:
            return chains.is_void(entry, roster, self.tables.place)
        return is_void

    def _void_strays(self, committed: Iterable[Committed]) -> None:
        """Void what leads to none of a feed's named ends, where one of these has come just now."""
        arrived: dict[FeedId, set[bytes]] = {}
        for item in committed:
            arrived.setdefault(item.entry.feed, set()).add(item.entry.hash)
        for feed, hashes in arrived.items():
            roster, row = self.rosters.find(feed.space), self.tables.feed(feed)
            if roster is None or row is None:
                continue
            if not hashes.isdisjoint(roster.ends(feed.author, feed.inc)):
                self._void(row)

    def _void(self, row: FeedRow) -> None:
        """Void what of a feed does not count by the roster, and nothing else."""
        feed = row.head.feed
        roster = self.rosters.of(feed.space)
        cut = _cut(roster, feed, self.branches.top(row.id))
        if self.branches.void(row.id, cut, roster.ends(feed.author, feed.inc)):
            self._measure(feed)

    def _measure(self, feed: FeedId) -> None:
        """Find where a feed ends, forks and void entries considered."""
        row = self.tables.feed(feed)
        if row is not None:
            self.tables.set_head(row.id, self.branches.measure(row.id))

    def _author(self) -> OwnFeeds:
        if self._own is None:
            raise AssertionError("only who has a key writes")
        return self._own

    def _now_ms(self) -> int:
        return self._own.authorship.now_ms() if self._own else wall_ms()


class _View:
    """What is stored, for who decides about a batch: `chains.Chains`."""

    def __init__(self, committer: FeedCommitter, batch: Sequence[Entry]) -> None:
        self._committer = committer
        self._batch = [entry for entry in batch if entry.kind == EntryKind.ERASE]
        self._erasures: dict[bytes | None, list[Entry]] | None = None

    def place(self, hash_: bytes) -> Place | None:
        """Find a committed entry."""
        return self._committer.tables.place(hash_)

    def is_taken(self, feed: FeedId, seq: int) -> bool:
        """Tell whether any entry is committed at this place of a feed."""
        return self._committer.tables.is_taken(feed, seq)

    def roster(self, space: bytes) -> Roster | None:
        """Give a space's roster."""
        return self._committer.rosters.find(space)

    def is_awaited(self, feed: FeedId, hash_: bytes) -> bool:
        """Tell whether a pending entry of that feed follows this one."""
        return self._committer.waiting.is_awaited(feed, hash_)

    def is_erased(self, entry: Entry) -> bool:
        """Tell whether a signed entry erases this one, be it here, waiting or in the batch.

        The erasure may stand behind the erased entry in one feed, so that neither could come first.
        """
        if self._erasures is None:
            # Read once: whoever fills the waiting room could otherwise have it read for each entry.
            self._erasures = {}
            for other in self._committer.waiting.erasures():
                self._erasures.setdefault(other.body, []).append(other)
        signed = [other for other in self._batch if other.body == entry.hash and is_signed(other)]
        return self._committer.is_erased(entry, [*self._erasures.get(entry.hash, ()), *signed])


def _cut(roster: Roster, feed: FeedId, top: int) -> int:
    """Give the last number of a feed that is not void; what is void begins somewhere and has no end."""
    return bisect_left(range(1, top + 1), True, key=lambda seq: roster.is_void(feed.author, feed.inc, seq))


def _fragments(committed: Sequence[Committed]) -> tuple[dict[bytes, int], list[bytes]]:
    """Tell the clock of each fragment that the Tails among entries name, and what their Segments sealed."""
    clocks: dict[bytes, int] = {}
    sealed: list[bytes] = []
    for item in committed:
        manifest = decode(item.entry.kind, item.entry.body)
        if isinstance(manifest, Tail):
            clocks.update(dict.fromkeys(manifest.fragments, item.entry.hlc))
        elif isinstance(manifest, Segment):
            sealed += [sha256 for sha256, _ in manifest.fragments]
    return clocks, sealed
