"""Take in what the mirror of statements and session records has and the feeds don't, as a use-case.

Files may be older than this program, or of another tool.  What they say is checked, redacted and named anew,
and keeps the day on which it was said.  What is here already is left alone, deleted or not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crdt.clock import pack, wall_ms
from crdt.errors import BadInput
from crdt.operations import Operation
from crdt.records import check
from crdt.sessions import SESSION_RECORD, session_key
from crdt.statements import STATEMENT, job_key, render
from node.ballast import refuse_on_low_space
from node.instants import seconds_of
from node.services import mirror, records, statements
from node.services.catalog import Document, Progress
from node.services.level import step
from node.services.mirror import MirrorFile
from node.services.records import Place, Write
from node.services.remember import edge, is_circle
from node.services.requests import Request
from node.services.statement_requests import IngestSynthesisRequest
from retrieval.scope import homeward

if TYPE_CHECKING:
    from crdt.projection_reader import ProjectionReader
    from node.composition import Local

BATCH_FILES = 64
"""So many files are committed together."""
NAMED_MAX = 20
_RECORD_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True)
class _Tally:
    """What became of the files."""

    written: int = 0
    already: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a file amounts to: the creation of its record, and what that takes the place of."""

    operation: Operation
    older: tuple[str, ...]
    place: Place


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Read every file of the mirror; what is malformed is counted and left where it is.

    Raises `DiskFull` where little room is left; what was kept until then is passed over the next time.
    """
    if not isinstance(request, IngestSynthesisRequest):
        raise TypeError(request)
    tally = _Tally()
    paths = list(mirror.files(local.paths))
    report = step(progress, "synthesis", "files")
    for start in range(0, len(paths), BATCH_FILES):
        refuse_on_low_space(local.paths)
        found = _read(local, paths[start : start + BATCH_FILES], tally)
        with records.changing(local) as reader:
            _keep(local, reader, found, tally)
        report(min(start + BATCH_FILES, len(paths)), len(paths))
    return {
        "schemaVersion": 1,
        "files": len(paths),
        "written": tally.written,
        "already": tally.already,
        "skipped": dict(sorted(tally.skipped.items())),
        "unreadable": tally.unreadable[:NAMED_MAX],
    }


def _read(local: Local, paths: Sequence[Path], tally: _Tally) -> dict[str, _Found]:
    """Read some files; records by their ids, each once."""
    found: dict[str, _Found] = {}
    for path in paths:
        try:
            record = _found(local, mirror.read(path), path.stat().st_mtime_ns // 1_000_000)
        except BadInput:
            tally.skipped["malformed"] += 1
        except OSError:
            tally.skipped["unreadable"] += 1
            tally.unreadable.append(path.name)
        else:
            tally.already += record.operation.id in found
            found.setdefault(record.operation.id, record)
    return found


def _keep(local: Local, reader: ProjectionReader, found: dict[str, _Found], tally: _Tally) -> None:
    """Commit what is not there yet, and write the files of what was named anew."""
    known = {view.id: view.space for view in reader.with_ids(list(found))}
    tally.already += len(known)
    tally.written += len(found) - len(known)
    writes: list[Write] = []
    for record in found.values():
        space = known.get(record.operation.id)
        if space is None:
            space = records.space_of(local, record.place)
            writes.append(Write(space=space, operation=record.operation, is_new=True))
        writes.extend(_edges(reader, space, record))
    if writes:
        records.commit(local, writes)
    mirror.put_records(local.paths, reader, list(found))


def _edges(reader: ProjectionReader, space: bytes, record: _Found) -> Iterator[Write]:
    """Give the edges of a record that are not there, deleted ones included, and that close no circle."""
    newer = records.index_record_id(record.operation.type, record.operation.id)
    for older in record.older:
        operation = edge(record.operation.agent, newer, older)
        is_known = bool(reader.with_ids([operation.id]))
        if not is_known and not is_circle(reader, newer, [older]):
            yield Write(space=space, operation=operation, is_new=True)


def _found(local: Local, file: MirrorFile, modified_ms: int) -> _Found:
    """Make the creation of a file's record; raises `BadInput` for what can't be one."""
    clean = local.redactor.redact
    said, _ = statements.redacted(statements.checked(msgspec.to_builtins(file.output)), clean)
    workspace = clean(homeward(file.workspace or "", local.home))[0]
    fields = {name: value for name, value in said.fields(workspace).items() if value != ""}
    about = {name: clean(value)[0] for name, value in _session_fields(file).items()}
    is_session = file.type != STATEMENT.name and "conversation_id" in about
    if is_session:
        fields |= about
    operation = Operation(
        id=session_key(fields) if is_session else job_key(fields),
        type=SESSION_RECORD.name if is_session else STATEMENT.name,
        agent=records.checked_agent(file.agent or "local"),
        set=fields,
        text=render(fields),
        at=pack(_said_ms(file, modified_ms)),
    )
    check(operation, new=True)
    return _Found(
        operation=operation,
        older=tuple(older for older in file.supersedes or () if _RECORD_ID.fullmatch(older)),
        place=Place(project=statements.label_of(workspace) or None, is_private=file.private),
    )


def _session_fields(file: MirrorFile) -> dict[str, str]:
    """Give what a file says of a session; one without a conversation is of none."""
    session = file.session or mirror.SessionPart()
    given = {
        "conversation_id": file.conversation_id,
        "boundary": session.boundary_uuid,
        "source": file.source,
        "host": session.host,
    }
    return {name: value for name, value in given.items() if value}


def _said_ms(file: MirrorFile, modified_ms: int) -> int:
    """Tell when it was said: as the file says, or when it was written; never in the future."""
    said_s = seconds_of(file.authored_at)
    return max(0, min(wall_ms(), modified_ms if said_s is None else int(said_s * 1000)))
