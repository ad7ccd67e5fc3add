"""When waiting fragments become a segment, and small segments one larger one.

Fragments of a live session come one by one and wait in the log.  They are sealed once there is a segment's
worth of them, or once nobody has added any for ten minutes (DECISIONS.md 19), which leaves a small segment
for each pause of a day.  Those are merged from time to time, so that their number stays bounded.  What a bulk
import brings waits for nothing.
"""

from __future__ import annotations

from crdt.archive import Archive
from crdt.clock import milliseconds_of
from crdt.manifests import Logged, Segment
from crdt.segments import SEGMENT_BYTES_MAX, SEGMENT_FRAGMENTS_MAX, Body, build

QUIET_MS = 600_000
BULK_BYTES = 4 << 20
BULK_CONVERSATIONS = 32
SMALL_BYTES = 1 << 20
"""A segment below this size is small."""
SMALL_MAX = 32
"""Small segments that may lie beside each other: a day of pauses, and no burden to a folder."""
REASON = "small segments merged"


def is_bulk(new_conversations: int, size_bytes: int) -> bool:
    """Tell whether a run of this size is a bulk import, whose last fragments are sealed at its end.

    `new_conversations` are those that the archive had nothing of, `size_bytes` is of all fragments.  A hook
    brings an increment of one conversation, and a scan one of each that agents are in, be they two hundred:
    to seal those would make a tiny segment every few seconds.  But they are known, apart from a few that
    just began.  Tens of new ones at once, or megabytes, are a history that was there before: nobody will add
    to most of it, and as rows of the log it would be held twice, first there and then in a segment.
    """
    return new_conversations >= BULK_CONVERSATIONS or size_bytes > BULK_BYTES


def seal_if_due(archive: Archive, now_ms: int) -> int:
    """Seal what waits where it is time; return how many fragments that were."""
    waiting = archive.log.tails()
    if not waiting:
        return 0
    newest_ms = max(milliseconds_of(hlc) for _, hlc, _ in waiting)
    is_due = (
        len(waiting) >= SEGMENT_FRAGMENTS_MAX
        or sum(size_bytes for _, _, size_bytes in waiting) >= SEGMENT_BYTES_MAX
        or now_ms - newest_ms >= QUIET_MS
    )
    return archive.seal() if is_due else 0


def merge_small(archive: Archive) -> int:
    """Merge small segments where there are too many; return how many were replaced.

    Fragments keep their bytes and their clocks; whoever has a catalog of them has to follow.
    """
    small = [logged for logged in _segments(archive) if _manifest(logged).size_bytes < SMALL_BYTES]
    if len(small) <= SMALL_MAX:
        return 0
    replaced = 0
    for group in _groups(small):
        _merge(archive, group)
        replaced += len(group)
    return replaced


def _segments(archive: Archive) -> list[Logged]:
    """List the manifests of the segments that are current, each segment once."""
    current = archive.current()
    found = {
        logged.manifest.sha256: logged
        for logged in archive.log.since(0)
        if isinstance(logged.manifest, Segment) and logged.manifest.sha256 in current
    }
    return list(found.values())


def _manifest(logged: Logged) -> Segment:
    if not isinstance(logged.manifest, Segment):
        raise TypeError(logged.manifest)
    return logged.manifest


def _groups(small: list[Logged]) -> list[list[Logged]]:
    """Put segments together as far as they fit into one; those that stay alone are left out."""
    groups: list[list[Logged]] = [[]]
    fragments = size_bytes = 0
    for logged in small:
        manifest = _manifest(logged)
        fragments += len(manifest.fragments)
        size_bytes += manifest.size_bytes
        if groups[-1] and (fragments > SEGMENT_FRAGMENTS_MAX or size_bytes > SEGMENT_BYTES_MAX):
            groups.append([])
            fragments, size_bytes = len(manifest.fragments), manifest.size_bytes
        groups[-1].append(logged)
    return [group for group in groups if len(group) > 1]


def _merge(archive: Archive, group: list[Logged]) -> None:
    hlcs: dict[str, int] = {}
    bodies: list[Body] = []
    for logged in group:
        for stored, data in archive.load(logged):
            bodies.append(Body(sha256=stored.sha256, data=data))
            hlcs[stored.sha256] = min(stored.hlc, hlcs.get(stored.sha256, stored.hlc))
    archive.supersede([_manifest(logged).sha256 for logged in group], [(build(bodies), hlcs)], REASON)
