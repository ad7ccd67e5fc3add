"""Say what people asked and found little about, and which records were served most."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from node.services.query_log import PastQuestion, Reading, read_questions
from node.services.questions import checked_number
from node.services.requests import GapsRequest
from retrieval.query import fold

if TYPE_CHECKING:
    from node.composition import Local
    from node.services.catalog import Document, Progress
    from node.services.requests import Request

DAYS_MAX = 3_660
GAPS_MAX = 100
SERVED_MAX = 20
DISTINCT_MAX = 100_000
"""Different questions, and records, that are told apart in memory; what comes later is left out."""
WEAK_COVER = 0.5
"""Evidence that shows less than half of the question's words is weak.  A rule of thumb, not measured."""


@dataclass(slots=True)
class _Asked:
    """One question, however it was spelt: how often it found little, and the last time it was asked."""

    last: PastQuestion
    times: int = 0
    best_score: float | None = None


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Look through the log of the last days; without one the lists are empty."""
    if not isinstance(request, GapsRequest):
        raise TypeError(request)
    days = checked_number("days", request.days, 1, DAYS_MAX)
    reading = Reading()
    asked: dict[str, _Asked] = {}
    served: Counter[str] = Counter()
    questions, is_cut = 0, False
    for question in read_questions(local.paths, datetime.now(UTC) - timedelta(days=days), reading):
        questions += 1
        is_cut = not (_count(asked, question) and _serve(served, question)) or is_cut
    gaps = [item for item in asked.values() if item.times and is_weak(item.last)]
    gaps.sort(key=lambda item: (-item.times, -item.last.asked_at.timestamp(), item.last.query))
    return {
        "schemaVersion": 1,
        "days": days,
        "questions": questions,
        "malformed": reading.malformed,
        "truncated": is_cut or reading.is_cut or len(gaps) > GAPS_MAX,
        "gaps": [_gap(item) for item in gaps[:GAPS_MAX]],
        "served": [
            {"record_id": record, "times": times}
            for record, times in sorted(served.items(), key=lambda pair: (-pair[1], pair[0]))[:SERVED_MAX]
        ],
    }


def is_weak(question: PastQuestion) -> bool:
    """Tell whether a question found nothing or little: few of its words, or neighbours alone."""
    if not question.evidence:
        return True
    best = max(score for _, score in question.evidence)
    return best <= 0 or (question.covered is not None and question.covered < WEAK_COVER)


def _count(asked: dict[str, _Asked], question: PastQuestion) -> bool:
    """Add a question to those that are spelt alike; False where there is no room for another."""
    key = " ".join(fold(question.query).split())
    known = asked.get(key)
    if known is None:
        if len(asked) >= DISTINCT_MAX:
            return False
        known = asked[key] = _Asked(last=question)
    if question.asked_at >= known.last.asked_at:
        known.last = question
    known.times += is_weak(question)
    scores = [score for _, score in question.evidence]
    known.best_score = max([*scores, *([] if known.best_score is None else [known.best_score])], default=None)
    return True


def _serve(served: Counter[str], question: PastQuestion) -> bool:
    """Count the records that answered; False where there is no room for all."""
    has_room = True
    for record, _ in question.evidence:
        if record in served or len(served) < DISTINCT_MAX:
            served[record] += 1
        else:
            has_room = False
    return has_room


def _gap(item: _Asked) -> Document:
    last = item.last
    return {
        "query": last.query,
        "times": item.times,
        "last_asked": last.asked_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "best_score": item.best_score,
        "evidence": len(last.evidence),
    }
