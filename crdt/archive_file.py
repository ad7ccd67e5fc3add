"""The single-file archive: a manifest line, then one conversation a line.

Lines end at LF and nowhere else.  The manifest's hash covers every byte after the first LF and its count
every line; a reader trusts neither before it has checked both.  A writer leaves room for the manifest at
the start of a temporary file, fills it in when the hash is known, and renames the file into place, 0600.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
LINE_BYTES_MAX = 1 << 30
"""A conversation longer than this is no conversation; reading it would take the machine's memory."""
_MANIFEST_ROOM = 1024
_CHUNK_BYTES = 1 << 20
_STRAY_AGE_S = 3600
"""A temporary file that nobody wrote to for so long was left by a writer that was killed."""


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


def read_manifest(path: Path) -> Manifest:
    """Read and check the first line; raises `ArchiveRefused`, or `NotFound` where there is no file."""
    with _opened(path) as file:
        head = file.readline(MANIFEST_BYTES_MAX)
    try:
        manifest = msgspec.json.decode(head, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ArchiveRefused(f"line 1 of {path.name} is no manifest ({error})") from None
    if manifest.kind != ARCHIVE_KIND:
        raise ArchiveRefused(f"line 1 of {path.name} says kind {manifest.kind[:80]!r}, not {ARCHIVE_KIND!r}")
    if manifest.schema_version not in (1, ARCHIVE_SCHEMA):
        raise ArchiveRefused(
            f"{path.name} has schemaVersion {manifest.schema_version}, known are 1 and {ARCHIVE_SCHEMA}",
            hint="update this program",
        )
    return manifest


def check(path: Path, manifest: Manifest) -> int:
    """Compare the whole file with its manifest before anything of it is used; return its size in bytes."""
    digest, lines, last, size = hashlib.sha256(), 0, b"\n", 0
    with _opened(path) as file:
        size += len(file.readline(MANIFEST_BYTES_MAX))
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            lines += chunk.count(b"\n")
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


def lines(path: Path) -> Iterator[Line]:
    """Walk the conversations of a file."""
    with _opened(path) as file:
        file.readline(MANIFEST_BYTES_MAX)
        number = 1
        while data := file.readline(LINE_BYTES_MAX):
            number += 1
            if not data.endswith(b"\n"):
                raise ArchiveRefused(
                    f"line {number} of {path.name} is longer than {LINE_BYTES_MAX} bytes or cut"
                )
            yield Line(number=number, data=data[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A written archive file."""

    records: int
    content_sha256: str


def write(
    path: Path, conversations: Iterable[bytes | None], *, created_at: datetime | None = None
) -> Written:
    """Write an archive file, whole or not at all; None stands for a conversation that can't be read.

    Such gaps are counted in the manifest, which then says that the file is not complete.
    """
    if path.is_dir():
        raise BadInput(f"{path} is a directory", hint="name the file to write")
    if not path.parent.is_dir():
        raise NotFound(f"{path.parent} is no directory", hint="make it first")
    temporary = path.with_name(f"{_temporary_prefix(path)}{os.getpid()}-{secrets.token_hex(8)}")
    with faults(path.name):
        _sweep(path)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                written = _fill(file, conversations, _instant(created_at or datetime.now(UTC)))
            temporary.replace(path)
            fsync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    return written


def _fill(file: BinaryIO, conversations: Iterable[bytes | None], created_at: str) -> Written:
    """Write the lines behind a blank first one, then the manifest over its blanks; durable on return."""
    digest, records, skipped = hashlib.sha256(), 0, 0
    file.write(b" " * (_MANIFEST_ROOM - 1) + b"\n")
    for conversation in conversations:
        if conversation is None:
            skipped += 1
            continue
        line = conversation + b"\n"
        digest.update(line)
        file.write(line)
        records += 1
    manifest = Manifest(
        kind=ARCHIVE_KIND,
        schema_version=ARCHIVE_SCHEMA,
        created_at=created_at,
        records=records,
        content_sha256=digest.hexdigest(),
        complete=not skipped,
        skipped=skipped,
    )
    file.seek(0)
    file.write(encode_canonical(manifest))
    file.flush()
    os.fsync(file.fileno())
    return Written(records=records, content_sha256=digest.hexdigest())


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


def _opened(path: Path) -> BinaryIO:
    try:
        if path.is_dir():
            raise BadInput(f"{path} is a directory, not an archive file", hint="name the file")
        return path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="check the path") from None
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror})", hint="check its permissions") from None
