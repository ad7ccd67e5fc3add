"""Entries of shared memory as documents: what every adapter shows of a record of type memory.

Confidence is computed here, when somebody reads, and instants are RFC 3339 in UTC with milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crdt.causal_order import CausalOrder
from crdt.clock import milliseconds_of
from crdt.confidence import CONFIDENCE_ASSUMED
from crdt.projection_history import Version, counted
from node.instants import iso_ms
from node.services.records import Speaker, index_record_id, newest_in, speaker_of
from node.view import reading

if TYPE_CHECKING:
    from crdt.operations import Stamped
    from crdt.projection_reader import ProjectionReader, RecordView
    from node.composition import Local
    from node.services.catalog import Document

MEMORY = "memory"
DIRECTIVE = "directive"
SHARED = "shared"
ACCEPTED, UNACCEPTED = "accepted", "unaccepted"
_PLAIN_FIELDS = ("project", "scope", "origin", "headline", "source_path", "source_sha", "source_commit")
_STANDING_FIELDS = ("kind", "project", "workspace", "scope", "expires_at")
"""What makes a text a directive, and says for whom and until when."""


class Entries:
    """Makes documents of records for one answer, all as of one instant.

    What was created just now needs no reader.
    """

    def __init__(self, local: Local, reader: ProjectionReader | None, now_ms: int) -> None:
        self._local = local
        self._reader = reader
        self._now_ms = now_ms
        self._nodes: dict[tuple[bytes, bytes], str] = {}

    def document(self, view: RecordView) -> Document:
        """Give the document of a record; a deleted one has `deleted_at` as well."""
        return self.documents([view])[0]

    def documents(self, views: Sequence[RecordView]) -> list[Document]:
        """Give the documents of several, in their order."""
        records = [index_record_id(MEMORY, view.id) for view in views]
        newer = newest_in(self._local, self._reader).of(records) if self._reader else {}
        return [
            {**self._document(view), "superseded_by": newer.get(record)}
            for view, record in zip(views, records, strict=True)
        ]

    def _document(self, view: RecordView) -> Document:
        state = view.state
        fields = state.fields
        updated_ms = milliseconds_of(state.updated_hlc)
        expires_ms = fields.get("expires_at")
        agent, node = self._speaker(view, (state.creator, state.agent, state.by))
        plain = {name: fields.get(name) for name in _PLAIN_FIELDS}
        document: Document = {
            "id": state.id,
            "type": fields.get("kind"),
            "agent": agent,
            "node": node,
            "space": view.space_label,
            "content": state.text or "",
            "confidence": fields.get("confidence", CONFIDENCE_ASSUMED),
            "effective_confidence": view.effective_confidence(self._now_ms),
            "parents": fields.get("parents") or [],
            "tags": sorted(state.tags),
            "created_at": iso_ms(milliseconds_of(state.created_hlc)),
            "updated_at": iso_ms(updated_ms),
            "author_updated_at": _instant(fields.get("author_updated_at")),
            "version": state.version,
            "expires_at": _instant(expires_ms),
            "conflicts": self.conflicts(view),
            "stale": isinstance(expires_ms, int) and expires_ms <= self._now_ms,
            "trust": self._trust(view),
            **plain,
        }
        return {**document, "deleted_at": iso_ms(updated_ms)} if state.deleted else document

    def conflicts(self, view: RecordView) -> list[Document]:
        """Give the texts that stand beside the served one, newest first."""
        if not view.state.conflicts:
            return []
        signed = self._signed(view)
        said_by = {one.hash: one.operation.by for one in signed}
        documents: list[Document] = []
        for conflict in view.state.conflicts:
            speaker = (conflict.author, conflict.agent, said_by.get(conflict.hash))
            agent, node = self._speaker(view, speaker)
            documents.append(
                {
                    "hash": conflict.hash.hex(),
                    "agent": agent,
                    "node": node,
                    "at": iso_ms(milliseconds_of(conflict.hlc)),
                    "content": conflict.text,
                }
            )
        return documents

    def _trust(self, view: RecordView) -> str:
        """Say how far a text may be followed: a directive stands only if it was written or accepted here."""
        fields = view.state.fields
        if fields.get("kind") != DIRECTIVE:
            return str(fields.get("trust") or SHARED)
        if self._is_written_here(view):
            return ACCEPTED
        with reading(self._local) as beside:
            is_accepted = beside.local_store.accepts(view.space, view.state.id, accepted_sha256(view))
        return ACCEPTED if is_accepted else UNACCEPTED

    def _is_written_here(self, view: RecordView) -> bool:
        """Tell whether this node's key signed exactly the text that is served, and not as an import.

        Where and how long it stands must have been said here too, or seen by who wrote the text here: another
        node could otherwise make a directive of a note, or bring back one that was deleted.
        """
        state, own = view.state, self._local.feeds.author()
        if state.text_author != own:
            return False
        if state.version == 1:
            return state.by is None
        signed = self._signed(view)
        said_here = [one for one in signed if one.author == own and one.operation.source is None]
        served = [one for one in said_here if one.operation.text == state.text]
        texts = [one.hash for one in served if one.hash in state.text_heads]
        causal = CausalOrder(signed)
        known = {one.hash for one in said_here}.union(*map(causal.ancestors, texts))
        last = _last_words(counted(signed, self._local.feeds.roster(view.space)))
        return bool(texts) and last <= known

    def _signed(self, view: RecordView) -> list[Stamped]:
        return self._reader.operations(view) if self._reader else []

    def _speaker(self, view: RecordView, speaker: Speaker) -> tuple[str, str]:
        """Name an agent and its node; a list has thousands of records of few nodes."""
        author, agent, by = speaker
        known = self._nodes.get((view.space, author)) if by is None else None
        if known is not None:
            return agent, known
        named = speaker_of(self._local, view.space, speaker)
        if by is None:
            self._nodes[view.space, author] = named[1]
        return named


def accepted_sha256(view: RecordView) -> bytes:
    """Hash what is accepted: the served text, and for what, for whom and until when it stands."""
    standing = {name: view.field(name) for name in _STANDING_FIELDS}
    said = json.dumps([view.state.text or "", standing], sort_keys=True)
    return hashlib.sha256(said.encode("ascii")).digest()


def _last_words(versions: Sequence[Version]) -> set[bytes]:
    """Name the operations that had the last word on where a directive stands, and whether it does."""
    last: dict[str, bytes] = {}
    for version in versions:
        operation = version.stamped.operation
        said = [name for name in _STANDING_FIELDS if name in operation.set]
        said += ["deleted"] if operation.deleted is not None else []
        last |= dict.fromkeys(said, version.stamped.hash)
    return set(last.values())


def _instant(value: object) -> str | None:
    return iso_ms(value) if isinstance(value, int) else None
