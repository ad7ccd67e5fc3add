"""What a backup holds, how it is written and how it is checked.

A backup is a directory.

    backup.json        names every file with its hash, and the copy that it is about; written last, at once
    copy-3/            a consistent copy of each database, and what a person wrote by hand
    segments/ab/…      the segments that the copied feeds name, by their hash, shared by all copies

A later backup to the same directory makes the next copy beside the present one and only then turns
`backup.json` to it, so that there is a whole backup at every moment.  Neither the node's key nor the marker
of its incarnation is in it, unless the key is asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from crdt.errors import BadInput, Damaged
from crdt.sqlite import fsync_directory
from node.paths import DIRECTORY_MODE, FILE_MODE

MANIFEST = "backup.json"
KIND = "atrium-backup"
VERSION = 1
SEGMENTS = "canonical/segments/"
COPY = re.compile(r"copy-[0-9]{1,9}")
_MANIFEST_BYTES_MAX = 256 << 20
_CHUNK_BYTES = 1 << 20
_A_NAME = re.compile(
    r"config\.toml|workspace-aliases\.json|identity\.key|canonical/feeds\.db|local/local\.db"
    r"|canonical/segments/[0-9a-f]{2}/[0-9a-f]{64}\.jsonl\.zst"
    r"|synthesis/queries/[\w.-]{1,80}|spool/[\w.-]{1,120}"
)
"""Everything that a backup may hold; a name that is anything else would be put somewhere by a restore."""


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`backup.json`: what was copied, when, by which node, and the SHA-256 of each file's bytes.

    `files` have the names that they have below the state directory.
    """

    kind: str
    schema_version: int
    made_at: str
    node: str | None
    copy: str
    files: dict[str, str]


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Make a backup whole: its manifest appears at once and durably."""
    temporary = folder / f"{MANIFEST}.new"
    data = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    with open_private(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / MANIFEST)
    fsync_directory(folder)


def read_manifest(folder: Path) -> BackupManifest:
    """Read the manifest of a backup; raises `BadInput` for a directory that is none."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            data = file.read(_MANIFEST_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(
            f"{folder} is no backup, or one that did not end: it has no {MANIFEST}",
            hint="name a directory that `atrium backup` has written",
        ) from error
    try:
        manifest = msgspec.json.decode(data, type=BackupManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} can't be read ({error})", hint="use another backup") from error
    if manifest.kind != KIND or manifest.schema_version != VERSION:
        raise BadInput(f"{path} is of another kind or version", hint="update this program")
    strange = next((name for name in manifest.files if not _A_NAME.fullmatch(name)), None)
    if COPY.fullmatch(manifest.copy) is None:
        strange = manifest.copy
    if strange is not None:
        raise BadInput(f"{path} names a file that no backup has: {strange[:80]!r}", hint="use another backup")
    return manifest


def place_of(folder: Path, copy: str, name: str) -> Path:
    """Tell where in a backup a file of the state lies."""
    if name.startswith(SEGMENTS):
        return folder / name.removeprefix("canonical/")
    return folder / copy / name


def copy_file(source: Path, target: Path) -> str:
    """Copy bytes durably, mode 0600, and give their SHA-256; an existing target is replaced."""
    target.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.new")
    hashed = hashlib.sha256()
    with source.open("rb") as origin, open_private(temporary) as copy:
        while chunk := origin.read(_CHUNK_BYTES):
            hashed.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    temporary.replace(target)
    fsync_directory(target.parent)
    return hashed.hexdigest()


def hash_file(path: Path) -> str:
    """Hash the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Compare every file with its hash; raises `Damaged` that names the first that differs."""
    for name, sha256 in sorted(files.items()):
        path = folder / name
        try:
            is_same = path.is_file() and not path.is_symlink() and hash_file(path) == sha256
        except OSError as error:
            raise Damaged(f"{path} can't be read: {error.strerror}", hint="use another backup") from error
        if not is_same:
            raise Damaged(f"{path} is not the file that was backed up", hint="use another backup")


def open_private(path: Path) -> BinaryIO:
    """Open a file of mode 0600 for writing, emptied if it is there."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, FILE_MODE), "wb")
