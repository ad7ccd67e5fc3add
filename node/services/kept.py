"""What was kept about a project: its statements and session records, from the projection, newest first.

A project's records are those whose workspace belongs to its scope now, moves of projects included.  A record
is superseded while what stands in its place is there: one whose successor was deleted is current again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crdt.projection_filters import RecordFilter
from crdt.projection_reader import ProjectionReader, RecordView
from node.instants import iso_ms
from node.services.records import index_record_id, newest_in
from node.services.statements import EPISODES
from node.view import reading
from retrieval.scope import Aliases

if TYPE_CHECKING:
    from node.composition import Local
    from retrieval.record_edges import Newest

PAGE_RECORDS = 100
SCANNED_MAX = 20_000
"""So many of a project's records are looked through, the newest; more than one a day for fifty years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A statement or session record; `record_id` and `superseded_by` are ids of the index."""

    view: RecordView
    record_id: str
    superseded_by: str | None

    @property
    def authored_at(self) -> str:
        """When it was first said, in UTC."""
        return iso_ms(self.view.created_ms)

    @property
    def title(self) -> str:
        """Give its title on one line."""
        return " ".join(str(self.view.field("title") or "").split())


@contextmanager
def reading_kept(local: Local, scope: str | None) -> Iterator[Iterator[Kept]]:
    """Open what was kept about a scope; nothing was outside any, and before this node ever wrote."""
    if scope is None or not local.paths.feeds_db.exists():
        yield iter(())
        return
    with reading(local) as view, view.projection() as reader:
        yield kept_about(reader, newest_in(local, reader), local.aliases, scope)


def kept_about(reader: ProjectionReader, newest: Newest, aliases: Aliases, scope: str) -> Iterator[Kept]:
    """Give what was kept about a scope, the newest change first, each record once."""
    windows: dict[str, list[tuple[str, str]]] = {}
    for workspace, since, before in aliases.windows(scope, reader.workspaces()):
        windows.setdefault(workspace, []).append((since, before))
    if not windows:
        return
    wanted = RecordFilter(types=EPISODES, workspaces=tuple(windows), include_deleted=True)
    seen: set[str] = set()
    for page in _pages(reader, wanted):
        live = {view.id: view for view in page if not view.state.deleted and view.id not in seen}
        fresh = [view for view in live.values() if _is_within(view, windows)]
        seen |= live.keys()
        newer = newest.of(_record_id(view) for view in fresh)
        for view in fresh:
            record = _record_id(view)
            yield Kept(view=view, record_id=record, superseded_by=newer.get(record))


def _record_id(view: RecordView) -> str:
    return index_record_id(view.type, view.id)


def _is_within(view: RecordView, windows: dict[str, list[tuple[str, str]]]) -> bool:
    """Tell whether a record was said while its workspace belonged to the scope."""
    said_at = iso_ms(view.created_ms)
    return any(since <= said_at < before for since, before in windows.get(str(view.field("workspace")), ()))


def _pages(reader: ProjectionReader, wanted: RecordFilter) -> Iterator[list[RecordView]]:
    cursor: str | None = None
    for _ in range(SCANNED_MAX // PAGE_RECORDS):
        page = reader.list_records(wanted, limit=PAGE_RECORDS, cursor=cursor)
        yield page.records
        cursor = page.cursor
        if cursor is None:
            return
