"""Run the present redactor over the log of questions, which an older one may have let something into."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from node.paths import FILE_MODE, StatePaths, write_error


def redact_questions(paths: StatePaths, redact: Callable[[str], tuple[str, int]]) -> int:
    """Redact every logged question again; return how many changed.

    Days in which nothing changes are left as they are.  A question that is logged while its day is written
    anew may be lost; the log is there for statistics.
    """
    return sum(_redact_day(path, redact) for path in sorted(paths.queries.glob("*.jsonl")))


def _redact_day(path: Path, redact: Callable[[str], tuple[str, int]]) -> int:
    lines = path.read_text("utf-8", errors="replace").split("\n")
    again = [_redacted(line, redact) for line in lines]
    changed = sum(old != new for old, new in zip(lines, again, strict=True))
    if changed:
        _write(path, "\n".join(again))
    return changed


def _redacted(line: str, redact: Callable[[str], tuple[str, int]]) -> str:
    """Redact the question of a line, or all of a line that is none."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return redact(line)[0]
    query = document.get("query") if isinstance(document, dict) else None
    if not isinstance(query, str):
        return redact(line)[0]
    question, count = redact(query)
    if not count:
        return line
    return json.dumps({**document, "query": question}, ensure_ascii=False, separators=(",", ":"))


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise write_error(error, path) from error
