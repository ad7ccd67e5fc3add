"""Checks of the canonical store: can it be written, is it whole, does anything in it wait or contradict."""

from __future__ import annotations

from typing import Final

from crdt.errors import Damaged, IndexUnavailable
from crdt.sqlite import MENDS
from node.checks import Check, Look, Severity
from node.checks_deep import FROM_A_BACKUP
from node.succession import own_keys

NAME: Final = "store"


def check_store(look: Look) -> Check | None:
    """See how the store stands for the node that has it open; without a node nobody has."""
    keeper = look.local.keeper
    if keeper is None:
        return None
    fault = keeper.fault
    if keeper.damage or isinstance(fault, Damaged):
        return Check(name=NAME, code="store_damaged", severity=Severity.BROKEN, hint=MENDS["canonical"])
    if fault is not None:
        hint = "nothing can be kept: free some space, or let the node write there; it goes on by itself"
        return Check(name=NAME, code="store_read_only", severity=Severity.BROKEN, hint=hint)
    return Check(name=NAME, code="store_ok")


def check_ballast(look: Look) -> Check | None:
    """See whether the running node has its reserve for a full disk."""
    keeper = look.local.keeper
    if keeper is None or keeper.is_reserved is None:
        return None
    if keeper.is_reserved:
        return Check(name="ballast", code="ballast_kept")
    hint = "free 320 MiB or more; until then small writes live on what is left, and no transcript is taken in"
    return Check(name="ballast", code="ballast_dropped", severity=Severity.WARN, hint=hint)


def check_feeds(look: Look) -> Check | None:
    """See whether any feed was written by two nodes with one key."""
    try:
        forks = look.local.feeds.forks()
    except IndexUnavailable:
        return None
    if not forks:
        return Check(name="feeds", code="feeds_whole")
    if any(feed.author in own_keys(look.local) for feed in forks):
        hint = (
            "another machine has a copy of this state directory and wrote with its key: delete that copy, "
            "or run `atrium identity revoke` here if it is in foreign hands"
        )
    else:
        hint = "two machines of a member wrote as one, perhaps from a copy: `atrium feeds` names the feed"
    return Check(name="feeds", code="feed_forked", severity=Severity.WARN, hint=hint)


def check_segments(look: Look) -> Check | None:
    """See whether each segment that the archive names has its file, and whether the index could read all.

    Nothing is read of the files themselves, which is the matter of `atrium verify`.
    """
    if look.archive.fault is not None or not look.archive.head:
        return None
    archive = look.local.archive
    awaited = archive.log.wanted().segments
    missing = sum(not archive.segments.has(name) for name in archive.current() if name not in awaited)
    if missing:
        return _broken_segments("segment_missing", f"segments of the archive that are missing: {missing}")
    unread = look.index.health.unread if look.index.health else 0
    if unread:
        return _broken_segments(
            "segment_unread", f"parts of the archive that the index could not read: {unread}"
        )
    return None


def _broken_segments(code: str, what: str) -> Check:
    hint = f"{what}; `atrium verify` names them; {FROM_A_BACKUP}"
    return Check(name="segment_files", code=code, severity=Severity.BROKEN, hint=hint)


def check_pending(look: Look) -> Check | None:
    """See whether entries of other nodes wait for something that has not come."""
    try:
        is_waiting = look.local.feeds.has_pending()
    except IndexUnavailable:
        return None
    if not is_waiting:
        return None
    hint = "entries of other nodes wait for an earlier one, a membership or their moment: see `atrium feeds`"
    return Check(name="pending", code="entries_pending", severity=Severity.WARN, hint=hint)
