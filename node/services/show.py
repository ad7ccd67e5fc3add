"""Show one record with what was said before and after it, and what its sources say differently."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crdt.errors import BadInput, NotFound
from node.services.conflicts import conflicts_of
from node.services.questions import checked_number
from node.services.requests import ShowRequest
from node.services.search import hit_document

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document, Progress
    from node.services.requests import Request
    from retrieval.index_reader import IndexReader
    from retrieval.models import Hit

AROUND_MAX = 50
SHOWN_DIGITS = 16
"""Digits of an id in a message; two of a million records share so many once in 37 million such indexes."""
_PREFIX = re.compile(r"[0-9a-f]{4,64}")


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Find a record by the beginning of its id; raises `NotFound`, or `BadInput` when several begin so."""
    if not isinstance(request, ShowRequest):
        raise TypeError(request)
    around = checked_number("around", request.around, 0, AROUND_MAX)
    prefix = request.record.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise BadInput(
            f"{request.record[:80]!r} is no record id",
            hint="give at least 4 of the 64 hexadecimal digits that `atrium search --json` prints",
        )
    with local.reader() as reader:
        hit = _only(reader.by_prefix(prefix), prefix)
        return {
            "schemaVersion": 1,
            "record": hit_document(hit),
            "conversation": {
                "conversation_id": hit.conversation_id,
                "title": hit.title,
                "source": hit.provider,
                "workspace": hit.workspace,
                "records": reader.count_of_conversation(hit.row),
            },
            "around": _around(reader, hit, around),
            "conflicts": []
            if hit.note_path or hit.author
            else conflicts_of(local, reader, hit.conversation_id),
        }


def _only(found: list[Hit], prefix: str) -> Hit:
    if not found:
        raise NotFound(f"no record begins with {prefix}")
    if len(found) > 1:
        candidates = ", ".join(hit.record_id[:SHOWN_DIGITS] for hit in found)
        raise BadInput(
            f"several records begin with {prefix}: {candidates} …", hint="give more digits of the record id"
        )
    return found[0]


def _around(reader: IndexReader, hit: Hit, turns: int) -> list[Document]:
    return [
        {
            "event_index": other.event_index,
            "role": other.role,
            "text": other.text,
            "record_id": other.record_id,
            "authored_at": other.authored_at,
            "is_record": other.row == hit.row,
        }
        for other in reader.around(hit.row, turns)
    ]
