"""What somebody typed, as terms and as FTS5 expressions that are valid whatever was typed.

A term is passed to FTS5 whole and quoted, so that the tokenizer that cut the texts cuts the query too:
the two can't disagree about a character that one Unicode version calls a letter and another doesn't.
Our own view of a term (`parts`) decides only which terms count and which need their exact form.

Standard library only, and not much of it: this is on the path of every search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_TERMS = 64
"""Distinct terms of one query that are searched; the rest is dropped and the query says so."""
MAX_TERM_PARTS = 64
"""Parts of one term; a phrase of thousands of tokens would hold thousands of postings open at once."""
MAX_QUERY_CHARS = 32_768
"""Characters of a query that are read at all; the longest token that FTS5 keeps is as long."""

MAX_FOLDED_CHARACTERS = 4_096
"""Characters whose folding is remembered: those of any alphabet, and the usual ones of the large scripts."""

MATCHES_NOTHING = '""'
_MISSES_BEFORE_REGEX = 64
_UNSEARCHABLE = re.compile("[\0\ud800-\udfff]")
# Letters, digits and private use as FTS5 has it, then also the marks that it drops inside a token.
_PRIVATE_USE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
_PART = re.compile(rf"(?:[^\W_]|[{_PRIVATE_USE}])(?:[^\W_]|[\u0300-\u036f{_PRIVATE_USE}])*")
_COLUMN = re.compile("[a-z_]+")
_PROSE_PUNCTUATION = "\"'`.,;:!?()[]{}<>\u2026\u201c\u201d\u2018\u2019\u00ab\u00bb\u00bf\u00a1"

_ENGLISH = """
    a about after all also am an and any are as at be because been before being but by can could did do
    does doing for from get had has have having he her here him his how i if in into is it its just like
    me more most my no not now of off on only or other our out over she should so some such than that the
    their them then there these they this those to too under until up us very was we were what when where
    which while who whom why will with would you your
"""
_SPANISH = """
    al algo algunos ante antes aqui asi aunque cada como con contra cual cuando de del desde donde dos el
    ella ellos en entre era es esa ese eso esta estan este esto estos fue ha hace hacia han hasta hay la
    las le les lo los mas me mi mis mucho muy nada ni nos nosotros o os otra otro para pero poco por
    porque que quien se ser si sido sin sobre son su sus tambien te tiene todo todos tu tus un una uno
    unos y ya yo
"""
STOP_WORDS = frozenset(_ENGLISH.split() + _SPANISH.split())
"""Folded words that say nothing about what is sought, in the two languages of our own evaluation set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One piece of a query between white space.

    `text` is as typed, for the tokenizer.  `parts` are its runs of letters and digits, as typed.  `exact` is
    the folded form from the first part to the last with the punctuation between them (`3.7.0`), or the whole
    folded piece where a single character carries its punctuation (`c#`).
    """

    text: str
    parts: tuple[str, ...]
    exact: str

    @property
    def punctuated(self) -> bool:
        """Tell whether the exact form says more than its words do."""
        return len(self.parts) > 1 or _PART.fullmatch(self.exact) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The distinct terms of a query in the order typed; `truncated` when not all of it is searched."""

    terms: tuple[Term, ...]
    truncated: bool = False

    @property
    def every_term_punctuated(self) -> bool:
        """Tell whether adjacency has to be verified on the texts found."""
        return bool(self.terms) and all(term.punctuated for term in self.terms)


def parse_query(text: str) -> Query:
    """Split a query into terms; punctuation, emoji and control characters alone give none.

    A single letter or digit counts if punctuation belongs to it (`C#`) or nothing else is left to search.
    """
    truncated = len(text) > MAX_QUERY_CHARS
    pieces = _UNSEARCHABLE.sub(" ", text[:MAX_QUERY_CHARS]).split()
    if truncated:
        # The last piece may be half a word.
        pieces = pieces[:-1] or pieces
    distinct: dict[str, Term] = {}
    single: dict[str, Term] = {}
    for piece in pieces:
        term, cut = _term(piece)
        truncated = truncated or cut
        if term is not None:
            (single if _is_bare_character(term) else distinct).setdefault(term.exact, term)
    terms = tuple((distinct or single).values())
    return Query(terms=terms[:MAX_TERMS], truncated=truncated or len(terms) > MAX_TERMS)


def content_terms(query: Query) -> tuple[Term, ...]:
    """Leave out the stop words, unless there is nothing else."""
    return tuple(term for term in query.terms if term.exact not in STOP_WORDS) or query.terms


def match_all(query: Query, columns: Sequence[str] | None = None) -> str:
    """Write the FTS5 expression for records that have every term, in any of the columns named.

    The AND is the implicit one: it passes over a phrase in which FTS5 itself sees no token.
    """
    return _expression(query.terms, " ", columns)


def match_any(terms: Collection[Term], columns: Sequence[str] | None = None) -> str:
    """Write the FTS5 expression for records that have at least one of the terms."""
    return _expression(terms, " OR ", columns)


def fold(text: str) -> str:
    """Take compatibility forms, combining marks and case away: two spellings of one word become equal."""
    return text.lower() if text.isascii() else text.translate(folding_table(text))


def folding_table(text: str) -> dict[int, str]:
    """Say what each character of a text folds to: none, one or several; its neighbours don't matter."""
    return {ord(character): _folded_character(character) for character in set(text)}


def occurrences(term: Term, folded: str) -> Iterator[int]:
    """Find where the exact form stands on word boundaries in a folded text, without overlaps, in order."""
    size = len(term.exact)
    misses = 0
    at = folded.find(term.exact)
    while at >= 0:
        if _stands_alone(folded, at, at + size):
            yield at
            at = folded.find(term.exact, at + size)
        elif misses < _MISSES_BEFORE_REGEX:
            misses += 1
            at = folded.find(term.exact, at + 1)
        else:
            yield from (found.start() for found in _bounded(term.exact).finditer(folded, at))
            return


def adjacent(term: Term, folded_text: str) -> bool:
    """Tell whether a folded text has the term's exact form on word boundaries: `3.7.0` and not `3 7 0`."""
    return next(occurrences(term, folded_text), None) is not None


def own_match(query: Query, folded_text: str) -> bool:
    """Tell whether a folded text itself has at least one of the terms that carry the query's meaning."""
    return any(adjacent(term, folded_text) for term in content_terms(query))


@lru_cache(maxsize=MAX_FOLDED_CHARACTERS)
def _folded_character(character: str) -> str:
    """Drop marks before folding case, which makes a letter of one of them."""
    decomposed = unicodedata.normalize("NFKD", character)
    folded = "".join(part for part in decomposed if not unicodedata.combining(part)).casefold()
    return folded if unicodedata.is_normalized("NFKD", folded) else fold(folded)


def _term(piece: str) -> tuple[Term | None, bool]:
    """Make a term of a piece; the flag says that parts were cut off."""
    found: list[re.Match[str]] = []
    for part in _PART.finditer(piece):
        if len(found) == MAX_TERM_PARTS:
            term, _ = _term(piece[: found[-1].end()])
            return term, True
        found.append(part)
    if not found:
        return None, False
    parts = tuple(part.group() for part in found)
    inner = piece[found[0].start() : found[-1].end()]
    exact = fold(piece.strip(_PROSE_PUNCTUATION) if _is_character(parts) else inner)
    return (Term(text=piece, parts=parts, exact=exact), False) if exact else (None, False)


def _is_character(parts: tuple[str, ...]) -> bool:
    return len(parts) == 1 and len(fold(parts[0])) <= 1


def _is_bare_character(term: Term) -> bool:
    return _is_character(term.parts) and term.text == term.parts[0]


def _expression(terms: Collection[Term], joint: str, columns: Sequence[str] | None) -> str:
    if not terms:
        return MATCHES_NOTHING
    phrases = joint.join('"' + term.text.replace('"', '""') + '"' for term in terms)
    if columns is None:
        return phrases
    if not columns or not all(_COLUMN.fullmatch(column) for column in columns):
        raise ValueError(f"not columns of a lane: {columns}")
    return "{" + " ".join(columns) + "} : (" + phrases + ")"


def _stands_alone(folded: str, start: int, end: int) -> bool:
    """Tell whether neither side of a match continues a word."""
    return not (start and folded[start - 1].isalnum() and folded[start].isalnum()) and not (
        end < len(folded) and folded[end].isalnum() and folded[end - 1].isalnum()
    )


def _bounded(exact: str) -> re.Pattern[str]:
    """Express `_stands_alone` as a pattern, for texts where nearly every place is a near miss."""
    before = r"(?<![^\W_])" if exact[0].isalnum() else ""
    after = r"(?![^\W_])" if exact[-1].isalnum() else ""
    return re.compile(before + re.escape(exact) + after)
