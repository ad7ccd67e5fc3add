"""Write the canonical archive as one file, as a use-case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crdt import archive_file
from crdt.canonical import encode_canonical
from crdt.errors import Damaged, IndexUnavailable
from crdt.events import Conversation
from crdt.union import union
from node.services.catalog import Document, Progress
from node.services.requests import ExportRequest, Request

if TYPE_CHECKING:
    from node.composition import Local
    from retrieval.index_catalog import Catalog
    from retrieval.index_reader import IndexReader

_PROGRESS_CONVERSATIONS = 50
_PARTIAL = "run `atrium doctor --deep`; `atrium export FILE --partial` writes what can be read"


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Export; `{schemaVersion, output, records, contentSha256}`, and `skipped` where some are left out.

    A conversation that can't be read is an error, and no file is touched then; with `partial` it is left out,
    and the file says that it is not complete.
    """
    if not isinstance(request, ExportRequest):
        raise TypeError(request)
    with local.reader() as reader:
        if int(reader.meta("archive_seq") or 0) < local.archive.log.head():
            raise IndexUnavailable("the index is behind the archive", hint="run `atrium prepare-context`")
        unread = _unread(local, local.catalog(reader), request)
        written = archive_file.write(
            Path(request.path), chain(_conversations(local, reader, request, progress), unread)
        )
    document: Document = {
        "schemaVersion": 1,
        "output": request.path,
        "records": written.records,
        "contentSha256": written.content_sha256,
    }
    return {**document, "skipped": written.skipped} if written.skipped else document


def _unread(local: Local, catalog: Catalog, request: ExportRequest) -> list[None]:
    """Give as many gaps as there are blobs that an index made anew could not read, so knows nothing of.

    Each has at least one conversation in it.  Only what has no place in the index is read again here.
    """
    archive = local.archive
    wanted = archive.wanted()
    reads: list[Callable[[], object]] = [
        partial(archive.segments.load, sha256)
        for sha256, segment in archive.current().items()
        if sha256 not in wanted and not any(catalog.place(name.hex()) for name, _ in segment.fragments)
    ]
    reads += [
        partial(archive.log.tail_body, sha256)
        for sha256, _, _ in archive.log.tails()
        if sha256.hex() not in wanted and catalog.place(sha256.hex()) is None
    ]
    gaps: list[None] = []
    for read in reads:
        try:
            read()
        except Damaged as error:
            if not request.partial:
                raise Damaged(f"conversations can't be read: {error.detail}", hint=_PARTIAL) from error
            gaps.append(None)
    return gaps


def _conversations(
    local: Local, reader: IndexReader, request: ExportRequest, progress: Progress
) -> Iterator[bytes | None]:
    catalog = local.catalog(reader)
    listed = list(reader.conversations(removed=request.everything))
    for number, (row, _, _) in enumerate(listed):
        if number % _PROGRESS_CONVERSATIONS == 0:
            progress({"phase": "export", "done": number, "total": len(listed), "unit": "conversations"})
        try:
            merged = union(catalog.fragments(row)).conversation
        except Damaged as error:
            if not request.partial:
                raise Damaged(f"a conversation can't be read: {error.detail}", hint=_PARTIAL) from error
            yield None
            continue
        yield encode_canonical(_numbered(merged))


def _numbered(conversation: Conversation) -> Conversation:
    """Give each event its place as number, which is the order that every reader keeps."""
    events = [msgspec.structs.replace(event, seq=place) for place, event in enumerate(conversation.events)]
    return msgspec.structs.replace(conversation, events=events)
