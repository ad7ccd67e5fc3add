"""The index follows the archive: each manifest of the log is applied once, in order, in one transaction.

A conversation's new fragments are appended when they come after everything that is indexed of it and
change nothing of what it is, which is how agents write.  Anything else (an older copy, a second source, a
correction, a conversation that comes back) makes the conversation anew from the union of all its fragments
and writes what differs, so that the order in which fragments arrive never shows in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crdt.archive import Archive, Stored, clocks_of, decode_fragment
from crdt.errors import BlobAbsent, Damaged
from crdt.events import Fragment, Origin
from crdt.manifests import Logged, Segment, Tombstone
from crdt.union import Stamped, instant_key
from retrieval.index_catalog import Catalog
from retrieval.index_conversations import ConversationRows, Known
from retrieval.index_elsewhere import Elsewhere
from retrieval.index_relocation import relocate
from retrieval.index_rows import Drafts, Placed, Tally, drafts, positioned
from retrieval.index_schema import UNREAD
from retrieval.index_writer import POPULATION_CONVERSATION, Home, IndexWriter
from retrieval.memory_rows import SOURCES
from retrieval.whole import prompt_of, stream_of, whole_of

_WATERMARK = "archive_seq"
_WATERMARK_HLC = "archive_hlc"

Items = Sequence[tuple[Stored, Fragment]]


@dataclass(slots=True)
class Applied:
    """What a run of the follower did; `damaged` counts manifests whose bytes can't be read as of now."""

    written: int = 0
    conversations: set[int] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)
    damaged: int = 0


class ArchiveFollower:
    """Applies the archive's log to the index."""

    def __init__(self, index: IndexWriter, archive: Archive) -> None:
        self._index = index
        self._archive = archive
        self._rows = ConversationRows(index.connection)
        self._catalog = Catalog(index.connection, archive)
        self._elsewhere = Elsewhere(index.connection)
        self._gone: set[bytes] = set()

    def watermark(self) -> int:
        """Tell the last manifest that the index has applied."""
        return int(self._index.meta(_WATERMARK) or 0)

    def follows_this_log(self) -> bool:
        """Tell whether the manifest at the watermark is the one that the index applied."""
        seq = self.watermark()
        if seq == 0:
            return True
        logged = next(self._archive.log.since(seq - 1), None)
        return logged is not None and (logged.seq, logged.hlc) == (seq, self._index.meta(_WATERMARK_HLC))

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> Applied:
        """Apply every manifest after the watermark, and earlier ones whose bytes came or were put right.

        `progress` gets (applied, total) manifests.
        """
        done = Applied()
        start, come = self.watermark(), self._come()
        if start >= self._archive.log.head() and not come:
            return done
        current = self._archive.current()
        self._gone = self._archive.gone_tails(current)
        with self._index.transaction():
            for row in sorted(relocate(self._index.connection, self._archive, current)):
                self._make_again(self._rows.identity(row), done)
        for logged in come:
            self._apply_late(logged, self._load(logged, current, done), done)
        waiting = list(self._archive.log.since(start))
        for number, logged in enumerate(waiting, 1):
            self.apply(logged, self._load(logged, current, done), done)
            if progress:
                progress(number, len(waiting))
        # Every one that could not be read before was tried again here: these are all there are.
        if done.damaged != int(self._index.meta(UNREAD) or 0):
            with self._index.transaction():
                self._index.set_meta(UNREAD, done.damaged)
        return done

    def apply(self, logged: Logged, items: Items | None, done: Applied) -> None:
        """Apply one manifest with the fragments it brought, and move the watermark.

        None for fragments that can't be read: the manifest is tried again by whoever follows next.
        """
        is_unread, items = items is None, items or ()
        with self._index.transaction():
            self._bring(self._first(items), done)
            self._hear(logged, items, done)
            if is_unread or logged.seq in self._archive.log.lacking():
                self._elsewhere.note_absent(logged.seq)
            if isinstance(logged.manifest, Tombstone):
                for identity in sorted(self._bury(logged.manifest, logged.hlc)):
                    self._make_again(identity, done)
            self._index.set_meta(_WATERMARK, logged.seq)
            self._index.set_meta(_WATERMARK_HLC, logged.hlc)

    def _come(self) -> list[Logged]:
        """Give the noted manifests whose bytes are here by now, whole or not."""
        absent = set(self._elsewhere.absent())
        if absent:
            absent -= self._archive.log.lacking()
        found = (next(self._archive.log.since(seq - 1), None) for seq in sorted(absent))
        return [logged for logged in found if logged is not None and logged.seq in absent]

    def _apply_late(self, logged: Logged, items: Items | None, done: Applied) -> None:
        if items is None:
            return
        with self._index.transaction():
            self._bring(self._first(items), done)
            self._elsewhere.forget_absent(logged.seq)

    def _first(self, items: Items) -> Items:
        """Give fragments the smallest clock that any manifest gave them."""
        clocks = {bytes.fromhex(stored.sha256): stored.hlc for stored, _ in items}
        first = self._elsewhere.first_clocks(clocks)
        return [(replace(stored, hlc=first[bytes.fromhex(stored.sha256)]), item) for stored, item in items]

    def _hear(self, logged: Logged, items: Items, done: Applied) -> None:
        """Note the clocks that a manifest gives fragments which it does not bring."""
        brought = {bytes.fromhex(stored.sha256) for stored, _ in items}
        heard = (clock for clock in clocks_of(logged).items() if clock[0] not in brought)
        for row in sorted(self._elsewhere.hear(heard)):
            self._make_again(self._rows.identity(row), done)

    def _load(self, logged: Logged, current: Mapping[str, Segment], done: Applied) -> Items | None:
        """Read what a manifest brought: nothing of a segment that was replaced since, None for damage."""
        if isinstance(logged.manifest, Segment) and logged.manifest.sha256 not in current:
            return []
        try:
            loaded = [(stored, decode_fragment(data)) for stored, data in self._archive.load(logged)]
        except BlobAbsent:
            return []
        except Damaged:
            done.damaged += 1
            return None
        return [item for item in loaded if bytes.fromhex(item[0].sha256) not in self._gone]

    def _bring(self, items: Items, done: Applied) -> None:
        grouped: dict[str, list[tuple[Stored, Fragment]]] = {}
        again: set[str] = set()
        for stored, fragment in items:
            known = self._catalog.place(stored.sha256)
            if known is None:
                # Memory has these names in the index, wherever an archive that says so came from.
                if fragment.source not in SOURCES:
                    grouped.setdefault(fragment.conversation_id, []).append((stored, fragment))
                continue
            self._index.place_fragments(known.conversation, [(stored, fragment.redactor_version)])
            if stored.hlc < known.hlc:
                again.add(fragment.conversation_id)
        for conversation_id, fresh in grouped.items():
            self._bring_conversation(conversation_id, fresh, done)
        for conversation_id in sorted(again):
            self._make_again(conversation_id, done)

    def _bring_conversation(
        self, conversation_id: str, fresh: list[tuple[Stored, Fragment]], done: Applied
    ) -> None:
        known = self._rows.find(conversation_id)
        first = fresh[0][1]
        row = known.id if known else self._rows.add(conversation_id, first.source, first.source_id)
        self._index.place_fragments(row, [(stored, item.redactor_version) for stored, item in fresh])
        if known is None:
            self._make_again(conversation_id, done, fresh)
            return
        fresh.sort(key=lambda item: min((event.seq for event in item[1].events), default=-1))
        for stored, fragment in fresh:
            known = self._rows.find(conversation_id)
            if known is None or not self._append(known, stored, fragment, done):
                self._make_again(conversation_id, done)
                return

    def _append(self, known: Known, stored: Stored, fragment: Fragment, done: Applied) -> bool:
        """Add a fragment whose events all come after what is indexed; else return False, nothing written."""
        placed = self._placed_behind(known, fragment)
        if placed is None or not _is_of(known, fragment):
            return False
        tally = Tally()
        served = ((event, stored.sha256) for _, event in placed.events)
        wanted = drafts(fragment.conversation_id, served, known.next_index, tally)
        if not self._are_new(wanted):
            return False
        home = Home(conversation=known.id, population=POPULATION_CONVERSATION, workspace=known.workspace_row)
        before = [
            (row, text)
            for row in reversed(known.tails)
            if row is not None and (text := self._index.text_of(row)) is not None
        ]
        chain = [*before, *self._index.add(home, wanted.records, before)]
        self._index.add_silent(wanted.silent)
        tally.admitted[fragment.source] += len(wanted.records)
        tails = [row for row, _ in chain[-1:-3:-1]]
        self._rows.advance(known, placed.events[-1][0], len(placed.events), tails)
        stream = stream_of(fragment.events, placed)
        self._rows.set_streams(known.id, {fragment.relative_path: stream})
        _count(done, known.id, len(wanted.records), tally)
        return True

    def _placed_behind(self, known: Known, fragment: Fragment) -> Placed | None:
        """Place events that follow all of their conversation; None where that isn't so or isn't certain."""
        stream = self._rows.stream(known.id, fragment.relative_path)
        if stream is None or not fragment.events or known.removed_hlc:
            return None
        if min(event.seq for event in fragment.events) <= stream.last_seq:
            return None
        if not stream.carried and any(instant_key(event.timestamp) for event in fragment.events):
            # The first time in a file counts for all that precedes it, too.
            return None
        placed = positioned(fragment.events, stream.carried)
        return placed if placed.events[0][0] > known.last else None

    def _are_new(self, wanted: Drafts) -> bool:
        """Tell whether no event of a run is known, nor in it twice."""
        digests = [*(draft.record_id for draft in wanted.records), *wanted.silent]
        return len(set(digests)) == len(digests) and not any(map(self._catalog.has_event, digests))

    def _make_again(self, conversation_id: str, done: Applied, items: Items | None = None) -> None:
        """Make a conversation anew from every fragment in the catalog; `items` are all of them, if given."""
        known = self._rows.find(conversation_id)
        if known is None:
            return
        if items is None:
            stamped = self._catalog.fragments(known.id)
        else:
            stamped = [Stamped(fragment=f, sha256=s.sha256, hlc=s.hlc) for s, f in items]
        self._make(known, stamped, done)

    def _make(self, known: Known, stamped: Sequence[Stamped], done: Applied) -> None:
        newest = max((item.hlc for item in stamped), default=0)
        known = replace(
            known,
            removed_hlc=known.buried_hlc if known.buried_hlc > newest else 0,
            captured=any(item.fragment.origin == Origin.CAPTURE for item in stamped),
        )
        whole = whole_of(stamped)
        tally = Tally()
        wanted = drafts(known.conversation_id, whole.events, 0, tally)
        workspace = self._index.workspace(whole.workspace)
        home = Home(conversation=known.id, population=POPULATION_CONVERSATION, workspace=workspace)
        if known.removed_hlc:
            wanted.silent.extend(draft.record_id for draft in wanted.records)
            wanted.records.clear()
            tally = Tally()
        if known.next_index:
            written = self._index.replace(home, wanted.records)
            tails = [row.id for row in reversed(self._index.rows(known.id)[-2:])]
        else:
            tails = [row for row, _ in self._index.add(home, wanted.records)[-1:-3:-1]]
            written = len(wanted.records)
        self._index.add_silent(wanted.silent)
        tally.admitted[whole.source] += len(wanted.records)
        if stamped:
            self._rows.update(known, whole, workspace, tails)
        else:
            self._rows.delete(known.id)
        _count(done, known.id, written, tally)

    def _bury(self, manifest: Tombstone, hlc: int) -> set[str]:
        """Note who is removed and who comes back."""
        self._rows.bury(manifest.removed, hlc)
        self._rows.revive(manifest.revived, hlc)
        return {*manifest.removed, *manifest.revived}


def _is_of(known: Known, fragment: Fragment) -> bool:
    """Tell whether a fragment leaves title, workspace, parent and origin of its conversation as they are."""
    brings_title = known.title == known.source_id and prompt_of(fragment.events) is not None
    return (
        not brings_title
        and (fragment.title or known.title) == known.title
        and (fragment.workspace or known.workspace) == known.workspace
        and (fragment.parent_id or known.parent_id) == known.parent_id
        and known.automation >= fragment.automation
        and (known.captured or fragment.origin != Origin.CAPTURE)
    )


def _count(done: Applied, conversation: int, written: int, tally: Tally) -> None:
    done.written += written
    done.tally.add(tally)
    if written:
        done.conversations.add(conversation)
