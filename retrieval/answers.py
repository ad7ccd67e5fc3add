"""Which lane answers a question: the routing that `search` and `context` share.

`auto` asks the words lane.  Where that lane can't see, the substring lane is asked: for scripts without
spaces, of which FTS5 makes one word a sentence, and for one or two terms that no record has as words.  A
longer question that no word of matches can't stand anywhere as letters either, so it isn't looked for.
Vectors will be fused in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.index_reader import IndexReader
from retrieval.models import Candidate, Deadline, Filter, LaneAnswer, LaneName
from retrieval.query import Query, content_terms
from retrieval.substrings import has_unspaced_script

WORDS = "words"
SUBSTRINGS = "substrings"
"""What a lane is called in answers; requests say `substring`."""
FRAGMENT_TERMS_MAX = 2
"""Only the first and the last word of a phrase can be parts of longer words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """One thing to find: `text` as asked, `query` its terms, `limit` the most candidates."""

    text: str
    query: Query
    lane: LaneName
    wanted: Filter
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What was found, best first, and the lane that found it.

    `is_exhausted` when the time ran out, or when the question was too long to be searched whole.
    """

    lane: str
    candidates: Sequence[Candidate]
    is_exhausted: bool


def look_up(reader: IndexReader, asked: Lookup, deadline: Deadline) -> Routed:
    """Find records for one question in the lane it asks for; `dense` is answered like `auto`."""
    if asked.lane == "substring":
        return _routed(asked, SUBSTRINGS, _substrings(reader, asked, deadline))
    if asked.lane == "words":
        return _routed(asked, WORDS, _words(reader, asked, deadline))
    is_unspaced = has_unspaced_script(asked.text)
    if is_unspaced:
        letters = _substrings(reader, asked, deadline)
        if letters.candidates:
            return _routed(asked, SUBSTRINGS, letters)
    words = _words(reader, asked, deadline)
    if words.candidates or is_unspaced or not _may_be_fragment(asked.query):
        return _routed(asked, WORDS, words)
    letters = _substrings(reader, asked, deadline)
    found = _routed(asked, SUBSTRINGS if letters.candidates else WORDS, letters)
    return replace(found, is_exhausted=found.is_exhausted or words.is_exhausted)


def _words(reader: IndexReader, asked: Lookup, deadline: Deadline) -> LaneAnswer:
    return reader.words(asked.query, asked.wanted, asked.limit, deadline)


def _substrings(reader: IndexReader, asked: Lookup, deadline: Deadline) -> LaneAnswer:
    return reader.substrings(asked.text, asked.wanted, asked.limit, deadline)


def _routed(asked: Lookup, lane: str, answer: LaneAnswer) -> Routed:
    is_cut = answer.is_exhausted or (lane == WORDS and asked.query.truncated)
    return Routed(lane=lane, candidates=answer.candidates, is_exhausted=is_cut)


def _may_be_fragment(query: Query) -> bool:
    return 0 < len(content_terms(query)) <= FRAGMENT_TERMS_MAX
