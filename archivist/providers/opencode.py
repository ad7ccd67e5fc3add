"""opencode: sessions in `opencode.db` (SQLite), or as JSON files below `storage` in older versions.

Both hold the same: a session has messages, a message has parts, each part is an object with a type.  Text is
a message (metadata where the program wrote it), reasoning is reasoning, a tool part is a tool-call and, once
it ended, a tool-result; a file is metadata.  Steps, snapshots, patches and the like are counted by name.

Each session is a source.  Parts change while an answer streams in, so a session that changed is read whole
again: the same parts have the same raw ids, and capture takes what is new or different.  A database's
session wins over files of the same session, which opencode leaves behind when it moves them.

Raw ids: the part's id; `<part id>#1` for the result of a tool part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from archivist.providers import opencode_database, opencode_files
from archivist.providers.base import Cursor, Increment, Provider, Source, SourceUnreadable
from archivist.providers.opencode_parts import Conversation, Turn
from archivist.providers.track import Track

INCREMENT_BYTES: Final = 4 << 20


class Opencode:
    """The adapter of opencode."""

    name = "opencode"

    def default_roots(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Name `opencode` in XDG_DATA_HOME, else in `~/.local/share`."""
        chosen = environ.get("XDG_DATA_HOME", "").strip()
        return [(Path(chosen).expanduser() if chosen else home / ".local" / "share") / "opencode"]

    def sources(self, root: Path) -> Iterator[Source]:
        """List the sessions of the databases, then those that only files have."""
        unreadable: list[str] = []
        known: set[str] = set()
        for database in opencode_database.databases(root):
            try:
                for source in opencode_database.sessions(database, self.name):
                    known.add(opencode_database.session_id(source))
                    yield source
            except SourceUnreadable as error:
                unreadable += error.names
        try:
            for source in opencode_files.sessions(root, self.name):
                if source.path.stem not in known:
                    yield source
        except SourceUnreadable as error:
            unreadable += error.names
        if unreadable:
            raise SourceUnreadable(unreadable)

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read a session whole, unless it has the cursor's fingerprint."""
        fingerprint = (source.size_bytes, source.modified_ns, source.inode)
        if cursor is not None and fingerprint == (cursor.size_bytes, cursor.modified_ns, cursor.inode):
            return
        is_file = source.path.suffix == ".json"
        turns = opencode_files.turns(source) if is_file else opencode_database.turns(source)
        yield from _increments(source, turns, rewritten=cursor is not None)


PROVIDER: Final[Provider] = Opencode()


def _increments(source: Source, turns: Iterator[Turn], *, rewritten: bool) -> Iterator[Increment]:
    conversation = Conversation(Track({}, source.relative_path))
    increment = Increment(cursor=Cursor(), rewritten=rewritten)
    conversation.track.begin(increment)
    read = False
    for turn in turns:
        read = True
        conversation.take(turn)
        increment.bytes_read += turn.size_bytes
        if increment.bytes_read >= INCREMENT_BYTES:
            conversation.track.finish()
            yield increment
            increment = Increment(cursor=Cursor(), rewritten=rewritten)
            conversation.track.begin(increment)
    if not read:
        return
    conversation.track.finish()
    # Only now, when all was read, may the cursor say so.
    increment.cursor = Cursor(
        size_bytes=source.size_bytes, modified_ns=source.modified_ns, inode=source.inode
    )
    yield increment
