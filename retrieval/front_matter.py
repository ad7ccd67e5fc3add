"""The few fields of a note's front matter that retrieval uses, read without a YAML library.

Tolerant on purpose: people's front matter comes from many tools, and what isn't understood is still
searchable, because the whole block stays part of the note's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

MAX_FRONT_MATTER_CHARS = 65_536
"""A block that doesn't close within this is no front matter but a ruler at the top of a note."""
MAX_ITEMS = 100
MAX_ITEM_CHARS = 200

_FIELD = re.compile(r"([A-Za-z]+)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NAMES = {"title": "title", "tags": "tags", "tag": "tags", "aliases": "aliases", "alias": "aliases"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What a note says of itself; `size_chars` is the length of the block, its last line break included."""

    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    size_chars: int = 0


def read_front_matter(text: str) -> FrontMatter:
    """Read the block between two `---` lines at the very start of a note whose lines end in LF."""
    lines = _block(text)
    if lines is None:
        return FrontMatter()
    values: dict[str, list[str]] = {}
    name = ""
    for line in lines[1:-1]:
        field = _FIELD.fullmatch(line)
        item = _ITEM.fullmatch(line)
        if field is not None:
            name = _NAMES.get(field[1].lower(), "")
            values.setdefault(name, []).extend(_values(name, field[2] or ""))
        elif item is not None:
            values.setdefault(name, []).append(_scalar(item[1]))
        elif line.strip() and not line.startswith(("#", " ", "\t")):
            name = ""
    tags = (tag.removeprefix("#") for tag in values.get("tags", []))
    size_chars = min(len(text), sum(len(line) + 1 for line in lines))
    return FrontMatter(
        title=next(iter(_clean(values.get("title", []))), ""),
        tags=_clean(tags),
        aliases=_clean(values.get("aliases", [])),
        size_chars=size_chars,
    )


def _block(text: str) -> list[str] | None:
    """Take the lines of the block, both rulers included; None if there is no closed block."""
    if not text.startswith("---"):
        return None
    lines = text[:MAX_FRONT_MATTER_CHARS].split("\n")
    if lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return lines[: number + 1]
    return None


def _values(name: str, raw: str) -> list[str]:
    """Read what stands behind the colon: a list in brackets, words of tags, or one value."""
    raw = raw.strip()
    if name == "title":
        return [_scalar(raw)]
    if raw.startswith("[") and "]" in raw:
        return [_scalar(item) for item in _split(raw[1 : raw.rindex("]")])]
    if name == "tags" and raw[:1] not in ("'", '"'):
        return _scalar(raw).replace(",", " ").split()
    return [_scalar(item) for item in _split(raw)]


def _split(raw: str) -> list[str]:
    """Split at commas outside quotes."""
    items, quote = [""], ""
    for character in raw:
        if character == "," and not quote:
            items.append("")
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"" and not items[-1].strip():
            quote = character
        items[-1] += character
    return items


def _scalar(raw: str) -> str:
    """Take off quotes, or a comment behind a bare value."""
    raw = raw.strip()
    if raw[:1] in ("'", '"') and (end := raw.find(raw[0], 1)) > 0:
        return raw[1:end]
    return raw.split(" #", 1)[0].strip()


def _clean(items: Iterable[str]) -> tuple[str, ...]:
    """Keep distinct items that say something, cut to their limits, in order."""
    distinct = dict.fromkeys(item.strip()[:MAX_ITEM_CHARS] for item in islice(items, MAX_ITEMS))
    return tuple(item for item in distinct if item)
