"""A person's Markdown notes: which files count, and what of each goes into the index.

Nothing is read here but the notes themselves and what git says it ignores.  A note is named by its root and
its path in it, a piece of it by its headings, so that neither depends on when or how often it was read.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from crdt.errors import NotFound, Unavailable
from crdt.ids import ConversationId, EventId, joined_sha256
from retrieval.chunk import NoteChunk, split_note
from retrieval.folding import has_git
from retrieval.front_matter import read_front_matter
from retrieval.git_files import ShownFiles, shown_files
from retrieval.scope import contains, homeward

MAX_NOTE_BYTES = 8_388_608
"""A Markdown file larger than 8 MiB is a dump that nobody wrote."""
SUFFIX = ".md"
ALWAYS_EXCLUDED = frozenset({"node_modules"})


Redact = Callable[[str], tuple[str, int]]
"""Gives a text without secrets, and the number of replacements."""


def _as_it_is(text: str) -> tuple[str, int]:
    return text, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note; `is_lossy` when it was no UTF-8 and characters were replaced."""

    relative_path: str
    sha256: str
    title: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    chunks: tuple[NoteChunk, ...] = ()
    is_lossy: bool = False


@dataclass(slots=True, kw_only=True)
class NoteWalk:
    """The notes below a root, as sorted POSIX paths, and how many files or directories were skipped and why.

    `unreadable` names what exists and could not be read, so that a sweep doesn't take it for deleted.
    """

    paths: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)


def walk_notes(root: Path, excluded: Collection[str]) -> NoteWalk:
    """List the notes below a root.

    Left out: hidden directories, `node_modules`, directories of an excluded name at any depth, symbolic links
    to directories or out of the root, what git ignores and does not track, files over `MAX_NOTE_BYTES`.  A
    root that git ignores as a whole was named on purpose: there git is not asked.  Raises `NotFound` if the
    root is no directory.
    """
    real_root = Path(os.path.realpath(root))
    if not real_root.is_dir():
        raise NotFound(f"{root} is no directory", hint="name the directory that holds the notes")
    return _Walker(real_root, frozenset(excluded) | ALWAYS_EXCLUDED).walk()


def read_note(root: Path, relative_path: str, walk: NoteWalk, redact: Redact = _as_it_is) -> Note | None:
    """Read, redact and cut one note of a walk; one that can't be read is tallied there and gives None."""
    try:
        with (root / relative_path).open("rb") as file:
            data = file.read(MAX_NOTE_BYTES + 1)
    except FileNotFoundError:
        walk.skipped["vanished note"] += 1
        return None
    except OSError:
        walk.skipped["unreadable note"] += 1
        walk.unreadable.append(relative_path)
        return None
    if len(data) > MAX_NOTE_BYTES:
        walk.skipped["note over 8 MiB"] += 1
        return None
    note = parse_note(relative_path, data, redact)
    if note.is_lossy:
        walk.skipped["bytes that are no UTF-8, replaced"] += 1
    return note


def parse_note(relative_path: str, data: bytes, redact: Redact = _as_it_is) -> Note:
    """Cut a note's bytes; its title is the front matter's, the first top heading, or the file's name.

    The text is redacted whole: a private key or a private span may be longer than a piece.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = redact(text)[0]
    front_matter = read_front_matter(text)
    split = split_note(text, front_matter.size_chars)
    return Note(
        relative_path=relative_path,
        sha256=hashlib.sha256(data).hexdigest(),
        title=front_matter.title or split.top_heading or PurePosixPath(relative_path).stem,
        tags=front_matter.tags,
        aliases=front_matter.aliases,
        chunks=split.chunks,
        is_lossy=not _is_utf8(data),
    )


def note_root_id(root: Path, home: Path) -> str:
    """Name a root by its absolute path with the home as `[HOME]`, links resolved."""
    return joined_sha256("note-root", homeward(os.path.realpath(root), home))


def note_conversation_id(root_id: str, relative_path: str) -> ConversationId:
    """Name a note by its root and its path below it."""
    return ConversationId(joined_sha256(root_id, relative_path))


def chunk_event_id(heading_path: str, ordinal: int) -> EventId:
    """Name a piece of a note by the headings above it and its place below them."""
    return EventId(joined_sha256(heading_path, str(ordinal)))


class _Walker:
    """One walk over one root, directory by directory, without recursion."""

    def __init__(self, root: Path, excluded: frozenset[str]) -> None:
        self._root = root
        self._excluded = excluded
        self._walk = NoteWalk()
        self._pending: list[tuple[str, ShownFiles | None]] = []

    def walk(self) -> NoteWalk:
        self._pending.append(("", self._shown("")))
        while self._pending:
            directory, shown = self._pending.pop()
            self._list(directory, shown)
        self._walk.paths.sort()
        return self._walk

    def _list(self, directory: str, shown: ShownFiles | None) -> None:
        try:
            with os.scandir(self._root / directory) as listing:
                entries = list(listing)
        except OSError:
            self._walk.skipped["unreadable directory"] += 1
            self._walk.unreadable.append(directory)
            return
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            try:
                self._visit(entry, path, shown)
            except OSError:
                self._walk.skipped["unreadable note"] += 1
                self._walk.unreadable.append(path)

    def _visit(self, entry: os.DirEntry[str], path: str, shown: ShownFiles | None) -> None:
        if entry.is_dir(follow_symlinks=False):
            self._visit_directory(entry, path, shown)
        elif entry.name.endswith(SUFFIX):
            reason = self._objection(entry, path, shown)
            if reason is None:
                self._walk.paths.append(path)
            else:
                self._walk.skipped[reason] += 1
        elif entry.is_symlink() and entry.is_dir():
            self._walk.skipped["symbolic link to a directory"] += 1

    def _visit_directory(self, entry: os.DirEntry[str], path: str, shown: ShownFiles | None) -> None:
        if entry.name.startswith("."):
            self._walk.skipped["hidden directory"] += 1
        elif entry.name in self._excluded or path in self._excluded:
            self._walk.skipped["excluded directory"] += 1
        elif shown is not None and not shown.has_directory(path):
            self._walk.skipped["git-ignored or empty directory"] += 1
        else:
            # A repository inside the repository has rules of its own.
            self._pending.append((path, self._shown(path) if has_git(entry.path) else shown))

    def _objection(self, entry: os.DirEntry[str], path: str, shown: ShownFiles | None) -> str | None:
        """Say why a Markdown file doesn't count; None if it does."""
        if not entry.is_file():
            return "no regular file"
        if entry.is_symlink() and not contains(str(self._root), os.path.realpath(entry.path)):
            return "symbolic link out of the root"
        if shown is not None and not shown.has_file(path):
            return "git-ignored"
        if not _is_utf8(os.fsencode(path)):
            return "name that is no UTF-8"
        return "note over 8 MiB" if entry.stat().st_size > MAX_NOTE_BYTES else None

    def _shown(self, directory: str) -> ShownFiles | None:
        try:
            return shown_files(self._root, directory)
        except Unavailable:
            self._walk.skipped["ignore rules, since git can't be asked"] += 1
            return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
