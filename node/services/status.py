"""Tell how a state directory stands: counts, names and instants, never a text or a path.

Without an archive everything is zero and the digests are those of nothing.  Where there is an archive and
no index, the digests are None: they are not known, and must not look like those of an empty node.

In a process that stays, what was counted is remembered for as long as nothing changed, since the digests
of a million records take seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from crdt.clock import milliseconds_of
from crdt.errors import Damaged, IndexUnavailable, OlderVersion, Unavailable
from crdt.sqlite import faults
from node.instants import StampInvalid, at_and_age, iso, read_stamp, seconds_of
from node.paths import FILE_MODE, StatePaths
from node.services.catalog import Document, Progress
from node.services.requests import Request, StatusRequest
from node.state import refuse_doubtful
from node.view import reading
from retrieval.index_health import Contents, contents, one_state, revision

if TYPE_CHECKING:
    from crdt.archive import Archive
    from node.composition import Local

PUBLISHED = "refresh.json"
STRAY_AGE_S = 60.0
"""An unfinished document of another process that is older than this was left by a crash."""
REMEMBERED_MAX = 16
_NOTHING = hashlib.sha256().hexdigest()
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTotals:
    """What the archive holds.  `size_bytes` is what it takes on disk, `newest_s` the last entry's instant."""

    size_bytes: int = 0
    segments: int = 0
    newest_s: float | None = None


def handle(local: Local, request: Request, progress: Progress) -> Document:  # noqa: ARG001 - the common shape
    """Give the document of RETRIEVAL.md 7, and with `publish` also write it to `status/refresh.json`."""
    if not isinstance(request, StatusRequest):
        raise TypeError(request)
    with reading(local) as view:
        document = describe(view, time.time())
    if request.publish:
        refuse_doubtful(local.config.state)
        publish(local.paths, document)
    return document


def describe(view: Local, now_s: float) -> Document:
    """Count what there is; `view` is only read.  Raises `Damaged` or `Unavailable` where that fails."""
    found, totals = _contents(view), _totals(view)
    is_known = found is not None or totals.newest_s is None
    unknown = _NOTHING if is_known else None
    by_source = dict(sorted(found.by_source.items())) if found else {}
    return {
        "schemaVersion": 1,
        "writtenAt": iso(now_s),
        "digest": found.digest if found else unknown,
        "notes_digest": found.notes_digest if found else unknown,
        "projection_digest": _projection_digest(view),
        "records": {"total": sum(by_source.values()), "bySource": by_source},
        "archive": {
            **at_and_age(totals.newest_s, now_s),
            "bytes": totals.size_bytes,
            "segments": totals.segments,
            "conversations": found.conversations if found else (0 if is_known else None),
        },
        "refresh": at_and_age(_last_refresh_s(view.paths, now_s), now_s),
        "content": at_and_age(seconds_of(found.newest_authored_at) if found else None, now_s),
        "populations": [],
        "mesh": {"peers": 0, "lag": None},
        "captures": {"pending": 0, "oldest": None},
    }


def publish(paths: StatePaths, document: Document) -> None:
    """Write the document whole or not at all, readable by its owner alone, and sweep what crashes left."""
    paths.create()
    target = paths.status_dir / PUBLISHED
    temporary = target.with_name(f"{PUBLISHED}.new-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with faults(f"status/{PUBLISHED}"):
        try:
            with os.fdopen(os.open(temporary, flags, FILE_MODE), "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sweep(paths.status_dir)


def _sweep(folder: Path) -> None:
    before_s = time.time() - STRAY_AGE_S
    for stray in folder.glob(f"{PUBLISHED}.new-*"):
        try:
            if stray.stat().st_mtime < before_s:
                stray.unlink()
        except FileNotFoundError:
            # Another process finished or swept it just now.
            continue


def _contents(view: Local) -> Contents | None:
    """Count the index, None where there is none that this program reads."""
    try:
        with view.reader() as reader, one_state(reader):
            return _remembered(("index", view.paths.root), revision(reader), lambda: contents(reader))
    except IndexUnavailable:
        return None


def _projection_digest(view: Local) -> str | None:
    """Give the digest of the records; None where they are not laid out, or not up to the last of them."""
    try:
        head = view.feeds.head()
    except IndexUnavailable:
        return _NOTHING
    try:
        with view.projection() as reader:
            return reader.digest().digest if reader.watermark() >= head else None
    except (Unavailable, Damaged):
        return None


def _totals(view: Local) -> ArchiveTotals:
    try:
        archive = view.archive
    except OlderVersion:
        # Zeros would look as if everything were lost.
        raise
    except IndexUnavailable:
        return ArchiveTotals()
    newest = max((logged.hlc for logged in archive.log.since(archive.log.head() - 1)), default=None)
    return _remembered(("archive", view.paths.root), newest, lambda: _count(archive, newest))


def _count(archive: Archive, newest: int | None) -> ArchiveTotals:
    segments = archive.current().values()
    waiting_bytes = sum(size_bytes for _, _, size_bytes in archive.log.tails())
    return ArchiveTotals(
        size_bytes=sum(segment.stored_bytes for segment in segments) + waiting_bytes,
        segments=len(segments),
        newest_s=None if newest is None else milliseconds_of(newest) / 1000,
    )


def _last_refresh_s(paths: StatePaths, now_s: float) -> float | None:
    try:
        return read_stamp(paths.last_refresh, now_s)
    except StampInvalid:
        # A stamp of no meaning is no instant; doctor says what is wrong with it.
        return None


_memory: dict[tuple[str, Path], tuple[object, object]] = {}


def _remembered(what: tuple[str, Path], state: object, make: Callable[[], T]) -> T:
    """Give what was made of this state before, else make it.  Threads at worst make it twice."""
    known = _memory.get(what)
    if known is not None and known[0] == state:
        return known[1]  # type: ignore[return-value]
    made = make()
    if len(_memory) >= REMEMBERED_MAX:
        _memory.clear()
    _memory[what] = (state, made)
    return made
