"""Pieces of evidence: whose turn it is, what says the same, and how much room each gets.  No I/O.

Lists of hits are taken in turn, so that neither history nor notes crowd the other out, and what was
superseded comes last.  Texts that are equal but for case, compatibility forms and white space count once.
Room is shared fairly of what remains: what needs less than its share leaves the rest to the others, and what
nobody could read is left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from retrieval.excerpt import Excerpt, excerpt
from retrieval.models import Hit
from retrieval.query import Query, adjacent, content_terms, fold
from retrieval.substrings import pattern_of

EXCERPT_CHARS_MIN = 40
"""An excerpt cut shorter than about seven words says nothing; fewer pieces are given then.  Not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A hit, by which pass it came, and the record that links to it."""

    hit: Hit
    via: str
    parent_record_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The best pieces without repetitions, how many repeated another, and the records that did."""

    pieces: tuple[Piece, ...]
    deduplicated: int
    repeating: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A piece with the part of its text that fits."""

    piece: Piece
    excerpt: Excerpt


def interleave(passes: Iterable[Sequence[Piece]]) -> Iterator[Piece]:
    """Take the first of each pass, then the second of each, and so on."""
    for rank in zip_longest(*passes):
        yield from (piece for piece in rank if piece is not None)


def current_first(pieces: Iterable[Piece]) -> list[Piece]:
    """Put what was superseded behind all that holds, both in their order."""
    return sorted(pieces, key=lambda piece: piece.hit.superseded_by is not None)


def choose(pieces: Iterable[Piece], limit: int) -> Chosen:
    """Keep the first `limit` pieces that say something new."""
    kept: list[Piece] = []
    repeating: set[str] = set()
    said: set[str] = set()
    deduplicated = 0
    for piece in pieces:
        if len(kept) == limit:
            break
        text = normalized(piece.hit.text)
        if text in said:
            deduplicated += 1
            repeating.add(piece.hit.record_id)
            continue
        said.add(text)
        kept.append(piece)
    repeating -= {piece.hit.record_id for piece in kept}
    return Chosen(pieces=tuple(kept), deduplicated=deduplicated, repeating=frozenset(repeating))


def normalized(text: str) -> str:
    """Take away what makes two equal texts look different."""
    even = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(even.casefold().split())


def fit(pieces: Sequence[Piece], text: str, query: Query, chars_max: int) -> list[Evidence]:
    """Cut the texts around what was asked, together at most `chars_max`; without room the last ones go."""
    count = len(pieces)
    while True:
        shares = fair_shares([len(piece.hit.text) for piece in pieces[:count]], chars_max)
        cut = [share for share, piece in zip(shares, pieces, strict=False) if share < len(piece.hit.text)]
        if count <= 1 or min(cut, default=chars_max) >= EXCERPT_CHARS_MIN:
            break
        count -= 1
    return [
        Evidence(piece=piece, excerpt=cut_around(piece.hit, text, query, share))
        for piece, share in zip(pieces, shares, strict=False)
        if share
    ]


def fair_shares(wanted: Sequence[int], total: int) -> list[int]:
    """Divide a total so that nobody gets more than is wanted, and nobody less than another but for that."""
    shares = [0] * len(wanted)
    left = total
    by_size = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for place, index in enumerate(by_size):
        shares[index] = min(wanted[index], left // (len(wanted) - place))
        left -= shares[index]
    return shares


def cut_around(hit: Hit, text: str, query: Query, budget: int) -> Excerpt:
    """Cut a hit's text around the words, or for a hit by letters around those."""
    original = hit.text
    if hit.lane != "substrings" or len(original) <= budget:
        return excerpt(original, query, budget)
    sought = pattern_of(text)
    # Lower case may change the length of a text, and then its places are not those of the original.
    lowered = original.lower()
    at = lowered.find(sought.lower()) if len(lowered) == len(original) else original.find(sought)
    if at < 0:
        return excerpt(original, query, budget)
    size = min(len(sought), budget)
    start = max(0, min(at - (budget - size) // 2, len(original) - budget))
    end = start + budget
    return Excerpt(text=original[start:end], start=start, end=end, truncated=True)


def cover(query: Query, text: str) -> float:
    """Tell which share of a question's words a text has, from 0 to 1."""
    terms = content_terms(query)
    folded = fold(text)
    return sum(adjacent(term, folded) for term in terms) / len(terms) if terms else 0.0
