"""Links between notes: what a note points to, and which indexed note that is.

A link is looked up among the notes that are indexed, never on disk, so the worst that a hostile link can do
is not to be found.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

MAX_TARGETS_PER_ROOT = 50
"""Linked notes that one context call looks at below one root."""
UNSAFE = "unsafe_link_ignored"
UNRESOLVED = "unresolved_indexed_link"

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"`[^`\n]{1,1000}`")
# Both forms, neither as an image.  Lengths are bounded so that no text makes the search slow.
_LINK = re.compile(
    r"(?<!!)\[\[([^\[\]\n]{1,1000})\]\]"
    r"|(?<!!)\[([^\[\]\n]{0,1000})\]\([ \t]{0,3}(?:<([^<>\n]{1,1000})>|([^\s()<>]{1,1000}))"
    r"(?:[ \t]{1,3}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'))?[ \t]{0,3}\)"
)
# A colon before white space belongs to a title; a scheme is followed by something.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!\s|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as written: `anchor` and `alias` are empty where there are none."""

    target: str
    anchor: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The indexed note that a link means, or the warning that says why there is none."""

    path: str | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One hop: `targets` are (path of the linked note, path of the note that links to it), in order.

    `is_saturated` when there were more than `MAX_TARGETS_PER_ROOT`.
    """

    targets: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    is_saturated: bool = False


class KnownNotes:
    """The indexed notes of one root by path, and by what else they are called.

    Of several notes with one name the one beside the linking note is meant, else the first by path.
    The tables of names are made when a link first needs them.
    """

    def __init__(self, names: Mapping[str, Collection[str]]) -> None:
        """Take the titles and aliases of each note, by its path below the root."""
        self._names = names
        self._by_folded_path: dict[str, list[str]] | None = None
        self._by_stem: dict[str, list[str]] | None = None
        self._by_name: dict[str, list[str]] | None = None

    def find(self, target: str, directory: str) -> str | None:
        """Find a note by path from a directory or from the root, by stem, by title or alias.

        Exact beats case-folded, and a path beats a name.
        """
        for path in _spelled(target, directory):
            if path in self._names:
                return path
        if self._by_folded_path is None:
            self._by_folded_path = _table((path, [path]) for path in self._names)
        for path in _spelled(target, directory):
            if found := _choose(self._by_folded_path.get(_folded(path), []), directory):
                return found
        return self._named(target, directory)

    def _named(self, target: str, directory: str) -> str | None:
        if self._by_stem is None or self._by_name is None:
            self._by_stem = _table((path, [_stem(path)]) for path in self._names)
            self._by_name = _table(self._names.items())
        stem = _folded(_stem(target)) if "/" not in target else ""
        candidates = self._by_stem.get(stem, [])
        exact = [path for path in candidates if _stem(path) == _stem(target)]
        if found := _choose(exact or candidates, directory):
            return found
        candidates = self._by_name.get(_folded(target), [])
        exact = [path for path in candidates if target in self._names[path]]
        return _choose(exact or candidates, directory)


def note_links(text: str) -> list[Link]:
    """Read the links of a note in order, each once; images, code and links within the page are none."""
    links: dict[Link, None] = {}
    for line in _prose(text):
        for found in _LINK.finditer(line):
            link = _wiki_link(found[1]) if found[1] is not None else _markdown_link(found)
            if link.target:
                links.setdefault(link)
    return list(links)


def resolve(link: Link, from_path: str, known: KnownNotes) -> Resolution:
    """Find the note that a link of another note means."""
    if is_unsafe(link.target):
        return Resolution(warning=UNSAFE)
    path = known.find(link.target, posixpath.dirname(from_path))
    return Resolution(warning=UNRESOLVED) if path is None else Resolution(path=path)


def follow(texts: Iterable[tuple[str, str]], known: KnownNotes) -> Followed:
    """Go one hop from notes, given as (path, text) best first, to the other notes that they link to."""
    targets: dict[str, str] = {}
    warnings: set[str] = set()
    for from_path, text in texts:
        for link in note_links(text):
            resolution = resolve(link, from_path, known)
            if resolution.warning is not None:
                warnings.add(resolution.warning)
            elif resolution.path is not None and resolution.path != from_path:
                targets.setdefault(resolution.path, from_path)
            if len(targets) > MAX_TARGETS_PER_ROOT:
                kept = tuple(targets.items())[:MAX_TARGETS_PER_ROOT]
                return Followed(targets=kept, warnings=tuple(sorted(warnings)), is_saturated=True)
    return Followed(targets=tuple(targets.items()), warnings=tuple(sorted(warnings)))


def is_unsafe(target: str) -> bool:
    """Tell whether a target could mean something other than a note below the root."""
    return (
        target.startswith("/")
        or "\\" in target
        or "\0" in target
        or ".." in target.split("/")
        or _SCHEME.match(target) is not None
    )


def _prose(text: str) -> Iterator[str]:
    """Give the lines outside code fences, without inline code."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence):
            fence = ""
        elif not fence and "[" in line:
            yield _INLINE_CODE.sub(" ", line)


def _wiki_link(inner: str) -> Link:
    """Read `page|alias#anchor` and `page#anchor|alias`."""
    # In a table the bar has to be escaped.
    page, _, alias = inner.replace("\\|", "|").partition("|")
    if "#" in page:
        page, _, anchor = page.partition("#")
    else:
        alias, _, anchor = alias.partition("#")
    return Link(target=page.strip(), anchor=anchor.strip(), alias=alias.strip())


def _markdown_link(found: re.Match[str]) -> Link:
    page, _, anchor = (found[3] or found[4]).partition("#")
    return Link(target=unquote(page).strip(), anchor=unquote(anchor).strip(), alias=found[2].strip())


def _spelled(target: str, directory: str) -> Iterator[str]:
    """Give the paths below the root that a target can mean, nearest first."""
    for base in dict.fromkeys((directory, "")):
        path = posixpath.normpath(posixpath.join(base, target))
        yield path
        yield path + ".md"


def _table(names: Iterable[tuple[str, Collection[str]]]) -> dict[str, list[str]]:
    """List paths, sorted, by each of their folded names."""
    table: dict[str, list[str]] = {}
    for path, own in sorted(names, key=lambda item: item[0]):
        for name in dict.fromkeys(_folded(name) for name in own):
            table.setdefault(name, []).append(path)
    table.pop("", None)
    return table


def _choose(paths: Collection[str], directory: str) -> str | None:
    near = (path for path in paths if posixpath.dirname(path) == directory)
    return next(near, None) or next(iter(paths), None)


def _stem(path: str) -> str:
    return posixpath.basename(path).removesuffix(".md")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()
