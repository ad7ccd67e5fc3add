"""Transcript files below a root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archivist.providers.walk import files_below


def names(root: Path) -> list[str]:
    return [source.relative_path for source in files_below(root, "generic")]


def test_files_come_by_relative_path(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl", "a-b/x.jsonl", "a.jsonl", "a/b/c.jsonl", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert names(tmp_path) == ["a-b/x.jsonl", "a.jsonl", "a/b/c.jsonl", "a/z.jsonl", "b.jsonl"]
    assert names(tmp_path) == sorted(names(tmp_path))


def test_a_source_has_the_files_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("x")
    (source,) = files_below(tmp_path, "generic")
    found = (tmp_path / "a.jsonl").stat()
    assert (source.size_bytes, source.modified_ns, source.inode) == (1, found.st_mtime_ns, found.st_ino)


def test_a_name_that_is_no_unicode_is_written_in_escapes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.jsonl")).touch()
    assert names(tmp_path) == [r"caf\xe9.jsonl"]


def test_what_vanishes_meanwhile_is_left_out(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "c/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    sources = files_below(tmp_path, "generic")
    assert next(sources).relative_path == "a.jsonl"
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "c/d.jsonl").unlink()
    (tmp_path / "c").rmdir()
    assert list(sources) == []


@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_only_regular_files_are_sources(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd.jsonl"
    os.mkfifo(odd) if kind == "pipe" else odd.mkdir()
    assert names(tmp_path) == []
