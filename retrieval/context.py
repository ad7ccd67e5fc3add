"""Evidence for a question, bounded and attributed: what was said in the project, notes, and where they lead.

Three passes under one deadline.  History is searched in the project asked for and never beyond it; notes
belong to no project; shared memory to one, or to all; links are followed one hop, among indexed notes alone.
Texts that third parties wrote are never given, and what was superseded comes after all that holds.  Nothing
is written, and no file is read but the index.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from retrieval.answers import WORDS, Lookup, Routed, look_up
from retrieval.evidence import Evidence, Piece, choose, cover, current_first, fit, interleave
from retrieval.index_reader import IndexReader
from retrieval.links import MAX_TARGETS_PER_ROOT, KnownNotes, follow, note_links
from retrieval.models import ROLES_CURATED, ROLES_HISTORY, Deadline, Filter, Hit, LaneName
from retrieval.query import Query, parse_query

CANDIDATES_PER_WANTED = 4
"""Candidates of a pass for each piece of evidence wanted (RETRIEVAL.md 4)."""
NOTE_PIECES_MAX = 16
"""Pieces of a note that are read for its links, or to find the one to show."""

WARNINGS = frozenset(
    {
        "refresh_stale", "refresh_unknown", "refresh_invalid", "configuration_invalid",
        "configuration_missing", "context_indexes_missing_run_prepare_context",
        "history_vectors_missing_lexical_fallback", "curated_vectors_missing_lexical_fallback",
        "semantic_unavailable_lexical_fallback", "lexical_budget_exhausted",
        "retrieval_candidate_limit_reached", "index_empty", "no_matches",
        "index_unavailable_or_incompatible", "index_state_mismatch", "invalid_note_path",
        "unsafe_link_ignored", "unresolved_indexed_link", "linked_parent_deduplicated",
        "dense_matrix_unavailable", "dense_generation_missing", "dense_matrix_stale_rebuilding",
    }
)  # fmt: skip
"""Everything that an answer can warn of; agents may rely on these words."""
NOT_DEGRADING = frozenset(
    {
        "no_matches", "history_vectors_missing_lexical_fallback",
        "curated_vectors_missing_lexical_fallback", "retrieval_candidate_limit_reached",
        "unsafe_link_ignored", "unresolved_indexed_link", "linked_parent_deduplicated",
    }
)  # fmt: skip
"""What is so by design or in the notes themselves.  An answer is degraded when something that was asked for
was not searched, or is not known to be current; otherwise every answer of a large index would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked; `workspace` is the scope of history, None for all of it."""

    text: str
    lane: LaneName = "auto"
    workspace: str | None = None
    limit: int = 8
    chars_max: int = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One pass: in which lane it found how many candidates, of how many at most, and how long it took."""

    name: str
    scope: str | None
    lane: str
    candidates: int
    candidate_limit: int
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The evidence, best first, and how it came about; `truncated` when text was cut or left out.

    `covered` is the largest share of the question's words that the text of one piece has.
    """

    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    history_lane: str | None = None
    curated_lane: str | None = None
    truncated: bool = False
    deduplicated: int = 0
    covered: float = 0.0


def degrades(warnings: Iterable[str]) -> bool:
    """Tell whether an answer with these warnings is less than it should be."""
    return any(warning not in NOT_DEGRADING for warning in warnings)


def answer(reader: IndexReader, question: Question, deadline: Deadline | None = None) -> Answer:
    """Gather evidence for a question."""
    passes = _Passes(reader, question, deadline or Deadline())
    history, history_lane = passes.search("history", ROLES_HISTORY, question.workspace)
    curated, curated_lane = passes.curated()
    linked = passes.links(curated)
    found = (
        [Piece(hit=hit, via="history") for hit in history],
        [Piece(hit=hit, via="memory" if hit.role == "memory" else "curated") for hit in curated],
        linked,
    )
    chosen = choose(current_first(interleave(found)), question.limit)
    if any(piece.parent_record_id in chosen.repeating for piece in chosen.pieces):
        passes.warn("linked_parent_deduplicated")
    evidence = fit(chosen.pieces, question.text, passes.query, question.chars_max)
    if not evidence:
        passes.warn("index_empty" if reader.is_empty() else "no_matches")
    is_cut = len(evidence) < len(chosen.pieces) or any(item.excerpt.truncated for item in evidence)
    return Answer(
        evidence=tuple(evidence),
        steps=tuple(passes.steps),
        warnings=tuple(passes.warnings),
        history_lane=history_lane,
        curated_lane=curated_lane,
        truncated=is_cut,
        deduplicated=chosen.deduplicated,
        covered=max((cover(passes.query, item.excerpt.text) for item in evidence), default=0.0),
    )


@dataclass(slots=True)
class _Passes:
    """The passes of one question, and what they note on the way."""

    reader: IndexReader
    question: Question
    deadline: Deadline
    query: Query = field(init=False)
    steps: list[Step] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.query = parse_query(self.question.text)
        if self.question.lane == "auto":
            self.warn("history_vectors_missing_lexical_fallback", "curated_vectors_missing_lexical_fallback")
        elif self.question.lane == "dense":
            self.warn("semantic_unavailable_lexical_fallback")

    def warn(self, *codes: str) -> None:
        """Note warnings, each once, in the order in which they came up."""
        for code in codes:
            assert code in WARNINGS, code  # noqa: S101 - a misspelt code is a programmer's error
            self.warnings.setdefault(code)

    def curated(self) -> tuple[list[Hit], str]:
        """Run the pass over notes and memory; where there is no memory, no project bounds it."""
        notes = ("note",) if self.reader.has_notes() else ()
        memory = ("memory",) if self.reader.has_memory() else ()
        return self.search("curated", notes + memory, self.question.workspace if memory else None)

    def search(self, name: str, roles: tuple[str, ...], workspace: str | None) -> tuple[list[Hit], str]:
        """Run one pass over the records of these roles: hits, best first, and the lane that found them.

        Without roles there is nothing to search, which is a pass too.
        """
        started_s = time.perf_counter()
        candidates_max = CANDIDATES_PER_WANTED * self.question.limit
        lookup = Lookup(
            text=self.question.text,
            query=self.query,
            lane=self.question.lane,
            wanted=Filter(roles=roles, workspace=workspace, global_roles=ROLES_CURATED),
            limit=candidates_max + 1,
        )
        nothing = Routed(lane=WORDS, candidates=(), is_exhausted=False)
        found = look_up(self.reader, lookup, self.deadline) if roles else nothing
        hits = self.reader.hits(found.candidates[:candidates_max], found.lane)
        self._note_bounds(found, candidates_max)
        self._step(name, workspace, found.lane, (len(hits), candidates_max), started_s)
        return hits, found.lane

    def _note_bounds(self, found: Routed, candidates_max: int) -> None:
        if len(found.candidates) > candidates_max:
            self.warn("retrieval_candidate_limit_reached")
        if found.is_exhausted:
            self.warn("lexical_budget_exhausted")
            if found.lane != WORDS and not self.reader.has_substring_lane:
                self.warn("context_indexes_missing_run_prepare_context")

    def links(self, notes: Sequence[Hit]) -> list[Piece]:
        """Go one hop from the best notes to those that they link to, which were not found themselves."""
        started_s = time.perf_counter()
        found: list[Piece] = []
        best = notes[: self.question.limit]
        for root in dict.fromkeys(hit.note_root for hit in best if hit.note_root is not None):
            by_path = {
                hit.note_path: hit for hit in reversed(notes) if hit.note_root == root and hit.note_path
            }
            start = dict.fromkeys(hit.note_path for hit in best if hit.note_root == root and hit.note_path)
            found += self._links_of_root(root, [by_path[path] for path in start], set(by_path))
        self._step("links", None, "linked", (len(found), MAX_TARGETS_PER_ROOT), started_s)
        return found

    def _links_of_root(self, root: int, notes: Sequence[Hit], known_paths: set[str]) -> list[Piece]:
        texts = [(hit.note_path or "", text) for hit in notes for text in self._texts_of_note(root, hit)]
        if not any(note_links(text) for _, text in texts):
            return []
        followed = follow(texts, KnownNotes(self.reader.note_names(root)))
        self.warn(*followed.warnings)
        if followed.is_saturated:
            self.warn("retrieval_candidate_limit_reached")
        parents = {hit.note_path: hit for hit in notes}
        fresh = [(path, parents[source]) for path, source in followed.targets if path not in known_paths]
        pieces = (self._linked(root, path, parent) for path, parent in fresh[: self.question.limit])
        return [piece for piece in pieces if piece is not None]

    def _texts_of_note(self, root: int, hit: Hit) -> list[str]:
        """Give the texts in which a note's links are: of the piece that was found, then of the others."""
        others = self.reader.note(root, hit.note_path or "", NOTE_PIECES_MAX)
        return [hit.text, *(other.text for other in others if other.row != hit.row)]

    def _linked(self, root: int, path: str, parent: Hit) -> Piece | None:
        """Choose the piece of a linked note that has most of the question's words, the first of equals."""
        pieces = self.reader.note(root, path, NOTE_PIECES_MAX)
        curated = [piece for piece in pieces if piece.role in ROLES_CURATED]
        if not curated:
            return None
        best = max(curated, key=lambda piece: cover(self.query, piece.text))
        hit = replace(best, lane="linked", score=min(parent.score, parent.score / 2))
        return Piece(hit=hit, via="link", parent_record_id=parent.record_id)

    def _step(
        self, name: str, scope: str | None, lane: str, counts: tuple[int, int], started_s: float
    ) -> None:
        candidates, candidates_max = counts
        ms = round((time.perf_counter() - started_s) * 1000, 2)
        self.steps.append(
            Step(
                name=name, scope=scope, lane=lane, candidates=candidates,
                candidate_limit=candidates_max, ms=ms,
            )
        )  # fmt: skip
