"""The piece of a long text that shows why it was found.

An excerpt is a slice of the original: `text == original[start:end]`.  Matching happens on folded text, so
every folded character remembers which original one it came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from retrieval.query import Query, content_terms, folding_table, occurrences

MAX_SPANS_PER_TERM = 1_000
"""Matches of one term that are weighed; what a reader sees doesn't improve with more."""
SNAP_CHARS = 24
"""How far an edge may move to end at white space, about two words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A slice of an original text, in characters; `truncated` when the slice is not all of it."""

    text: str
    start: int
    end: int
    truncated: bool


class Span(NamedTuple):
    """A match in the original text; `term` is the place of its term among those sought."""

    start: int
    end: int
    term: int


def excerpt(text: str, query: Query, budget: int) -> Excerpt:
    """Cut at most `budget` characters around the place where most of the query's terms stand together.

    Without a match in the text itself the excerpt starts at 0.
    """
    if budget < 1:
        raise ValueError(f"an excerpt has at least one character to spend, not {budget}")
    if len(text) <= budget:
        return Excerpt(text=text, start=0, end=len(text), truncated=False)
    spans = match_spans(text, query)
    first, last = _best_window(spans, budget) if spans else (0, 0)
    last = min(last, first + budget)
    start = max(0, min(first - (budget - (last - first)) // 2, len(text) - budget)) if spans else 0
    start = _snapped_start(text, start, first)
    end = min(len(text), start + budget)
    end = _snapped_end(text, end, max(last, start + 1))
    return Excerpt(text=text[start:end], start=start, end=end, truncated=True)


def match_spans(text: str, query: Query) -> list[Span]:
    """Find the query's terms in a text, stop words left out when there are others, in order of place."""
    folded, offsets = fold_with_offsets(text)
    spans = []
    for number, term in enumerate(content_terms(query)):
        size = len(term.exact)
        for at in islice(occurrences(term, folded), MAX_SPANS_PER_TERM):
            end = max(offsets[at + size - 1] + 1, offsets[at + size])
            spans.append(Span(offsets[at], end, number))
    return sorted(spans)


def fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Fold a text and say for each folded character the index of the original one.

    The offsets have one entry more than the folded text: the length of the original.
    """
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    table = folding_table(text)
    folded = text.translate(table)
    if all(len(replacement) == 1 for replacement in table.values()):
        return folded, range(len(text) + 1)
    sizes = {character: len(replacement) for character, replacement in table.items()}
    offsets = [at for at, character in enumerate(text) for _ in range(sizes[ord(character)])]
    offsets.append(len(text))
    return folded, offsets


def _best_window(spans: Sequence[Span], budget: int) -> tuple[int, int]:
    """Choose the stretch within the budget with most distinct terms; then the densest, then the first."""
    inside: Counter[int] = Counter()
    sizes = {span.term: span.end - span.start for span in spans}
    best, best_rank = (0, 0), (0, 0)
    left = 0
    for span in spans:
        inside[span.term] += 1
        while spans[left] is not span and (
            span.end - spans[left].start > budget or inside[spans[left].term] > 1
        ):
            inside[spans[left].term] -= 1
            left += 1
        terms = [term for term, count in inside.items() if count]
        gaps = span.end - spans[left].start - sum(sizes[term] for term in terms)
        if (len(terms), -gaps) > best_rank:
            best, best_rank = (spans[left].start, span.end), (len(terms), -gaps)
    return best


def _is_within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and not text[at - 1].isspace() and not text[at].isspace()


def _snapped_start(text: str, start: int, limit: int) -> int:
    """Move the start past a cut word, if one ends soon and before the match."""
    if not _is_within_word(text, start):
        return start
    for at in range(start + 1, min(start + SNAP_CHARS, limit) + 1):
        if text[at - 1].isspace():
            return at
    return start


def _snapped_end(text: str, end: int, limit: int) -> int:
    """Move the end before a cut word, if it began shortly before and after the match."""
    if not _is_within_word(text, end):
        return end
    for at in range(end - 1, max(end - SNAP_CHARS, limit) - 1, -1):
        if text[at].isspace():
            return at
    return end
