"""Write the canonical archive as one file, as a use-case."""

from __future__ import annotations

from collections.abc import Iterator
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
        written = archive_file.write(Path(request.path), _conversations(local, reader, request, progress))
    document: Document = {
        "schemaVersion": 1,
        "output": request.path,
        "records": written.records,
        "contentSha256": written.content_sha256,
    }
    return {**document, "skipped": written.skipped} if written.skipped else document


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
