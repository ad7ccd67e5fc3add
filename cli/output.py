"""Turn documents into lines for people, or into one JSON document.

Text of transcripts reaches a terminal only through `plain` or `print_json`, since it can hold escape
sequences.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from datetime import datetime

Document = Mapping[str, object]
EXCERPT_CHARS = 280
LEAD_CHARS = 80
"""How much of an excerpt stands before the match."""
AGES = ((31_557_600, "y"), (2_629_800, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STEERING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What JSON leaves as it is of `_CONTROL`; none of it can stand outside a JSON string."""
_WORDS = re.compile(r"\w+")


def print_json(document: Document) -> None:
    """Print one document: indented on a terminal, on one line otherwise.

    JSON itself escapes only the controls below U+0020, and all that could steer a terminal is escaped here.
    """
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    text = _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    line(text.encode("utf-8", "backslashreplace").decode())


def line(text: str = "") -> None:
    """Print one line at once, so that who reads a pipe sees it before a long task ends."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print one line beside the result, on standard error."""
    sys.stderr.write(text + "\n")


def strong(text: str) -> str:
    """Set text apart, where colour is wanted."""
    return f"\x1b[1m{text}\x1b[0m" if _wants_colour() else text


def faint(text: str) -> str:
    """Set text back, where colour is wanted."""
    return f"\x1b[2m{text}\x1b[0m" if _wants_colour() else text


def plain(text: str) -> str:
    """Take out of foreign text what could steer a terminal; line feeds and tabs stay."""
    return _CONTROL.sub("", text)


def text_of(document: Document, key: str, default: str = "") -> str:
    """Read a text; anything else is the default."""
    value = document.get(key)
    return value if isinstance(value, str) else default


def number_of(document: Document, key: str) -> int:
    """Read a whole number; anything else is 0."""
    value = document.get(key)
    return int(value) if isinstance(value, int | float) else 0


def part_of(document: Document, key: str) -> Document:
    """Read a nested object; anything else is an empty one."""
    value = document.get(key)
    return cast("Document", value) if isinstance(value, dict) else {}


def list_of(document: Document, key: str) -> list[Document]:
    """Read a list of objects; anything else is empty."""
    value = document.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_of(document: Document, key: str) -> list[str]:
    """Read a list of texts; anything else is empty."""
    value = document.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def age(instant: str, now: datetime | None = None) -> str:
    """Say how long ago an ISO 8601 instant was; empty for one that can't be read."""
    from datetime import UTC, datetime

    try:
        then = datetime.fromisoformat(instant)
    except ValueError:
        return ""
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return span(((now or datetime.now(UTC)) - then).total_seconds())


def span(seconds: float) -> str:
    """Say a length of time in its largest unit."""
    for length, unit in AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now" if seconds < 1 else f"{int(seconds)} s"


def size(count: float) -> str:
    """Say a number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("the last unit takes every number")


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Say a count with its noun."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def excerpt(text: str, query: str) -> str:
    """Cut text around the first match of a query's words, on one line, and set the matches apart."""
    flat = " ".join(plain(text).split())
    pattern = match_of(query)
    found = pattern.search(flat) if pattern else None
    start = max(0, found.start() - LEAD_CHARS) if found and len(flat) > EXCERPT_CHARS else 0
    piece = flat[start : start + EXCERPT_CHARS]
    shown = pattern.sub(lambda hit: strong(hit[0]), piece) if pattern else piece
    return f"{'…' if start else ''}{shown}{'…' if start + EXCERPT_CHARS < len(flat) else ''}"


def match_of(query: str) -> re.Pattern[str] | None:
    """Make a pattern for the words of a query, None for a query without any."""
    words = sorted({word for word in _WORDS.findall(query) if len(word) > 1}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words[:64])), re.IGNORECASE) if words else None


def table(rows: Sequence[tuple[str, str]]) -> None:
    """Print pairs in two columns."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        line(f"{name.ljust(width)}  {value}")


def counts(document: Document) -> None:
    """Print the counts and words of a document that has no form of its own."""
    table(
        [
            (key.replace("_", " "), _shown(value))
            for key, value in document.items()
            if isinstance(value, int | float | str) and key != "schemaVersion"
        ]
    )


def _shown(value: float | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(value) if isinstance(value, str) else f"{value:,}"


def _wants_colour() -> bool:
    from node.config import wants_colour

    return sys.stdout.isatty() and wants_colour()
