"""What a conversation's sources say differently: every version of an event, beside the one that is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crdt.union import Stamped, event_key, union

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document
    from retrieval.index_reader import IndexReader

VERSION_CHARS_MAX = 2_000
CONFLICTS_MAX = 20


def conflicts_of(local: Local, reader: IndexReader, conversation_id: str) -> list[Document]:
    """List the conflicts of a conversation, at most twenty; none of one that has a single fragment.

    Each has `event_id` and `versions`, the served one first: `{text, hosts, relative_path, fragment_sha256}`.
    Raises `Damaged` where the archive's bytes can't be read.
    """
    catalog = local.catalog(reader)
    row = catalog.find(conversation_id)
    if row is None or catalog.count(row) < 2:
        return []
    stamped = {item.sha256: item for item in catalog.fragments(row)}
    found = union(list(stamped.values())).conflicts[:CONFLICTS_MAX]
    return [
        {
            "event_id": conflict.event_id,
            "versions": [_version(stamped[sha], conflict.event_id) for sha in conflict.fragment_sha256s],
        }
        for conflict in found
    ]


def _version(stamped: Stamped, key: str) -> Document:
    fragment = stamped.fragment
    text = next(event.text for event in fragment.events if event_key(event) == key)
    return {
        "text": text[:VERSION_CHARS_MAX],
        "hosts": list(fragment.hosts),
        "relative_path": fragment.relative_path,
        "fragment_sha256": stamped.sha256,
    }
