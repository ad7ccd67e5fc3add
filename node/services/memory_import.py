"""Take in shared memory from a file, as a use-case.

The whole file is judged before anything of it is written.  What is here already, under its own name or as an
import, is passed over, so that the same file twice, or the file of this very state, changes nothing.  The
rest is signed by this node and says whose it was: an import is no proof, and a directive that comes this way
has to be accepted like any other that was not written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crdt import archive_file
from crdt.clock import pack, wall_ms
from crdt.errors import ArchiveRefused, BadInput, NotAllowed, NotFound
from crdt.record_rights import MODERATE
from node.ballast import refuse_on_low_space
from node.services import records
from node.services.catalog import Document, Progress
from node.services.memory_file import (
    FORM,
    LINE_BYTES_MAX,
    OperationLine,
    SpaceLine,
    bytes_of,
    decode_line,
    operation_of,
)
from node.services.memory_requests import MemoryImport
from node.services.records import Write
from node.services.requests import Request

if TYPE_CHECKING:
    from node.composition import Local

BATCH_LINES = 500
BATCH_BYTES_MAX = 8 << 20
"""What is held in memory at once, as it will be signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """An operation of the file and the space that it goes to here."""

    space: bytes
    line: OperationLine
    size: int

    @property
    def record(self) -> tuple[bytes, str]:
        return self.space, self.line.id


@dataclass(slots=True)
class _Report:
    """What was found in the file and what was new."""

    records: int = 0
    operations: int = 0
    added: int = 0
    last: tuple[bytes, str] | None = None

    def count(self, item: _Placed) -> None:
        """Count an operation, and its record where the one before was about another."""
        self.records += item.record != self.last
        self.operations += 1
        self.last = item.record


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Import; `{schemaVersion, records, operations, added, unchanged}`.

    Raises `ArchiveRefused` that names the line, and nothing is written then; `DiskFull` where little room is
    left, and the same file goes on where that was.
    """
    if not isinstance(request, MemoryImport):
        raise TypeError(request)
    refuse_on_low_space(local.paths)
    path = Path(request.path)
    manifest = archive_file.read_manifest(path, FORM)
    for number, _ in enumerate(_placed(local, path)):
        if number % BATCH_LINES == 0:
            progress({"phase": "check", "done": number, "total": manifest.records, "unit": "lines"})
    archive_file.check(path, manifest, lambda: progress({}))
    report = _Report()
    try:
        for batch in _batches(_placed(local, path)):
            refuse_on_low_space(local.paths)
            _take(local, batch, report)
            progress(
                {"phase": "import", "done": report.operations, "total": manifest.records, "unit": "lines"}
            )
    finally:
        # What was taken in until somebody stopped it is kept, and is to be seen.
        records.follow(local)
    return {
        "schemaVersion": 1,
        "records": report.records,
        "operations": report.operations,
        "added": report.added,
        "unchanged": report.operations - report.added,
    }


def _placed(local: Local, path: Path) -> Iterator[_Placed]:
    """Read the operations of a file, each checked as if it were written now; raises `ArchiveRefused`."""
    space: bytes | None = None
    for line in archive_file.lines(path, LINE_BYTES_MAX):
        try:
            said = decode_line(line.data)
            if isinstance(said, SpaceLine):
                space = _space_here(local, said)
                continue
            item = _item(local, space, said)
        except BadInput as error:
            raise ArchiveRefused(
                f"line {line.number} of {path.name}: {error.detail}", hint=error.hint
            ) from error
        yield item


def _space_here(local: Local, said: SpaceLine) -> bytes:
    """Choose where a space's records go: to the same one, else to this node's of that kind or label."""
    rosters = local.feeds.spaces()
    if bytes_of(said.id) in rosters:
        return bytes_of(said.id)
    if said.kind in ("home", "private"):
        return local.feeds.home() if said.kind == "home" else local.feeds.private()
    named = [
        space for space, roster in rosters.items() if (roster.kind, roster.label) == ("space", said.label)
    ]
    if len(named) != 1:
        raise NotFound(
            f"there is {'no' if not named else 'more than one'} space `{said.label}` here",
            hint=f"run `atrium spaces create {said.label}` first, and import again",
        )
    return named[0]


def _item(local: Local, space: bytes | None, line: OperationLine) -> _Placed:
    """Judge an operation as if it were written now."""
    if space is None:
        raise BadInput("no line before it says which space it belongs to")
    body = records.body_of(local.redactor, operation_of(line, {}), is_new=not line.base)
    # What an edit of a document inserts can't be replaced in it, only be refused.
    inserted = (line.update or b"").decode("utf-8", "ignore")
    if local.redactor.redact(inserted)[1]:
        raise BadInput("an edit of a document holds a secret", hint="take it out where it was exported")
    return _Placed(space=space, line=line, size=len(body))


def _batches(items: Iterator[_Placed]) -> Iterator[list[_Placed]]:
    batch: list[_Placed] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.size
        if len(batch) >= BATCH_LINES or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _take(local: Local, batch: Sequence[_Placed], report: _Report) -> None:
    """Write what of a batch is not here yet, in rounds: an operation comes after those that it names."""
    for item in batch:
        report.count(item)
    with local.records_lock:
        local.projector.catch_up()
        known = _known(local, batch)
        missing = [item for item in batch if not _is_here(local, item, known)]
        _refuse_forbidden(local, {item.space for item in missing})
        report.added += len(missing)
        while missing:
            ready, missing = _ready(missing)
            writes = [
                Write(
                    space=item.space,
                    operation=operation_of(item.line, known[item.record]),
                    is_new=not item.line.base,
                )
                for item in ready
            ]
            for item, committed in zip(ready, records.write(local, writes), strict=True):
                known[item.record][item.line.source] = committed.entry.hash


def _known(local: Local, batch: Sequence[_Placed]) -> dict[tuple[bytes, str], dict[str, bytes]]:
    """Give, for each record of a batch, the first hashes of its operations with those that they have here."""
    known: dict[tuple[bytes, str], dict[str, bytes]] = {item.record: {} for item in batch}
    with local.projection() as reader:
        for view in reader.with_ids([identity for _, identity in known]):
            for one in reader.operations(view) if (view.space, view.id) in known else ():
                known[view.space, view.id][(one.operation.source or one.hash).hex()] = one.hash
    return known


def _is_here(local: Local, item: _Placed, known: dict[tuple[bytes, str], dict[str, bytes]]) -> bool:
    """Tell whether an operation counts here, or its signed original is here at least."""
    source = item.line.source
    return source in known[item.record] or local.feeds.entry(bytes_of(source)) is not None


def _refuse_forbidden(local: Local, spaces: set[bytes]) -> None:
    """Raise `NotAllowed` where this node may not say what others said: it would count for nobody."""
    own = local.feeds.author()
    for space in spaces:
        roster = local.feeds.roster(space)
        if not roster.may(own, MODERATE, pack(wall_ms())):
            raise NotAllowed(
                f"this node may not moderate the space `{roster.label}`, so it can't import there"
            )


def _ready(missing: Sequence[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    """Split off what names nothing that is still missing; of one record, nothing overtakes another."""
    unwritten: dict[tuple[bytes, str], set[str]] = {}
    for item in missing:
        unwritten.setdefault(item.record, set()).add(item.line.source)
    blocked: set[tuple[bytes, str]] = set()
    ready: list[_Placed] = []
    later: list[_Placed] = []
    for item in missing:
        if item.record in blocked or item.line.refers_to & unwritten[item.record]:
            blocked.add(item.record)
            later.append(item)
        else:
            ready.append(item)
    return (ready, later) if ready else (later, [])
