"""The words lane: whole words, folded, over a record's own text and its neighbours'.

Two passes over FTS5: records with every term, then records with any, until there are enough.  The second
pass leaves out stop words, and in a large index words that more than 1% of the records have, unless
nothing else is left.  Ties go by record id.

A score says which group a record is in: own text and every term (1, 2], own text (0, 1], neighbours and
every term (-1, 0], neighbours (-2, -1].  A record that matches only by its neighbours thus ranks below all
whose own text matches, however many there are: where they fill a pass, those of own text are asked for.
Superseded records come after all others, in the same order, and never take a place from one that holds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crdt.sqlite import faults
from retrieval.index_schema import NAME
from retrieval.index_scope import ALIVE, IN_SCOPE, parameters
from retrieval.models import SUPERSEDED_LOSS, Candidate, Deadline, Filter, LaneAnswer
from retrieval.query import Query, Term, adjacent, content_terms, fold, match_all, match_any, own_match

WEIGHT_OWN, WEIGHT_NEAR = 1.0, 0.4
"""Column weights of bm25 (RETRIEVAL.md 2b)."""
DEPTH_MIN = 100
"""Candidates looked at before the best are chosen, however few are wanted."""
DEPTH_VERIFIED = 400
"""The same where adjacency has to be verified on the texts found."""
COMMON_SHARE = 0.01
LARGE_RECORDS = 10_000
"""From this size on, words that more than 1% of the records have are left out of the OR pass."""
_STEPS_PER_CHECK = 20_000

# The plus keeps SQLite from asking FTS5 again for every row of the list.
_OWN = "AND +words.rowid IN (SELECT rowid FROM words WHERE words MATCH :own)"
# Texts are joined to the best alone, since sorting drags along every column it is given.
_SELECT = """
SELECT best.id, best.strength, t.text, best.is_superseded FROM (
    SELECT r.id, r.record_id, -bm25(words, 1.0, 0.4) AS strength, r.superseded_by IS NOT NULL AS is_superseded
    FROM words JOIN records r ON r.id = words.rowid
    WHERE words MATCH :match AND r.role IN (SELECT value FROM json_each(:roles)) AND {alive} {more}
    ORDER BY is_superseded, strength DESC, r.record_id LIMIT :limit
) best JOIN texts t ON t.id = best.id ORDER BY best.is_superseded, best.strength DESC, best.record_id
"""
_STATEMENTS = {
    (scoped, own): _SELECT.format(
        alive=ALIVE, more=(f"AND {IN_SCOPE}" if scoped else "") + (_OWN if own else "")
    )
    for scoped in (False, True)
    for own in (False, True)
}
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'row')"
_FREQUENCY = "SELECT doc FROM temp.vocabulary WHERE term = ?"
_COUNT = "SELECT count(*) FROM records"

Found = tuple[int, float, str, int]
"""A row of a lane's query: record, strength, text, and 1 where the record is superseded."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A record that a pass found, judged."""

    row: int
    strength: float
    own: bool
    every_term: bool
    superseded: bool

    @property
    def holds(self) -> bool:
        """Tell whether it matches itself and nothing took its place: what a limit is meant for."""
        return self.own and not self.superseded


@dataclass(frozen=True, slots=True)
class Depth:
    """How many records are wanted, and how many rows are looked at to find the best of them."""

    wanted: int
    rows: int


def search_words(
    connection: sqlite3.Connection, query: Query, wanted: Filter, limit: int, deadline: Deadline
) -> LaneAnswer:
    """Find records by whole words, best first, at most `limit`.

    The scope of `wanted` must have been laid out in `temp.scope` (see `index_reader`).
    """
    if not query.terms:
        return LaneAnswer()
    depth = max(limit, DEPTH_VERIFIED if query.every_term_punctuated else DEPTH_MIN)
    passes = _Passes(connection, query, wanted, deadline)
    found = passes.run(match_all(query), Depth(limit, depth), every_term=True)
    if len(query.terms) > 1 and _holding(found) < limit and not passes.is_exhausted:
        known = {item.row for item in found}
        rest = passes.run(match_any(passes.rare_terms()), Depth(limit, depth), every_term=False)
        found += [item for item in rest if item.row not in known]
    return LaneAnswer(candidates=tuple(_ranked(found)[:limit]), is_exhausted=passes.is_exhausted)


class _Passes:
    """One query's passes over the index, under one deadline."""

    def __init__(
        self, connection: sqlite3.Connection, query: Query, wanted: Filter, deadline: Deadline
    ) -> None:
        self._connection = connection
        self._query = query
        self._wanted = wanted
        self._deadline = deadline
        self.is_exhausted = False

    def run(self, expression: str, depth: Depth, *, every_term: bool) -> list[_Found]:
        """Run one pass; where neighbours' matches fill it, also over those whose own text matches."""
        found, is_full = self._select(expression, depth, None, every_term=every_term)
        if not is_full or _holding(found) >= depth.wanted or self.is_exhausted:
            return found
        own = match_any(content_terms(self._query), ["own"])
        known = {item.row for item in found}
        more, _ = self._select(expression, depth, own, every_term=every_term)
        return found + [item for item in more if item.row not in known]

    def _select(
        self, expression: str, depth: Depth, own: str | None, *, every_term: bool
    ) -> tuple[list[_Found], bool]:
        """Select the best rows, judged, and tell whether there may be more than were looked at.

        Texts are looked at no further than enough of them match themselves: all others rank below.
        """
        statement = _STATEMENTS[self._wanted.workspace is not None, own is not None]
        given = {**parameters(self._wanted), "match": expression, "limit": depth.rows, "own": own}
        rows, is_interrupted = interruptible(self._connection, statement, given, self._deadline)
        self.is_exhausted = self.is_exhausted or is_interrupted
        judged: list[_Found] = []
        still_wanted = depth.wanted
        for row in rows:
            found = self._judged(row, every_term=every_term)
            if found is not None:
                judged.append(found)
                still_wanted -= found.holds
            if not still_wanted:
                break
        return judged, len(rows) == depth.rows

    def _judged(self, row: Found, *, every_term: bool) -> _Found | None:
        """Look at a text that FTS5 found: whether it matches itself and has the exact punctuated forms."""
        identity, strength, text, superseded = row
        folded = fold(text)
        if self._query.every_term_punctuated:
            exact = [adjacent(term, folded) for term in self._query.terms]
            if not (all(exact) if every_term else any(exact)):
                return None
        own = own_match(self._query, folded)
        return _Found(identity, strength, own, every_term, bool(superseded))

    def rare_terms(self) -> Sequence[Term]:
        """Choose the terms of the OR pass."""
        terms = content_terms(self._query)
        with faults(NAME):
            total = self._connection.execute(_COUNT).fetchone()[0]
            if total < LARGE_RECORDS:
                return terms
            self._connection.execute(_VOCABULARY)
            rare = [term for term in terms if self._frequency(term) <= total * COMMON_SHARE]
        return rare or terms

    def _frequency(self, term: Term) -> int:
        """Tell how many records have the rarest part of a term."""
        counts = []
        for part in term.parts:
            row = self._connection.execute(_FREQUENCY, (fold(part),)).fetchone()
            counts.append(row[0] if row else 0)
        return min(counts, default=0)


def interruptible(
    connection: sqlite3.Connection, statement: str, given: Mapping[str, object], deadline: Deadline
) -> tuple[list[Found], bool]:
    """Run a query until the deadline: rows so far, and whether it was cut off."""
    rows: list[Found] = []
    if deadline.passed():
        return rows, True
    connection.set_progress_handler(lambda: int(deadline.passed()), _STEPS_PER_CHECK)
    with faults(NAME):
        try:
            rows.extend(connection.execute(statement, given))
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
                raise
            return rows, True
        finally:
            connection.set_progress_handler(None, 0)
    return rows, False


def _holding(found: Sequence[_Found]) -> int:
    return sum(item.holds for item in found)


def _ranked(found: Sequence[_Found]) -> list[Candidate]:
    best = max((item.strength for item in found), default=0.0) or 1.0
    scored = [
        Candidate(
            row=item.row,
            score=item.strength / best
            + (1.0 if item.every_term else 0.0)
            - (0.0 if item.own else 2.0)
            - (SUPERSEDED_LOSS if item.superseded else 0.0),
        )
        for item in found
    ]
    scored.sort(key=lambda candidate: -candidate.score)
    return scored
