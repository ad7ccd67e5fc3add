"""The parts of a backup: files copied durably and privately, a manifest that is whole or not there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from crdt.errors import BadInput, Damaged
from node.backup_files import (
    KIND,
    MANIFEST,
    BackupManifest,
    check_files,
    copy_file,
    read_manifest,
    write_manifest,
)

NAME = "canonical/feeds.db"
EMPTY = BackupManifest(
    kind=KIND, schema_version=1, made_at="2026-01-01T00:00:00Z", node=None, copy="copy-1", files={}
)


def test_a_copy_has_the_bytes_their_hash_and_a_private_mode(tmp_path: Path) -> None:
    data = bytes(range(256)) * 9_000
    (tmp_path / "source").write_bytes(data)
    target = tmp_path / "backup" / NAME
    assert copy_file(tmp_path / "source", target) == hashlib.sha256(data).hexdigest()
    assert target.read_bytes() == data
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == [target.name], "nothing unfinished stays"


def test_a_link_that_lies_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"new")
    (tmp_path / "victim").write_bytes(b"old")
    (tmp_path / "target.new").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        copy_file(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "victim").read_bytes() == b"old"


def test_files_are_compared_by_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "canonical").mkdir()
    (tmp_path / NAME).write_bytes(b"feeds")
    sha256 = hashlib.sha256(b"feeds").hexdigest()
    check_files(tmp_path, {NAME: sha256})
    (tmp_path / NAME).write_bytes(b"feedz")
    with pytest.raises(Damaged, match="not the file"):
        check_files(tmp_path, {NAME: sha256})
    (tmp_path / NAME).unlink()
    with pytest.raises(Damaged):
        check_files(tmp_path, {NAME: sha256})


def test_a_link_is_no_file_of_a_backup(tmp_path: Path) -> None:
    (tmp_path / "canonical").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"feeds")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Damaged):
        check_files(tmp_path, {NAME: hashlib.sha256(b"feeds").hexdigest()})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not json",
        '{"kind": "other"}',
        '{"kind": 3}',
        "\xff",
        '{"kind": "atrium-backup", "more": 1}',
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text, "latin-1")
    with pytest.raises(BadInput, match=MANIFEST):
        read_manifest(tmp_path)


def test_a_manifest_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    write_manifest(tmp_path, EMPTY)
    assert read_manifest(tmp_path) == EMPTY
    text = (tmp_path / MANIFEST).read_text()
    (tmp_path / MANIFEST).write_text(text.replace('"schemaVersion": 1', '"schemaVersion": 2'))
    with pytest.raises(BadInput, match="version"):
        read_manifest(tmp_path)
