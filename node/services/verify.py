"""Check every hash, signature, chain and segment, and say what is damaged and what mends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crdt.store_indexes import faults_of
from crdt.verification import Checked, Damage, check_archive, check_feed
from node.services.backup_requests import VerifyRequest
from node.services.catalog import Document, Progress
from node.services.requests import Request

if TYPE_CHECKING:
    from node.composition import Local

DAMAGE_LISTED_MAX = 200
_FROM_A_BACKUP = "`atrium restore DIR --replace` puts a backup in its place"
HINTS = {
    "store": f"keep a copy of the state directory; {_FROM_A_BACKUP}",
    "index": "`atrium rebuild` makes it anew from its table, and loses nothing",
    "entry": f"ask a machine that has it for `atrium feeds export`, or {_FROM_A_BACKUP}",
    "chain": f"ask a machine that has it for `atrium feeds export`, or {_FROM_A_BACKUP}",
    "signature": f"somebody changed it: {_FROM_A_BACKUP}",
    "segment": f"`atrium feeds import FILE` from a machine that has it, or {_FROM_A_BACKUP}",
    "fragment": f"run `atrium capture` where the transcripts are still there, or {_FROM_A_BACKUP}",
}
_PROGRESS_FEEDS = 16


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Verify and change nothing; `{schemaVersion, ok, …, bytes, damage[{kind, where, what, hint}]}`."""
    if not isinstance(request, VerifyRequest):
        raise TypeError(request)
    began_s = time.monotonic()
    checked = Checked()
    store = local.feeds
    kind, faults = faults_of(store)
    checked.damage.extend(Damage(kind=kind, where="canonical/feeds.db", what=what) for what in faults)
    heads = store.heads()
    for done, head in enumerate(heads):
        if done % _PROGRESS_FEEDS == 0:
            progress({"phase": "verify", "done": done, "total": len(heads), "unit": "feeds"})
        check_feed(head.feed, store.stored_bytes(head.feed), checked, every_signature=request.every_signature)

    def report(done: int, total: int) -> None:
        progress({"phase": "verify", "done": done, "total": total, "unit": "bytes"})

    check_archive(local.archive, checked, report)
    return {
        "schemaVersion": 1,
        "ok": not checked.damage,
        "feeds": len(heads),
        "entries": checked.entries,
        "signatures": checked.signatures,
        "erased": checked.erased,
        "segments": checked.segments,
        "fragments": checked.fragments,
        "absent": checked.absent,
        "bytes": checked.entry_bytes + checked.archive_bytes,
        "seconds": round(time.monotonic() - began_s, 3),
        "damaged": len(checked.damage),
        "damage": [
            {"kind": item.kind, "where": item.where, "what": item.what, "hint": HINTS[item.kind]}
            for item in checked.damage[:DAMAGE_LISTED_MAX]
        ],
    }
