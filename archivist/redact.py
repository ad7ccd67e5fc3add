"""Take secrets, home directories and private spans out of texts before anything else sees them.

Rules run in the order of `_FINDERS`.  Private spans go first, because taking them out joins what stood around
them; home directories go last.  Passes are repeated until one finds nothing, so the result is a fixed
point: redacting it again changes and counts nothing, which lets a newer version run over old archives.
A marker brings no rule into play that was not due before it, whereas a joined text may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from archivist import redaction_rules as rules
from archivist import redaction_values as values
from archivist.redaction_rules import Letters, Span, flattened

REDACTOR_VERSION = 1
"""Stored with every fragment; raise it with every change of what is found."""

HOME = "[HOME]"
PASSES_MAX = 8
"""Two are the rule: one that finds and one that confirms."""

_Finder = Callable[[Letters], Iterator[Span]]

_FINDERS: tuple[_Finder, ...] = (
    rules.private_spans,
    rules.key_blocks,
    values.named_values,
    rules.header_values,
    rules.tokens,
    rules.address_users,
)
"""In the order in which they run; `_due` tells which of them a text needs."""

_DEEP_HOME_PARTS = 2
_PATH_START = r"(?:(?<![\w.~/\])-]{0})|(?<=://{0})|(?<=\\[nrtbf]{0})|(?<=-[A-Z]{0})(?<![^\s\"'`]-[A-Z]{0}))"
_PATH_END = r"(?![\w-]|\.\w|\.?\[HOME\])"


class Redactor:
    """Redacts for one set of home directories; it keeps no state and may be shared by threads."""

    def __init__(self, homes: Sequence[str]) -> None:
        """Take absolute home directories; any other, and the root, would match anything and is left out."""
        self.version = REDACTOR_VERSION
        self._homes = _spellings(homes)
        self._home_pattern = _home_pattern(self._homes)

    def redact(self, text: str) -> tuple[str, int]:
        """Give the text without secrets and the number of replacements; at none it is the same object."""
        due = _due(text)
        if not due:
            return self._without_homes(text)
        total = 0
        for _ in range(PASSES_MAX):
            text, count = self._pass(due, text)
            if count == 0:
                break
            total += count
            due = _due(text) if rules.private_spans in due else due
        return text, total

    def _pass(self, due: Sequence[_Finder], text: str) -> tuple[str, int]:
        text, found = _replaced(due, Letters.of(text))
        text, at_home = self._without_homes(text)
        return text, found + at_home

    def _without_homes(self, text: str) -> tuple[str, int]:
        if self._homes and self._home_pattern.search(text):
            return self._home_pattern.subn(HOME, text)
        return text, 0


def _due(text: str) -> Sequence[_Finder]:
    """Choose the finders that may find something; for almost every text, none."""
    flat, lowered = flattened(text)
    suspicions = (
        rules.may_hold_private_span(lowered),
        rules.may_hold_key_block(flat),
        values.may_hold_named_value(lowered),
        rules.may_hold_header(lowered),
        rules.may_hold_token(flat),
        rules.may_hold_address(text),
    )
    if True not in suspicions:
        return ()
    return [finder for finder, suspected in zip(_FINDERS, suspicions, strict=True) if suspected]


def _replaced(finders: Iterable[_Finder], letters: Letters) -> tuple[str, int]:
    total = 0
    for finder in finders:
        text, count = _spliced(letters.text, finder(letters))
        if count:
            letters = Letters.of(text)
            total += count
    return letters.text, total


def _spliced(text: str, spans: Iterable[Span]) -> tuple[str, int]:
    pieces: list[str] = []
    done = count = 0
    for start, end, replacement in spans:
        pieces += (text[done:start], replacement)
        done = end
        count += 1
    return ("".join(pieces) + text[done:], count) if count else (text, 0)


def _spellings(homes: Sequence[str]) -> list[str]:
    """Give the homes longest first, those with backslashes also as JSON writes them."""
    kept = {home.rstrip("/\\") for home in homes if re.match(r"/|[A-Za-z]:\\", home)}
    kept = {home for home in kept if len(home) > len("C:")}
    kept |= {home.replace("\\", "\\\\") for home in kept}
    return sorted(kept, key=lambda home: (-len(home), home))


def _home_pattern(homes: Sequence[str]) -> re.Pattern[str]:
    """Match a home to the end of its last name; one of a single name only where a path starts.

    Every alternative starts with its own letters, so that the expression is found by its first one.
    """
    alternatives = []
    for home in map(re.escape, homes):
        is_deep = len(re.findall(r"[^/\\]+", home)) >= _DEEP_HOME_PARTS
        alternatives.append(home if is_deep else home + _PATH_START.replace("{0}", home))
    return re.compile(f"(?:{'|'.join(alternatives)}){_PATH_END}")
