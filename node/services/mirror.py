"""The mirror: one JSON file for each statement and session record, for tools that know nothing of feeds.

It is derived: a file is written after the record is durable, holds what the record holds, and can be
deleted.  What another tool left there may be older than this program: absent members are made up for, but
what is there must be of the right type.  Files are named by the record's id, and private.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crdt.clock import milliseconds_of
from crdt.edges import SUPERSEDES
from crdt.errors import BadInput
from crdt.projection_filters import RecordFilter
from crdt.records import RecordState
from crdt.statements import SAID
from node.instants import iso_ms
from node.paths import DIRECTORY_MODE, FILE_MODE, StatePaths
from node.services.records import index_record_id
from node.services.statements import EPISODES

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader, RecordView

FILE_BYTES_MAX = 2 << 20
"""Far more than the largest statement; what is larger is none."""
PAGE_RECORDS = 200
_NAME = re.compile(r"[0-9a-f]{32}\.json")
_ENCODER = msgspec.json.Encoder()


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says; `statements.checked` judges it."""

    title: str
    summary: str
    facts: list[str] = []
    open_ends: list[str] = []


class SessionPart(msgspec.Struct, frozen=True, kw_only=True):
    """Up to where of a session, and on which machine."""

    boundary_uuid: str | None = None
    host: str | None = None


class MirrorFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the mirror as it is read; only `output` has to be there."""

    output: Said
    type: str | None = None
    workspace: str | None = None
    agent: str | None = None
    authored_at: str | None = None
    conversation_id: str | None = None
    source: str | None = None
    session: SessionPart | None = None
    supersedes: list[str] | None = None
    private: bool = False


_DECODER = msgspec.json.Decoder(MirrorFile)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """A record for the mirror; `supersedes` has record ids of the index."""

    state: RecordState
    supersedes: tuple[str, ...] = ()
    is_private: bool = False


def put(paths: StatePaths, mirrored: Mirrored) -> bool:
    """Write a record's file, or remove that of a deleted record; False where there can be none.

    Ids come from other nodes too, and one that is no name of a file here has no file.  A disk that does not
    let us write is no reason for a durable write to fail.
    """
    path = paths.records_mirror / f"{mirrored.state.id}.json"
    if not _NAME.fullmatch(f"{mirrored.state.id}.json"):
        return False
    try:
        if mirrored.state.deleted:
            path.unlink(missing_ok=True)
        else:
            _replace(path, _ENCODER.encode(document_of(mirrored)) + b"\n")
    except OSError:
        return False
    return True


def put_records(paths: StatePaths, reader: ProjectionReader, keys: Sequence[str]) -> int:
    """Bring the files of some records level with the projection; return how many could be written.

    Of a record in several spaces the shared one is shown; it is private only where nothing else is.
    """
    chosen: dict[str, RecordView] = {}
    for view in sorted(reader.with_ids(keys), key=_preference, reverse=True):
        chosen[view.id] = view
    older: dict[str, list[str]] = {}
    sources = {index_record_id(view.type, key): key for key, view in chosen.items()}
    for edge in reader.edges_from(list(sources), SUPERSEDES):
        older.setdefault(sources[edge.source], []).append(edge.target)
    return sum(
        put(
            paths,
            Mirrored(state=view.state, supersedes=tuple(older.get(key, ())), is_private=_is_private(view)),
        )
        for key, view in chosen.items()
    )


def put_every_record(paths: StatePaths, reader: ProjectionReader) -> int:
    """Write the files of all statements and session records, and remove those of deleted ones."""
    wanted = RecordFilter(types=EPISODES, include_deleted=True)
    written, cursor = 0, None
    while True:
        page = reader.list_records(wanted, limit=PAGE_RECORDS, cursor=cursor)
        written += put_records(paths, reader, [view.id for view in page.records])
        cursor = page.cursor
        if cursor is None:
            return written


def document_of(mirrored: Mirrored) -> dict[str, object]:
    """Give what a record's file holds."""
    state = mirrored.state
    fields = state.fields
    document: dict[str, object] = {
        "schemaVersion": 1,
        "type": state.type,
        "job_key": state.id,
        "record_id": index_record_id(state.type, state.id),
        "workspace": fields.get("workspace"),
        "project": fields.get("project"),
        "agent": state.agent,
        "authored_at": iso_ms(milliseconds_of(state.created_hlc)),
        "supersedes": sorted(mirrored.supersedes),
        "private": mirrored.is_private,
        "output": {name: fields.get(name) or _absent(name) for name in SAID},
    }
    if state.type == "session-record":
        document |= {
            "conversation_id": fields.get("conversation_id"),
            "source": fields.get("source"),
            "session": {"boundary_uuid": fields.get("boundary"), "host": fields.get("host")},
        }
    return document


def files(paths: StatePaths) -> Iterator[Path]:
    """List the files that can be records, by name; other names are none of ours."""
    try:
        names = sorted(entry.name for entry in os.scandir(paths.records_mirror))
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (paths.records_mirror / name for name in names if _NAME.fullmatch(name))


def read(path: Path) -> MirrorFile:
    """Read a file; raises `BadInput` for what is no record, and `OSError` where it can't be read."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
        raise BadInput(f"{path.name} is no file of a record")
    with path.open("rb") as file:
        data = file.read(FILE_BYTES_MAX)
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path.name}: {error}") from error


def _preference(view: RecordView) -> tuple[bool, bool, bytes]:
    return view.state.deleted, _is_private(view), view.space


def _is_private(view: RecordView) -> bool:
    return view.space_kind == "private"


def _absent(name: str) -> object:
    return [] if name in ("facts", "open_ends") else ""


def _replace(path: Path, data: bytes) -> None:
    """Put a file in its place whole, unless it has these bytes already."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f"{path.name}.new-{os.getpid()}-{threading.get_ident()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
