"""The single-file archive: a manifest line, then one conversation a line.

Shared memory travels in a file of the same form and another kind.

Lines end at LF and nowhere else.  The manifest's hash covers every byte after the first LF and its count
every line; a reader trusts neither before it has checked both.  A writer leaves room for the manifest at
the start of a temporary file, fills it in when the hash is known, and renames the file into place, 0600.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from crdt.canonical import encode_canonical
from crdt.errors import ArchiveRefused, BadInput, NotFound
from crdt.events import ARCHIVE_KIND, ARCHIVE_SCHEMA
from crdt.sqlite import faults, fsync_directory

MANIFEST_BYTES_MAX = 64 << 10
LINE_BYTES_MAX = 256 << 20
"""A conversation longer than this is none that anybody had; taking it in would need over a gigabyte."""
_MANIFEST_ROOM = 1024
_CHUNK_BYTES = 1 << 20
_STRAY_AGE_S = 3600
"""A temporary file that nobody wrote to for so long was left by a writer that was killed."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a file holds, as its manifest says it, and the newest schema of that."""

    kind: str
    schema_version: int


ARCHIVE = Form(ARCHIVE_KIND, ARCHIVE_SCHEMA)


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The first line of an archive file."""

    kind: str
    schema_version: int
    created_at: str | None = None
    records: int
    content_sha256: str
    complete: bool = True
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line after the manifest; `number` counts the manifest as line 1."""

    number: int
    data: bytes


def read_manifest(path: Path, form: Form = ARCHIVE) -> Manifest:
    """Read and check the first line; raises `ArchiveRefused`, or `NotFound` where there is no file."""
    with opened(path) as file:
        head = file.readline(MANIFEST_BYTES_MAX)
    try:
        manifest = msgspec.json.decode(head, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ArchiveRefused(f"line 1 of {path.name} is no manifest ({error})") from None
    if manifest.kind != form.kind:
        raise ArchiveRefused(
            f"line 1 of {path.name} says kind {manifest.kind[:80]!r}, not {form.kind!r}",
            hint="`atrium ingest` reads archives, `atrium import` shared memory",
        )
    if manifest.schema_version not in (1, form.schema_version):
        raise ArchiveRefused(
            f"{path.name} has schemaVersion {manifest.schema_version}, known are 1 and {form.schema_version}",
            hint="update this program",
        )
    return manifest


def check(path: Path, manifest: Manifest, tick: Callable[[], None] = lambda: None) -> int:
    """Compare the whole file with its manifest before anything of it is used; return its size in bytes.

    `tick` is called about every megabyte and may raise, to end it.  A line beyond the limit ends it at once.
    """
    digest, lines, last, size, unended = hashlib.sha256(), 0, b"\n", 0, 0
    with opened(path) as file:
        size += len(file.readline(MANIFEST_BYTES_MAX))
        while chunk := file.read(_CHUNK_BYTES):
            tick()
            digest.update(chunk)
            lines += chunk.count(b"\n")
            unended = len(chunk) - chunk.rfind(b"\n") - 1 + (0 if b"\n" in chunk else unended)
            if unended > LINE_BYTES_MAX:
                raise _too_long(path, lines + 2, LINE_BYTES_MAX)
            last = chunk[-1:]
            size += len(chunk)
    if digest.hexdigest() != manifest.content_sha256:
        raise ArchiveRefused(
            f"the hash of {path.name} is not the one in its manifest: the file was changed or cut"
        )
    if last != b"\n":
        raise ArchiveRefused(f"the last record of {path.name} has no line end: the file was cut")
    if lines != manifest.records:
        raise ArchiveRefused(f"{path.name} has {lines} records, its manifest says {manifest.records}")
    return size


def lines(path: Path, bytes_max: int | None = None) -> Iterator[Line]:
    """Walk the lines after the manifest, the conversations; raises `ArchiveRefused` for one too long."""
    limit = bytes_max or LINE_BYTES_MAX
    with opened(path) as file:
        file.readline(MANIFEST_BYTES_MAX)
        number = 1
        while data := file.readline(limit):
            number += 1
            if not data.endswith(b"\n"):
                raise _too_long(path, number, limit)
            yield Line(number=number, data=data[:-1])


def _too_long(path: Path, number: int, limit: int) -> ArchiveRefused:
    return ArchiveRefused(f"line {number} of {path.name} is longer than {limit} bytes or cut")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A written archive file; `skipped` counts the conversations that were left out."""

    records: int
    skipped: int
    content_sha256: str


def write(
    path: Path,
    conversations: Iterable[bytes | None],
    *,
    created_at: datetime | None = None,
    form: Form = ARCHIVE,
) -> Written:
    """Write an archive file, whole or not at all; None stands for a conversation that can't be read.

    Such gaps, and conversations that no reader would take, are counted in the manifest, which then says that
    the file is not complete.  Only a regular file is replaced, never a device that happens to have the name.
    """
    with replacing(path) as file:
        return _fill(file, conversations, form, _instant(created_at or datetime.now(UTC)))


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write that takes a name once it is whole and durable, and no name if that fails."""
    _refuse_target(path)
    temporary = path.with_name(f"{_temporary_prefix(path)}{os.getpid()}-{secrets.token_hex(8)}")
    with faults(path.name):
        _sweep(path)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            fsync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe would be read once and is needed several times."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="check the path") from None
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror})", hint="check its permissions") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
    raise BadInput(f"{path} is {what}, not an archive file", hint="name the file")


def _fill(file: BinaryIO, conversations: Iterable[bytes | None], form: Form, created_at: str) -> Written:
    """Write the lines behind a blank first one, then the manifest over its blanks."""
    digest, records, skipped = hashlib.sha256(), 0, 0
    file.write(b" " * (_MANIFEST_ROOM - 1) + b"\n")
    for conversation in conversations:
        if conversation is None or len(conversation) >= LINE_BYTES_MAX:
            skipped += 1
            continue
        line = conversation + b"\n"
        digest.update(line)
        file.write(line)
        records += 1
    manifest = Manifest(
        kind=form.kind,
        schema_version=form.schema_version,
        created_at=created_at,
        records=records,
        content_sha256=digest.hexdigest(),
        complete=not skipped,
        skipped=skipped,
    )
    file.seek(0)
    file.write(encode_canonical(manifest))
    return Written(records=records, skipped=skipped, content_sha256=digest.hexdigest())


def _refuse_target(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise NotFound(f"{path.parent} is no directory", hint="make it first") from None
        return
    except OSError as error:
        raise BadInput(f"{path} can't be written ({error.strerror})", hint="name another file") from None
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise BadInput(f"{path} is {what}", hint="name the file to write")


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.new-"


def _sweep(path: Path) -> None:
    """Remove what killed writers of the same file left beside it."""
    before_s = time.time() - _STRAY_AGE_S
    prefix = _temporary_prefix(path)
    with os.scandir(path.parent) as entries:
        strays = [entry for entry in entries if entry.name.startswith(prefix)]
    for stray in strays:
        with suppress(FileNotFoundError):
            if stray.stat(follow_symlinks=False).st_mtime < before_s:
                Path(stray.path).unlink()


def _instant(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
