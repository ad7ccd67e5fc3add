"""Search what is archived and not indexed: calls of tools, their results, and reasoning.

The archive is read from its newest segment back, one segment in memory at a time, until enough is found or
the time is up.  Nothing ranks what is found: it has every word asked for, or the letters, and counts like a
record of whose own text that is true.  Texts are cut around the match, since a result can be of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from crdt.archive import Archive, decode_fragment
from crdt.events import Event, Fragment, Kind
from crdt.ids import record_id
from crdt.union import event_key
from retrieval.evidence import cover, cut_around
from retrieval.models import Deadline, Hit
from retrieval.query import Query
from retrieval.scope import LAST, Aliases, contains
from retrieval.substrings import CHARS_MIN, pattern_of

KINDS = frozenset({Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.REASONING})
TEXT_CHARS_MAX = 4_000
"""Of each text that is found; 200 hits of this size are what one answer may carry."""
_SCORE = {"words": 1.0, "substrings": 0.5}
"""Below records that have every word and above those that have some; like letters that were scanned for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is looked for in which lane, and within which workspace, with the aliases that hold now.

    `is_removed` tells of a conversation's id whether it has left the index.
    """

    text: str
    query: Query
    lane: str
    workspace: str | None
    aliases: Aliases
    is_removed: Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What was found, newest first; `is_exhausted` when time ran out before enough was found."""

    hits: tuple[Hit, ...] = ()
    is_exhausted: bool = False


def scan(archive: Archive, sought: Sought, limit: int, deadline: Deadline) -> Scanned:
    """Look through the archive for at most `limit` events, each once."""
    found: dict[str, Hit] = {}
    matches = _matcher(sought)
    for sha256, data in _newest_first(archive):
        if deadline.passed():
            return Scanned(hits=tuple(found.values()), is_exhausted=True)
        for hit in _hits(decode_fragment(data), sha256, sought, matches):
            found.setdefault(hit.record_id, hit)
            if len(found) == limit:
                return Scanned(hits=tuple(found.values()))
    return Scanned(hits=tuple(found.values()))


def _hits(fragment: Fragment, sha256: str, sought: Sought, matches: Callable[[str], bool]) -> Iterator[Hit]:
    """Give what matches of one fragment, unless its conversation has left the index."""
    for event in fragment.events:
        if event.kind in KINDS and _is_in_scope(fragment, event, sought) and matches(event.text):
            if sought.is_removed(fragment.conversation_id):
                return
            yield _hit(fragment, sha256, event, sought)


def _newest_first(archive: Archive) -> Iterator[tuple[str, bytes]]:
    """Give every fragment that the log names, with its hash: those that wait for a segment come first."""
    for sha256, _, _ in reversed(archive.log.tails()):
        if (waiting := archive.log.tail_body(sha256)) is not None:
            yield sha256.hex(), waiting
    for segment in reversed(archive.current()):
        for body, _ in archive.segments.load(segment):
            yield body.sha256, body.data


def _matcher(sought: Sought) -> Callable[[str], bool]:
    if sought.lane == "words":
        return lambda text: cover(sought.query, text) == 1.0
    letters = pattern_of(sought.text).casefold()
    return lambda text: len(letters) >= CHARS_MIN and letters in text.casefold()


def _is_in_scope(fragment: Fragment, event: Event, sought: Sought) -> bool:
    if sought.workspace is None:
        return True
    if fragment.workspace is None:
        return False
    scope = sought.aliases.resolve(sought.workspace, LAST)
    return contains(scope, sought.aliases.resolve(fragment.workspace, event.timestamp))


def _hit(fragment: Fragment, sha256: str, event: Event, sought: Sought) -> Hit:
    workspace = fragment.workspace and sought.aliases.resolve(fragment.workspace, event.timestamp)
    hit = Hit(
        record_id=record_id(fragment.conversation_id, event_key(event)), row=0, text=event.text,
        score=_SCORE[sought.lane], lane=sought.lane, role=event.role, provider=fragment.source,
        conversation_id=fragment.conversation_id, title=fragment.title or "", event_index=event.seq,
        source_sha256=sha256, authored_at=event.timestamp, workspace=workspace or None,
    )  # fmt: skip
    return replace(hit, text=cut_around(hit, sought.text, sought.query, TEXT_CHARS_MAX).text)
