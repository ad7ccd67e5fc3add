"""Cuts a note into pieces that are small enough to read and keep their names when the note grows.

A piece is named by the headings above it and its place among the pieces below those headings, so that
what is inserted elsewhere doesn't rename it.  Every piece is a slice of the note, white space at its
edges aside, and together they hold all of it.  Time is linear in the length of the note.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_CHUNK_CHARS = 2_000
"""The hard limit of one piece, whatever it is made of."""
HEADING_SEPARATOR = " > "
MAX_HEADING_CHARS = 200
"""What of a heading counts in a heading path; longer ones are paragraphs that somebody marked as heading."""

_BACK_OFF_CHARS = 16
_SENTENCE_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019\u00bb)\]]{0,3}(?=\s)|[\u3002\uff01\uff1f]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChunk:
    """A piece of a note; `ordinal` counts from 0 among the pieces with this heading path."""

    heading_path: str
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitNote:
    """All pieces of a note in order, and its first heading of level 1 or an empty text."""

    top_heading: str
    chunks: tuple[NoteChunk, ...]


@dataclass(slots=True, kw_only=True)
class _Section:
    """What stands below one heading, as paragraphs: spans of the note."""

    headings: tuple[str, ...] = ()
    level: int = 0
    paragraphs: list[tuple[int, int]] = field(default_factory=list)
    has_body: bool = False


def split_note(text: str, preamble_chars: int = 0) -> SplitNote:
    """Cut a note whose lines end in LF; the first `preamble_chars`, its front matter, are one paragraph.

    A heading without text of its own opens the first piece below it, and so does front matter.
    """
    sections = _sections(text, preamble_chars)
    top_heading = next((section.headings[-1] for section in sections if section.level == 1), "")
    ordinals: Counter[str] = Counter()
    chunks = []
    for section in _with_orphans_below(sections):
        path = HEADING_SEPARATOR.join(section.headings)
        for start, end in _packed(text, section.paragraphs):
            piece = text[start:end].strip()
            if piece:
                chunks.append(NoteChunk(heading_path=path, ordinal=ordinals[path], text=piece))
                ordinals[path] += 1
    return SplitNote(top_heading=top_heading, chunks=tuple(chunks))


def heading_of(line: str) -> tuple[int, str] | None:
    """Read an ATX heading: its level and its text, without closing marks."""
    body = line.lstrip(" ")
    if len(line) - len(body) > 3 or not body.startswith("#"):
        return None
    title = body.lstrip("#")
    level = len(body) - len(title)
    if level > 6 or title[:1] not in ("", " ", "\t"):
        return None
    title = title.strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.rstrip()
    return level, title


def _sections(text: str, preamble_chars: int) -> list[_Section]:
    """Divide a note at its headings; what looks like one inside a code fence is none."""
    section = _Section(paragraphs=[(0, preamble_chars)] if preamble_chars else [])
    sections = [section]
    parents: list[tuple[int, str]] = []
    fence = ""
    is_open = False
    for start, line in _lines(text, preamble_chars):
        heading = None if fence else heading_of(line)
        if heading is not None:
            level, title = heading
            parents = [parent for parent in parents if parent[0] < level]
            parents.append((level, title[:MAX_HEADING_CHARS]))
            section = _Section(
                headings=tuple(name for _, name in parents),
                level=level,
                paragraphs=[(start, start + len(line))],
            )
            sections.append(section)
            is_open = False
            continue
        if not fence and not line.strip():
            is_open = False
            continue
        fence = _fence_after(line, fence)
        begin = section.paragraphs.pop()[0] if is_open else start
        section.paragraphs.append((begin, start + len(line)))
        section.has_body = is_open = True
    return sections


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    for line in text[start:].split("\n"):
        yield start, line
        start += len(line) + 1


def _fence_after(line: str, fence: str) -> str:
    """Say which code fence is open after a line; none is an empty text."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        # Backquotes after a fence of backquotes make it a line with inline code.
        return "" if mark[1][0] == "`" and "`" in line[mark.end() :] else mark[1]
    closes = mark[1].startswith(fence) and not line[mark.end() :].strip()
    return "" if closes else fence


def _with_orphans_below(sections: list[_Section]) -> Iterator[_Section]:
    """Put paragraphs that only announce what is below, headings and front matter, into the section below."""
    waiting: list[tuple[int, int]] = []
    for section, below in zip(sections, [*sections[1:], None], strict=True):
        section.paragraphs = waiting + section.paragraphs
        waiting = []
        if below is not None and not section.has_body and below.level > section.level:
            waiting = section.paragraphs
        elif section.paragraphs:
            yield section


def _packed(text: str, paragraphs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join consecutive paragraphs, or what is left of one that had to be cut, as long as they fit."""
    packed: tuple[int, int] | None = None
    for paragraph in paragraphs:
        for start, end in _pieces(text, paragraph):
            if packed is not None and end - packed[0] <= MAX_CHUNK_CHARS:
                packed = (packed[0], end)
                continue
            if packed is not None:
                yield packed
            packed = (start, end)
    if packed is not None:
        yield packed


def _pieces(text: str, paragraph: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Cut a paragraph that alone is too long."""
    start, end = paragraph
    while end - start > MAX_CHUNK_CHARS:
        cut = _cut(text, start)
        yield start, cut
        start = cut
    yield start, end


def _cut(text: str, start: int) -> int:
    """Choose where a piece that starts here ends: after a sentence, a line, a word, or where it must."""
    end = start + MAX_CHUNK_CHARS
    least = start + MAX_CHUNK_CHARS // 4
    sentence = max((found.end() for found in _SENTENCE_END.finditer(text, least, end)), default=-1)
    if sentence > 0:
        return sentence
    line = text.rfind("\n", least, end)
    if line > 0:
        return line + 1
    for at in range(end - 1, start, -1):
        if text[at].isspace():
            return at + 1
    cut = end
    while cut > end - _BACK_OFF_CHARS and _joins(text[cut - 1], text[cut]):
        cut -= 1
    return cut if cut > end - _BACK_OFF_CHARS else end


def _joins(before: str, after: str) -> bool:
    """Tell whether two characters make one sign: with a combining mark, a variation selector or a joiner."""
    return unicodedata.category(after)[0] == "M" or "\u200d" in (before, after)
