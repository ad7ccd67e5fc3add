"""The log of questions: what was asked and which records answered, never what they say.

One line a question, one file a UTC day, in a single append, so that processes may log side by side.  A
question is redacted before it is written.  Answering comes first: where nothing can be written, nothing is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

from node.paths import DIRECTORY_MODE, FILE_MODE, StatePaths

if TYPE_CHECKING:
    from node.composition import Local

QUERY_CHARS_MAX = 2_000
"""Characters of a question that are kept."""
LINE_BYTES_MAX = 64 * 1024
"""A line of the longest question with 50 pieces of evidence has 22 KiB; a longer one is not ours."""
READ_BYTES_MAX = 200_000_000
"""What one look at the log reads, newest days first."""
_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedQuestion:
    """One question as it is logged.

    `evidence` has `{record_id, score, lane, via}` each.  `covered` is the largest share of the question's
    words that one piece of evidence showed.
    """

    query: str
    asked_at: datetime
    scope: str | None
    lane: str
    evidence: list[dict[str, object]]
    covered: float
    warnings: list[str]
    elapsed_ms: float


@dataclass(slots=True)
class Reading:
    """What was met while reading: malformed lines, and whether the bound on bytes ended it."""

    malformed: int = 0
    bytes_read: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuestion:
    """A question read back; `evidence` as (record id, score)."""

    query: str
    asked_at: datetime
    evidence: list[tuple[str, float]] = field(default_factory=list)
    covered: float | None = None


def log_question(local: Local, question: LoggedQuestion) -> bool:
    """Append a question, redacted; False where the state directory is absent or can't be written."""
    if not local.paths.root.is_dir():
        return False
    document = {
        "query": local.redactor.redact(question.query)[0][:QUERY_CHARS_MAX],
        "asked_at": question.asked_at.astimezone(UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        "scope": question.scope,
        "lane": question.lane,
        "evidence": question.evidence,
        "covered": question.covered,
        "warnings": question.warnings,
        "elapsed_ms": question.elapsed_ms,
        "served_by": local.served_by,
    }
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    day = question.asked_at.astimezone(UTC).date().isoformat()
    try:
        _append(local.paths, day, line.encode("utf-8", "replace"))
    except OSError:
        return False
    return True


def read_questions(paths: StatePaths, since: datetime, reading: Reading) -> Iterator[PastQuestion]:
    """Read what was asked since a moment, newest day first, each day in order; the rest is tallied."""
    first = since.astimezone(UTC).date().isoformat()
    days = sorted(
        (path for path in paths.queries.glob(f"????-??-??{_SUFFIX}") if path.stem >= first), reverse=True
    )
    for path in days:
        try:
            file = path.open("rb")
        except OSError:
            reading.malformed += 1
            continue
        with file:
            yield from _questions(file, since, reading)
        if reading.is_cut:
            return


def _append(paths: StatePaths, day: str, line: bytes) -> None:
    folder = paths.queries
    for directory in (folder.parent, folder):
        directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / f"{day}{_SUFFIX}", flags, FILE_MODE)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _questions(file: IO[bytes], since: datetime, reading: Reading) -> Iterator[PastQuestion]:
    is_rest = False
    while line := file.readline(LINE_BYTES_MAX):
        reading.bytes_read += len(line)
        if reading.bytes_read > READ_BYTES_MAX:
            reading.is_cut = True
            return
        is_whole = line.endswith(b"\n")
        question = _parsed(line) if is_whole and not is_rest else None
        if question is None:
            reading.malformed += is_whole
        elif question.asked_at >= since:
            yield question
        is_rest = not is_whole


def _parsed(line: bytes) -> PastQuestion | None:
    """Read one line; None for anything that is no logged question."""
    try:
        document = json.loads(line)
        query = document["query"]
        asked_at = datetime.fromisoformat(document["asked_at"])
        evidence = [(str(item["record_id"]), float(item["score"])) for item in document["evidence"]]
        covered = document.get("covered")
        known = None if covered is None else float(covered)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not isinstance(query, str) or asked_at.tzinfo is None:
        return None
    return PastQuestion(query=query, asked_at=asked_at, evidence=evidence, covered=known)
