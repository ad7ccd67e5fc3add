"""What every capture and ingest does at its end: keep the archive in good order.

A running node captures every few minutes even when nothing happens, so no clock of its own is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from archivist.sealing import merge_small, seal_if_due
from crdt.clock import wall_ms

if TYPE_CHECKING:
    from node.composition import Local


def keep_archive(local: Local, now_ms: int | None = None) -> int:
    """Seal what waited long enough, merge small segments, drop files that nothing names.

    Returns how many fragments were sealed; the index knows by then where they lie.
    """
    sealed = seal_if_due(local.archive, wall_ms() if now_ms is None else now_ms)
    if sealed:
        merge_small(local.archive)
        local.archive.sweep()
        local.follower.catch_up()
    # What was just archived is nothing that it lays out, but else the next run would find it behind.
    local.projector.catch_up()
    return sealed
