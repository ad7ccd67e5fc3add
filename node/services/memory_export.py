"""Write shared memory with all its history to one file, as a use-case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crdt import archive_file
from crdt.projection_filters import LIMIT_MAX, Order, RecordFilter
from node.services.catalog import Document, Progress
from node.services.memory_file import FORM, SpaceLine, encode_line, line_of
from node.services.memory_requests import MemoryExport
from node.services.records import looking, speaker_of
from node.services.requests import Request

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local

PRIVATE = "private"


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Export; `{schemaVersion, output, records, operations, contentSha256}`.

    What changes while it runs is written as it is then, perhaps a second time with what is new.  Raises
    `BadInput` for a target that is no regular file; a file that is there is replaced whole or not at all.
    """
    if not isinstance(request, MemoryExport):
        raise TypeError(request)
    with looking(local) as reader:
        lines = _Lines(local, reader, progress)
        written = archive_file.write(Path(request.path), lines.walk(request), form=FORM)
    return {
        "schemaVersion": 1,
        "output": request.path,
        "records": lines.records,
        "operations": lines.operations,
        "contentSha256": written.content_sha256,
    }


class _Lines:
    """Walks all records in the order in which they came to be what they are."""

    def __init__(self, local: Local, reader: ProjectionReader | None, progress: Progress) -> None:
        self._local = local
        self._reader = reader
        self._progress = progress
        self._space = b""
        self.records = 0
        self.operations = 0

    def walk(self, request: MemoryExport) -> Iterator[bytes]:
        for view in self._views():
            if view.space_kind != PRIVATE or request.private:
                yield from self._record(view)

    def _views(self) -> Iterator[RecordView]:
        cursor: str | None = None
        everything = RecordFilter(include_deleted=True)
        while self._reader is not None:
            page = self._reader.list_records(
                everything, order=Order.COMMITTED, limit=LIMIT_MAX, cursor=cursor
            )
            yield from page.records
            cursor = page.cursor
            if cursor is None:
                return
            self._progress({"phase": "export", "done": self.records, "total": 0, "unit": "records"})

    def _record(self, view: RecordView) -> Iterator[bytes]:
        if self._reader is None:
            return
        if view.space != self._space:
            self._space = view.space
            yield encode_line(SpaceLine(id=view.space.hex(), kind=view.space_kind, label=view.space_label))
        signed = [version.stamped for version in self._reader.history(view)]
        sources = {one.hash: one.operation.source for one in signed if one.operation.source is not None}
        for one in signed:
            agent, node = speaker_of(self._local, view.space, (one.author, one.operation.agent, None))
            yield encode_line(line_of(one, f"{agent}@{node}", sources))
        self.records += 1
        self.operations += len(signed)
