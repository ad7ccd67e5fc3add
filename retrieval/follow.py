"""The index follows the archive: each manifest of the log is applied once, in order, in one transaction.

A conversation's new fragments are appended when they come after everything that is indexed of it, which
is how agents write.  Anything else (an older copy, a second source, a correction, a conversation that
comes back) makes the conversation anew from the union of all its fragments and writes what differs, so
that the order in which fragments arrive never shows in the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from crdt.archive import Archive, Stored, decode_fragment
from crdt.events import Event, Fragment, Origin
from crdt.ids import record_id
from crdt.manifests import Logged, Segment, Supersede, Tail, Tombstone
from crdt.union import NOWHERE, Position, Stamped, instant_key, is_prompt
from retrieval.index_catalog import Catalog
from retrieval.index_relocation import relocate
from retrieval.index_rows import Tally, drafts, positioned
from retrieval.index_writer import POPULATION_CONVERSATION, Home, IndexWriter
from retrieval.whole import whole_of

_WATERMARK = "archive_seq"
_FIND = """
SELECT c.id, c.workspace, c.last_key, c.last_id, c.next_index, c.tail1, c.tail2, c.removed_hlc, c.captured,
       w.path, c.parent_id, c.automation, c.title = c.source_id
FROM conversations c LEFT JOIN workspaces w ON w.id = c.workspace WHERE c.conversation_id = ?
"""
_ADD = """
INSERT INTO conversations (conversation_id, population, source, source_id, title, automation, captured,
                           last_key, last_id, next_index, removed_hlc)
VALUES (?, 0, ?, ?, '', 0, 0, '', '', 0, 0)
"""
_UPDATE = """
UPDATE conversations SET title = ?, workspace = ?, parent_id = ?, automation = ?, captured = ?, last_key = ?,
    last_id = ?, next_index = ?, tail1 = ?, tail2 = ?, removed_hlc = ? WHERE id = ?
"""
_ADVANCE = """
UPDATE conversations SET last_key = ?, last_id = ?, next_index = ?, tail1 = ?, tail2 = ?, captured = ?
WHERE id = ?
"""
_STREAMS = "SELECT path, last_seq FROM streams WHERE conversation = ?"
_SET_STREAM = """
INSERT INTO streams (conversation, path, last_seq) VALUES (?, ?, ?)
ON CONFLICT (conversation, path) DO UPDATE SET last_seq = excluded.last_seq
"""
_UNDATED = 1 << 62
"""Last place of a file without any time so far: its first time will move what is indexed of it."""
_KNOWN = "SELECT conversation FROM fragments WHERE sha256 = ?"
_OF_SEGMENT = "SELECT DISTINCT conversation FROM fragments WHERE segment = ?"
_DROP_OF_SEGMENT = "DELETE FROM fragments WHERE segment = ?"
_IDENTITY = "SELECT conversation_id FROM conversations WHERE id = ?"
_SET_REMOVED = "UPDATE conversations SET removed_hlc = ? WHERE id = ?"


@dataclass(slots=True)
class Applied:
    """What a run of the follower did."""

    written: int = 0
    conversations: set[int] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class _Known:
    """A conversation's row, as far as appending needs it."""

    id: int
    workspace: int | None
    last: Position
    next_index: int
    tails: tuple[int | None, int | None]
    removed_hlc: int
    captured: bool
    workspace_path: str | None
    parent_id: str | None
    automation: bool
    untitled: bool


class ArchiveFollower:
    """Applies the archive's log to the index."""

    def __init__(self, index: IndexWriter, archive: Archive) -> None:
        self._index = index
        self._archive = archive

    def watermark(self) -> int:
        """Tell the last manifest that the index has applied."""
        return int(self._index.meta(_WATERMARK) or 0)

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> Applied:
        """Apply every manifest after the watermark; `progress` gets (applied, total) manifests."""
        done = Applied()
        start, head = self.watermark(), self._archive.log.head()
        if start >= head:
            return done
        current = self._archive.current()
        with self._index.transaction():
            for conversation in relocate(self._index.connection, self._archive, current):
                self._make_row_again(conversation, done)
        for logged in list(self._archive.log.since(start)):
            if isinstance(logged.manifest, Segment) and logged.manifest.sha256 not in current:
                items: list[tuple[Stored, Fragment]] = []
            else:
                items = [(stored, decode_fragment(data)) for stored, data in self._archive.load(logged)]
            self.apply(logged, items, done)
            if progress:
                progress(logged.seq - start, head - start)
        return done

    def apply(self, logged: Logged, items: Sequence[tuple[Stored, Fragment]], done: Applied) -> None:
        """Apply one manifest with the fragments it brought, and move the watermark."""
        with self._index.transaction():
            if isinstance(logged.manifest, Tail | Segment):
                self._bring(items, done)
            elif isinstance(logged.manifest, Supersede):
                self._supersede(logged.manifest, done)
            else:
                self._bury(logged.manifest, logged.hlc, done)
            self._index.set_meta(_WATERMARK, logged.seq)

    def _bring(self, items: Sequence[tuple[Stored, Fragment]], done: Applied) -> None:
        grouped: dict[str, list[tuple[Stored, Fragment]]] = {}
        for stored, fragment in items:
            known = self._execute(_KNOWN, (bytes.fromhex(stored.sha256),)).fetchone()
            if known is None:
                grouped.setdefault(fragment.conversation_id, []).append((stored, fragment))
            else:
                self._index.place_fragments(known[0], [(stored, fragment.redactor_version)])
        for conversation_id, fresh in grouped.items():
            self._bring_conversation(conversation_id, fresh, done)

    def _bring_conversation(
        self, conversation_id: str, fresh: list[tuple[Stored, Fragment]], done: Applied
    ) -> None:
        known = self._find(conversation_id)
        if known is None:
            first = fresh[0][1]
            row = self._execute(_ADD, (bytes.fromhex(conversation_id), first.source, first.source_id))
            conversation = int(row.lastrowid or 0)
            if removed_hlc := self._index.meta(_buried(conversation_id)):
                self._execute(_SET_REMOVED, (removed_hlc, conversation))
            stamped = [Stamped(fragment=f, sha256=s.sha256, hlc=s.hlc) for s, f in fresh]
            self._note(conversation, fresh)
            self._make(conversation, conversation_id, stamped, done)
            return
        self._note(known.id, fresh)
        fresh.sort(key=lambda item: item[1].events[0].seq if item[1].events else -1)
        for stored, fragment in fresh:
            if known is None or not self._append(known, conversation_id, stored, fragment, done):
                self._make_again(conversation_id, done)
                return
            known = self._find(conversation_id)

    def _note(self, conversation: int, fresh: Iterable[tuple[Stored, Fragment]]) -> None:
        self._index.place_fragments(conversation, [(stored, f.redactor_version) for stored, f in fresh])

    def _append(
        self, known: _Known, conversation_id: str, stored: Stored, fragment: Fragment, done: Applied
    ) -> bool:
        """Add a fragment whose events all come after what is indexed; else return False, nothing written."""
        placed = positioned(fragment)
        streams = dict(self._execute(_STREAMS, (known.id,)))
        if (
            known.removed_hlc
            or not placed
            or placed[0][0] <= known.last
            or fragment.events[0].seq <= streams.get(fragment.relative_path, _UNDATED)
            or instant_key(fragment.events[0].timestamp) is None
            or _changes_the_head(known, fragment)
            or any(self._is_served(conversation_id, event) for event in fragment.events)
        ):
            return False
        tally = Tally()
        wanted = drafts(
            conversation_id, ((event, stored.sha256) for _, event in placed), known.next_index, tally
        )
        home = Home(conversation=known.id, population=POPULATION_CONVERSATION, workspace=known.workspace)
        before = [
            (row, text)
            for row in reversed(known.tails)
            if row is not None and (text := self._index.text_of(row)) is not None
        ]
        chain = [*before, *self._index.add(home, wanted, before)]
        tally.admitted[fragment.source] += len(wanted)
        tails = [*(row for row, _ in chain[-1:-3:-1]), None, None][:2]
        (key, seq, last_id) = placed[-1][0]
        last = (f"{key}\0{seq}", last_id, known.next_index + len(placed), *tails, known.captured, known.id)
        self._execute(_ADVANCE, last)
        last_seq = max(event.seq for event in fragment.events)
        self._execute(_SET_STREAM, (known.id, fragment.relative_path, last_seq))
        _count(done, known.id, len(wanted), tally)
        return True

    def _is_served(self, conversation_id: str, event: Event) -> bool:
        return event.id is not None and self._index.has_record(
            bytes.fromhex(record_id(conversation_id, event.id))
        )

    def _make_row_again(self, conversation: int, done: Applied) -> None:
        (identity,) = self._execute(_IDENTITY, (conversation,)).fetchone()
        self._make_again(identity.hex(), done)

    def _make_again(self, conversation_id: str, done: Applied) -> None:
        """Make a conversation anew from every fragment in the catalog."""
        known = self._find(conversation_id)
        if known is not None:
            self._make(known.id, conversation_id, self.fragments_of(known.id), done)

    def fragments_of(self, conversation: int) -> list[Stamped]:
        """Read all fragments of a conversation by its row."""
        return Catalog(self._index.connection, self._archive).fragments(conversation)

    def _make(
        self, conversation: int, conversation_id: str, stamped: Sequence[Stamped], done: Applied
    ) -> None:
        known = self._find(conversation_id)
        newest = max((item.hlc for item in stamped), default=0)
        removed_hlc = known.removed_hlc if known and known.removed_hlc > newest else 0
        whole = whole_of(stamped)
        tally = Tally()
        wanted = drafts(conversation_id, [] if removed_hlc else whole.events, 0, tally)
        workspace = self._index.workspace(whole.workspace)
        home = Home(conversation=conversation, population=POPULATION_CONVERSATION, workspace=workspace)
        if known and known.next_index:
            written = self._index.replace(home, wanted)
            tails = [row.id for row in reversed(self._index.rows(conversation)[-2:])]
        else:
            tails = [row for row, _ in self._index.add(home, wanted)[-1:-3:-1]]
            written = len(wanted)
        tally.admitted[whole.source] += len(wanted)
        captured = any(item.fragment.origin == Origin.CAPTURE for item in stamped)
        key, seq, last_id = whole.last
        row = (
            whole.title, workspace, whole.parent_id, whole.automation, captured, f"{key}\0{seq}", last_id,
            len(whole.events), *[*tails, None, None][:2], removed_hlc, conversation,
        )  # fmt: skip
        self._execute(_UPDATE, row)
        for path, last_seq in _last_places(stamped).items():
            self._execute(_SET_STREAM, (conversation, path, last_seq))
        _count(done, conversation, written, tally)

    def _supersede(self, manifest: Supersede, done: Applied) -> None:
        """Forget fragments that no generation holds any more and make their conversations anew."""
        for sha256 in manifest.replaced:
            if sha256 in manifest.by:
                continue
            touched = [row[0] for row in self._execute(_OF_SEGMENT, (bytes.fromhex(sha256),)).fetchall()]
            self._execute(_DROP_OF_SEGMENT, (bytes.fromhex(sha256),))
            for conversation in touched:
                self._make_row_again(conversation, done)

    def _bury(self, manifest: Tombstone, hlc: int, done: Applied) -> None:
        for removed, identities in ((True, manifest.removed), (False, manifest.revived)):
            for identity in identities:
                known = self._find(identity)
                if known is not None:
                    self._execute(_SET_REMOVED, (hlc if removed else 0, known.id))
                    self._make_again(identity, done)
                else:
                    # What it had by then was sealed since, and comes with a later manifest.
                    self._index.set_meta(_buried(identity), hlc if removed else 0)

    def _find(self, conversation_id: str) -> _Known | None:
        row = self._execute(_FIND, (bytes.fromhex(conversation_id),)).fetchone()
        if row is None:
            return None
        key, _, seq = row[2].partition("\0")
        last = (key, int(seq), row[3]) if seq else NOWHERE
        return _Known(
            id=row[0], workspace=row[1], last=last, next_index=row[4], tails=(row[5], row[6]),
            removed_hlc=row[7], captured=bool(row[8]), workspace_path=row[9], parent_id=row[10],
            automation=bool(row[11]), untitled=bool(row[12]),
        )  # fmt: skip

    def _execute(self, statement: str, parameters: tuple[object, ...]) -> sqlite3.Cursor:
        return self._index.connection.execute(statement, parameters)


def _buried(conversation_id: str) -> str:
    return f"buried {conversation_id}"


def _changes_the_head(known: _Known, fragment: Fragment) -> bool:
    """Tell whether a fragment may say something new of its conversation as a whole."""
    return (
        fragment.title is not None
        or (known.untitled and any(is_prompt(event) for event in fragment.events))
        or fragment.workspace not in (None, known.workspace_path)
        or fragment.parent_id not in (None, known.parent_id)
        or (fragment.automation and not known.automation)
        or (fragment.origin == Origin.CAPTURE and not known.captured)
    )


def _last_places(stamped: Sequence[Stamped]) -> dict[str, int]:
    """Tell of each file how far it is indexed."""
    places: dict[str, int] = {}
    dated: set[str] = set()
    for item in stamped:
        fragment = item.fragment
        path = fragment.relative_path
        places[path] = max([places.get(path, -1), *(event.seq for event in fragment.events)])
        if any(instant_key(event.timestamp) for event in fragment.events):
            dated.add(path)
    return {path: last_seq if path in dated else _UNDATED for path, last_seq in places.items()}


def _count(done: Applied, conversation: int, written: int, tally: Tally) -> None:
    done.written += written
    done.tally.add(tally)
    if written:
        done.conversations.add(conversation)
