"""Read everything that is stored and compare it with its hashes; as long as it takes, with progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from crdt.errors import Damaged
from node.checks import Check, Look, Severity

if TYPE_CHECKING:
    from node.services.catalog import Progress

FROM_A_BACKUP: Final = "copy the state directory, then put the `canonical` folder back from a backup"
REBUILD: Final = "run `atrium rebuild`"


def verify(look: Look, progress: Progress) -> list[Check]:
    """Check the archive byte for byte and the index page by page; what is not there gives no check."""
    return [*_verify_archive(look, progress), *_verify_index(look, progress)]


def _verify_archive(look: Look, progress: Progress) -> list[Check]:
    if look.archive.fault is not None or not look.archive.head:
        return []
    archive = look.local.archive
    store = _broken("store", "store_damaged", FROM_A_BACKUP)
    try:
        if look.local.feeds.quick_check():
            return [store]
        segments = sorted(archive.current())
        waiting = [sha256 for sha256, _, _ in archive.log.tails()]
    except Damaged:
        return [store]
    damaged = 0
    for done, sha256 in enumerate(segments):
        progress({"phase": "verify", "done": done, "total": len(segments), "unit": "segments"})
        damaged += _is_damaged(partial(archive.segments.load, sha256))
    lost = sum(_is_damaged(partial(archive.log.tail_body, sha256)) for sha256 in waiting)
    if damaged or lost:
        what = f"{damaged} of {len(segments)} segments and {lost} of {len(waiting)} waiting fragments"
        return [_broken("segments", "segment_damaged", f"{what} are damaged: {FROM_A_BACKUP}")]
    return [Check(name="segments", code="archive_verified")]


def _is_damaged(read: Callable[[], object]) -> bool:
    """Read something whose hash is known.  A waiting fragment that was sealed meanwhile gives nothing."""
    try:
        read()
    except Damaged:
        return True
    return False


def _verify_index(look: Look, progress: Progress) -> list[Check]:
    from retrieval.index_health import findings

    if look.index.health is None:
        return []
    progress({"phase": "verify", "done": 0, "total": 1, "unit": "index"})
    try:
        with look.local.reader() as reader:
            is_whole = not findings(reader)
    except Damaged:
        is_whole = False
    if is_whole:
        return [Check(name="pages", code="index_verified")]
    return [_broken("pages", "index_damaged", REBUILD)]


def _broken(name: str, code: str, hint: str) -> Check:
    return Check(name=name, code=code, severity=Severity.BROKEN, hint=hint)
