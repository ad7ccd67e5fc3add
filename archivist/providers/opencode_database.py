"""opencode's SQLite database, read beside a running opencode without leaving a trace.

A database in WAL mode that nobody has open is read as immutable: opening it the ordinary way, even read-only,
would make `-wal` and `-shm` files of our own, which another user's opencode could not open.  With a filled
`-wal` file somebody is at work, or was; then it is opened read-only and sees a consistent state.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from archivist.providers.base import Source, SourceUnreadable
from archivist.providers.opencode_parts import About, JsonObject, Turn, about
from archivist.providers.parts import decoded_object
from archivist.providers.walk import readable_name

BUSY_TIMEOUT_S: Final = 5.0
_SESSIONS: Final = "SELECT id, time_updated FROM session ORDER BY id"
_SESSIONS_UNDATED: Final = "SELECT id, 0 FROM session ORDER BY id"
_MESSAGES: Final = "SELECT session_id, COUNT(*), MAX(time_updated) FROM message GROUP BY session_id"
_MESSAGES_UNDATED: Final = "SELECT session_id, COUNT(*), 0 FROM message GROUP BY session_id"
_PARTS: Final = "SELECT session_id, COUNT(*), MAX(time_updated) FROM part GROUP BY session_id"
_PARTS_UNDATED: Final = "SELECT session_id, COUNT(*), 0 FROM part GROUP BY session_id"
_COLUMNS: Final = "SELECT name FROM pragma_table_info(?)"
_ONE_SESSION: Final = "SELECT * FROM session WHERE id = ?"
_IN_TIME: Final = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_IN_ORDER: Final = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
_PARTS_OF: Final = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"


def databases(root: Path) -> list[Path]:
    """List the databases in opencode's directory; a channel's own is `opencode-<channel>.db`."""
    return sorted(path for path in root.glob("opencode*.db") if _is_regular(path))


def session_id(source: Source) -> str:
    """Return the id of the session that a source of `sessions` is."""
    return source.relative_path.partition("/")[2]


def sessions(database: Path, provider: str) -> Iterator[Source]:
    """List a database's sessions by id.

    The fingerprint: how many messages and parts there are, and when the last of them was changed.
    """
    with _opened(database, database.name) as connection:
        counts: dict[str, int] = {}
        changed_ms: dict[str, int] = {}
        pairs = (("message", _MESSAGES, _MESSAGES_UNDATED), ("part", _PARTS, _PARTS_UNDATED))
        for table, dated, undated in pairs:
            query = dated if "time_updated" in _columns(connection, table) else undated
            for name, count, updated in connection.execute(query):
                counts[name] = counts.get(name, 0) + count
                changed_ms[name] = max(changed_ms.get(name, 0), _whole(updated))
        is_dated = "time_updated" in _columns(connection, "session")
        rows = connection.execute(_SESSIONS if is_dated else _SESSIONS_UNDATED).fetchall()
    for name, updated in rows:
        yield Source(
            provider=provider,
            path=database,
            relative_path=f"{readable_name(database.name)}/{name}",
            size_bytes=counts.get(name, 0),
            modified_ns=max(changed_ms.get(name, 0), _whole(updated)) * 1_000_000,
            inode=0,
        )


def turns(source: Source) -> Iterator[Turn]:
    """Give a session's messages with their parts; nothing for a session that is gone."""
    if not _is_regular(source.path):
        return
    name = session_id(source)
    with _opened(source.path, source.relative_path) as connection:
        found = connection.execute(_ONE_SESSION, (name,)).fetchone()
        if found is None:
            return
        session = _about(name, found)
        is_dated = "time_created" in _columns(connection, "message")
        empty = True
        for message_id, data in connection.execute(_IN_TIME if is_dated else _IN_ORDER, (name,)):
            empty = False
            yield _turn(connection, session, message_id, data)
        if empty:
            yield Turn(about=session, message_id="", data={})


def _turn(connection: sqlite3.Connection, session: About, message_id: str, data: object) -> Turn:
    turn = Turn(about=session, message_id=message_id, data={})
    turn.data = _decoded(data, "message", turn)
    for part_id, part in connection.execute(_PARTS_OF, (message_id,)):
        made = _decoded(part, "part", turn)
        if made:
            turn.parts.append((part_id, made))
    return turn


def _decoded(data: object, what: str, turn: Turn) -> JsonObject:
    raw = data if isinstance(data, str | bytes) else b""
    turn.size_bytes += len(raw)
    made = decoded_object(raw)
    if made is None:
        turn.faults.append(f"{what} that is not an object of JSON")
    return made or {}


def _about(name: str, row: sqlite3.Row) -> About:
    """Describe a session from the columns that this version of opencode has."""
    columns = dict(zip(row.keys(), row, strict=True))
    return about(
        name,
        directory=columns.get("directory"),
        parent=columns.get("parent_id"),
        title=columns.get("title"),
    )


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {name for (name,) in connection.execute(_COLUMNS, (table,))}


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _opened(database: Path, name: str) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; any failure, also a change under our hands, is `SourceUnreadable`."""
    try:
        before = _identity(database)
        immutable = not _has_bytes(database.with_name(f"{database.name}-wal"))
        address = f"file:{quote(bytes(database))}?mode=ro{'&immutable=1' if immutable else ''}"
        opening = sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        with closing(opening) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
        if immutable and _identity(database) != before:
            raise SourceUnreadable([name], because="changed while it was read")
    except (sqlite3.Error, OSError) as error:
        raise SourceUnreadable([name], because=f"can't be read: {error}") from error


def _identity(path: Path) -> tuple[int, int, int]:
    found = path.stat(follow_symlinks=False)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
