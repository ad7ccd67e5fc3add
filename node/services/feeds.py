"""Exchange signed feeds with another node by a file, as the mesh does by a link.

A file is believed in nothing: it is read whole before anything is taken, each entry goes through the same
admission as one from a peer, and each blob is checked against its name.  A space is taken only where its
own roster, signed by its owner, names this node as a member.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crdt import feed_file, have
from crdt.chains import vouched
from crdt.entries import Entry, EntryKind, parse
from crdt.errors import BadInput, Damaged, EntryRefused, NotFound
from crdt.feed_file import Blob, Loose, PageUpdate, Part, Space
from crdt.keys import node_id
from crdt.pages import linear, paginate
from crdt.roster import Roster
from node.ballast import refuse_on_low_space
from node.services.backup_requests import FeedsExportRequest, FeedsImportRequest, FeedsRequest
from node.services.catalog import Document, Progress
from node.services.feeds_refused import is_member, passed_over, refusal, unknown
from node.services.level import bring_level
from node.services.mirror import put_every_record
from node.services.requests import Request
from node.services.space_names import find_space, name_in

if TYPE_CHECKING:
    from crdt.store import FeedHead
    from node.composition import Local

_TICK_BYTES = 8 << 20
REFUSED_LISTED_MAX = 20


def overview(local: Local, request: Request, _progress: Progress) -> Document:
    """List feeds; `{schemaVersion, spaces[], pending{reason: n}}`.

    Members of a space that are level have its `digest` (of its entries) and `projection_digest` (of what its
    records amount to; None for none) in common.
    """
    if not isinstance(request, FeedsRequest):
        raise TypeError(request)
    store = local.feeds
    with local.projection() as reader:
        records = reader.digest().spaces
    spaces = []
    for space, roster in sorted(store.spaces().items(), key=lambda item: item[1].label):
        heads = store.heads(space)
        spaces.append(
            {
                "space": space.hex(),
                "label": roster.label,
                "digest": have.digest(space, have.have_of(heads)).hex(),
                "projection_digest": records.get(space.hex()),
                "feeds": [
                    {
                        "author": node_id(head.feed.author),
                        "name": name_in(roster, head.feed.author),
                        "incarnation": f"{head.feed.inc:016x}",
                        "entries": head.count,
                        "head": head.head.hex(),
                        "forked": head.is_forked,
                    }
                    for head in heads
                ],
            }
        )
    waiting = Counter(str(item.reason) for item in store.pending())
    return {"schemaVersion": 1, "spaces": spaces, "pending": dict(sorted(waiting.items()))}


def export(local: Local, request: Request, progress: Progress) -> Document:
    """Write feeds and what they name; `{schemaVersion, output, spaces, pages, entries, blobs}`.

    `entries` are those that are in no page.  Private spaces are never written; naming one is `BadInput`.
    """
    if not isinstance(request, FeedsExportRequest):
        raise TypeError(request)
    spaces = _chosen(local, request.spaces)
    parts = chain(
        (Space(space=space, have=_have(local, space)) for space in spaces),
        _feeds(local, spaces, progress),
        _blobs(local, progress) if request.with_archive and local.feeds.home() in spaces else (),
    )
    counts = feed_file.write(Path(request.path), parts)
    return {
        "schemaVersion": 1,
        "output": request.path,
        "spaces": counts.spaces,
        "pages": counts.pages,
        "entries": counts.entries,
        "blobs": counts.blobs,
    }


def _have(local: Local, space: bytes) -> bytes:
    """Say what is here of a space, of as many feeds as anybody reads; an author may begin any number."""
    return have.encode(have.have_of(local.feeds.heads(space)[: have.FEEDS_MAX]))


def _chosen(local: Local, named: tuple[str, ...]) -> list[bytes]:
    rosters = local.feeds.spaces()
    spaces = [find_space(local.feeds, name) for name in named] or list(rosters)
    private = {space for space in spaces if rosters[space].kind == "private"}
    if named and private:
        raise BadInput("a private space never leaves this machine", hint="name another space")
    return sorted(set(spaces) - private)


def _feeds(local: Local, spaces: list[bytes], progress: Progress) -> Iterator[Part]:
    """Give the pages of every feed, owners' first, and from its first fork on its entries one by one.

    What erases another entry goes ahead: that one comes without its body, which is believed only of who may.
    """
    erasures = (item.entry for item in local.feeds.entries(kinds=[EntryKind.ERASE]))
    yield from feed_file.loose_parts(entry for entry in erasures if entry.space in spaces)
    heads = [head for space in spaces for head in _owners_first(local, space)]
    for done, head in enumerate(heads):
        progress({"phase": "feeds", "done": done, "total": len(heads), "unit": "feeds"})
        last = 0
        for page in paginate(linear(local.feeds.feed_entries(head.feed))):
            yield feed_file.page_part(page)
            last = page.entries[-1].seq
        if last < head.seq:
            yield from feed_file.loose_parts(local.feeds.feed_entries(head.feed, last + 1))


def _owners_first(local: Local, space: bytes) -> list[FeedHead]:
    owners = {key for key, member in local.feeds.roster(space).members.items() if member.owner}
    return sorted(local.feeds.heads(space), key=lambda head: (head.feed.author not in owners, head.feed))


def _blobs(local: Local, progress: Progress) -> Iterator[Part]:
    """Give the archive's segments that are here, and fragments that wait for one."""
    archive = local.archive
    named = sorted(archive.current())
    for done, sha256 in enumerate(named):
        progress({"phase": "segments", "done": done, "total": len(named), "unit": "segments"})
        try:
            data = archive.segments.path(sha256).read_bytes()
        except FileNotFoundError:
            # Another node's, whose bytes have not come here either.
            continue
        yield Blob(kind="segment", sha256=bytes.fromhex(sha256), data=data)
    for fragment, _, _ in local.feeds.tails():
        body = local.feeds.tail_body(fragment)
        if body is not None:
            yield Blob(kind="fragment", sha256=fragment, data=body)


@dataclass(slots=True)
class _Taken:
    """What an import did; `blobs` counts by what became of them, `passed_over` entries by their spaces."""

    committed: int = 0
    known: int = 0
    own: int = 0
    pending: set[bytes] = field(default_factory=set)
    passed_over: Counter[bytes] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    blobs: Counter[str] = field(default_factory=Counter)


def import_(local: Local, request: Request, progress: Progress) -> Document:
    """Take feeds in; `{schemaVersion, spaces[], passedOver[], entries, known, pending, refused[], blobs{}}`.

    `passedOver` are the spaces that this node may not take, or knows nothing of: `{space, label, why, hint}`.
    Raises `EntryRefused` for a file that is not whole, `NotAllowed` where no space of it has this node as a
    member; nothing is taken then.  What came until the disk had too little room stays, and is passed over
    when the same file comes again.
    """
    if not isinstance(request, FeedsImportRequest):
        raise TypeError(request)
    refuse_on_low_space(local.paths)
    path = Path(request.path)
    tick = _ticker(progress, path)
    feed_file.check(path, tick)
    rosters = _rosters(local, path)
    own = local.identity.public_key
    welcome = {space for space, roster in rosters.items() if is_member(roster, own)}
    left = [passed_over(roster, own) for space, roster in sorted(rosters.items()) if space not in welcome]
    if left and not welcome:
        raise refusal(left)
    here = local.feeds.spaces()
    welcome |= {space for space in here.keys() - rosters.keys() if is_member(here[space], own)}
    taken = _Taken()
    try:
        for part in feed_file.read(path, tick):
            refuse_on_low_space(local.paths)
            _take(local, part, welcome, taken)
    finally:
        if taken.own:
            # Somebody held entries of ours that were not here: what we write next must not contradict them.
            local.feeds.renew()
    strange = sorted(taken.passed_over.keys() - rosters.keys())[:REFUSED_LISTED_MAX]
    left += [
        passed_over(here[space], own) if space in here else unknown(space, taken.passed_over[space])
        for space in strange
    ]
    bring_level(local, progress)
    with local.projection() as reader:
        put_every_record(local.paths, reader)
    return {
        "schemaVersion": 1,
        "spaces": sorted(space.hex() for space in welcome & rosters.keys()),
        "passedOver": [msgspec.to_builtins(item) for item in left],
        "entries": taken.committed,
        "own": taken.own,
        "known": taken.known,
        "pending": len(taken.pending),
        "refused": taken.refused,
        "blobs": dict(sorted(taken.blobs.items())),
    }


def _rosters(local: Local, path: Path) -> dict[bytes, Roster]:
    """Fold the roster of each space of a file, as far as it is signed, with what this node knows already."""
    found: dict[bytes, list[Entry]] = {}
    for entry in _roster_entries(path):
        found.setdefault(entry.home, []).append(entry)
    rosters = {}
    for space, said in found.items():
        known = local.feeds.spaces().get(space)
        signed = vouched(said)
        entries = [entry for entry in said if entry.hash in signed]
        try:
            rosters[space] = Roster.of(space, entries) if known is None else known.extended(entries)
        except (NotFound, EntryRefused):
            continue
    return rosters


def _roster_entries(path: Path) -> Iterator[Entry]:
    kinds = (EntryKind.GENESIS, EntryKind.ROSTER)
    for part in feed_file.read(path):
        if isinstance(part, PageUpdate | Loose):
            yield from (entry for entry in _parsed(part) if entry.kind in kinds)


def _parsed(part: PageUpdate | Loose) -> Iterator[Entry]:
    """Read the entries of a part, but those that are none."""
    for raw in feed_file.raws_of(part):
        try:
            yield parse(raw, erased=True)
        except EntryRefused:
            continue


def _take(local: Local, part: Part, welcome: set[bytes], taken: _Taken) -> None:
    if isinstance(part, Blob):
        taken.blobs[_take_blob(local, part)] += 1
    elif isinstance(part, PageUpdate | Loose):
        wanted = [raw for raw in feed_file.raws_of(part) if _is_welcome(raw, welcome, taken)]
        received = local.feeds.receive(wanted)
        author = local.feeds.author()
        taken.committed += len(received.committed)
        taken.own += sum(item.entry.author == author for item in received.committed)
        taken.known += received.known
        taken.pending |= {verdict.entry.hash for verdict in received.pending}
        taken.pending -= {item.entry.hash for item in received.committed}
        left = REFUSED_LISTED_MAX - len(taken.refused)
        taken.refused += [error.detail for error in received.refused[:left]]


def _is_welcome(raw: bytes, welcome: set[bytes], taken: _Taken) -> bool:
    """Tell whether bytes are for the store: also those that are no entry, which it refuses by name."""
    try:
        home = parse(raw, erased=True).home
    except EntryRefused:
        return True
    if home not in welcome:
        taken.passed_over[home] += 1
    return home in welcome


def _take_blob(local: Local, blob: Blob) -> str:
    """Take a segment or a fragment in if something here names it; say what became of it."""
    try:
        if blob.kind == "segment":
            is_new = local.archive.take_segment(blob.sha256.hex(), blob.data)
        else:
            is_new = local.archive.take_tail(blob.sha256, blob.data)
    except Damaged:
        return "damaged"
    return "taken" if is_new else "known"


def _ticker(progress: Progress, path: Path) -> Callable[[int], None]:
    """Tell now and then how much of a file is read."""
    total = path.stat().st_size if path.is_file() else 0
    told = 0

    def tick(done: int) -> None:
        nonlocal told
        if done < told or done - told >= _TICK_BYTES:
            told = done
            progress({"phase": "read", "done": done, "total": total, "unit": "bytes"})

    return tick
