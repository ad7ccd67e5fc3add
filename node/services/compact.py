"""Tell what a compaction could drop; nothing is dropped.

Dropping needs the word of every member that it has what came after, which only a mesh can bring.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crdt.clock import pack, wall_ms
from crdt.compaction import OPERATIONS_MAX, droppable
from crdt.projection_filters import LIMIT_MAX, Order, RecordFilter
from node.services.backup_requests import CompactRequest
from node.services.catalog import Document, Progress
from node.services.requests import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local

_DAY_MS = 86_400_000


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Report `{schemaVersion, dryRun, olderThanDays, records, operations, bytes, passedOver, members}`.

    `operations` are those whose content no longer shows, `bytes` is what that takes, `passedOver` counts
    records with too many to ask about, `members` the nodes that would have to agree.
    """
    if not isinstance(request, CompactRequest):
        raise TypeError(request)
    before_hlc = pack(wall_ms() - request.older_than_days * _DAY_MS)
    records = operations = size_bytes = passed_over = 0
    told_s = time.monotonic()
    with local.projection() as reader:
        for done, view in enumerate(_changed(reader)):
            if time.monotonic() - told_s > 1:
                told_s = time.monotonic()
                progress({"phase": "compact", "done": done, "total": 0, "unit": "records"})
            if view.state.version > OPERATIONS_MAX:
                passed_over += 1
                continue
            roster = local.feeds.roster(view.space)
            found = droppable(reader.operations(view), roster, before_hlc)
            records += bool(found)
            operations += len(found)
            size_bytes += sum(item.size_bytes for item in found)
    members = {key for roster in local.feeds.spaces().values() for key in roster.members}
    return {
        "schemaVersion": 1,
        "dryRun": True,
        "olderThanDays": request.older_than_days,
        "records": records,
        "operations": operations,
        "bytes": size_bytes,
        "passedOver": passed_over,
        "members": len(members),
    }


def _changed(reader: ProjectionReader) -> Iterator[RecordView]:
    """Walk the records that have more than one version, tombstones too."""
    cursor = None
    while True:
        page = reader.list_records(
            RecordFilter(include_deleted=True), order=Order.COMMITTED, limit=LIMIT_MAX, cursor=cursor
        )
        yield from (view for view in page.records if view.state.version > 1)
        cursor = page.cursor
        if cursor is None:
            return
