"""What git shows of a directory, and when it isn't asked or can't answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from crdt.errors import Unavailable
from retrieval.git_files import shown_files


def git(directory: Path, *arguments: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "-C", directory, *arguments], check=True, capture_output=True)


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "wiki"
    git(root, "init", "-q")
    for name in ("a.md", "deep/er/b.md", "drafts/c.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / ".gitignore").write_text("drafts/\n")
    return root


def test_files_and_the_directories_that_lead_to_them_are_shown(wiki):
    shown = shown_files(wiki, "")
    assert shown is not None
    assert shown.files == {".gitignore", "a.md", "deep/er/b.md"}
    assert shown.directories == {"deep", "deep/er"}
    assert shown.has_file("deep/er/b.md")
    assert not shown.has_file("drafts/c.md")
    assert shown.has_directory("deep")
    assert not shown.has_directory("drafts")


def test_paths_are_below_the_root_whatever_directory_was_asked(wiki):
    shown = shown_files(wiki, "deep")
    assert shown is not None
    assert shown.has_file("deep/er/b.md")
    assert shown.has_directory("deep/er")


def test_a_repository_inside_is_shown_as_a_directory(wiki):
    git(wiki / "inner", "init", "-q")
    (wiki / "inner" / "d.md").write_text("x")
    shown = shown_files(wiki, "")
    assert shown is not None
    assert shown.has_directory("inner")
    assert not shown.has_file("inner/d.md")


def test_names_of_any_bytes_are_shown(wiki):
    for name in (b"sp ace\n.md", b"\xff.md", "ü.md".encode()):
        Path(os.fsdecode(os.fsencode(wiki) + b"/" + name)).write_text("x")
        shown = shown_files(wiki, "")
        assert shown is not None
        assert shown.has_file(os.fsdecode(name))


def test_outside_any_repository_git_is_not_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert shown_files(tmp_path.resolve(), "") is None


def test_a_directory_ignored_as_a_whole_has_no_rules(wiki):
    assert shown_files(wiki / "drafts", "") is None


def test_an_empty_repository_shows_nothing(tmp_path):
    git(tmp_path / "empty", "init", "-q")
    shown = shown_files(tmp_path.resolve() / "empty", "")
    assert shown is not None
    assert not shown.files


def test_the_caller_s_repository_is_not_asked_instead(wiki, tmp_path, monkeypatch):
    git(tmp_path / "other", "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    shown = shown_files(wiki, "")
    assert shown is not None
    assert shown.has_file("a.md")


def test_asking_changes_nothing_in_the_repository(wiki):
    git(wiki, "add", "a.md")
    before = {path: path.stat().st_mtime_ns for path in wiki.rglob("*") if path.is_file()}
    shown_files(wiki, "")
    assert {path: path.stat().st_mtime_ns for path in wiki.rglob("*") if path.is_file()} == before


def test_a_broken_repository_is_an_error_with_git_s_words(wiki):
    (wiki / ".git" / "config").write_text("[broken")
    with pytest.raises(Unavailable, match="bad config") as error:
        shown_files(wiki, "")
    assert "git status" in error.value.hint


def test_a_missing_git_is_an_error(wiki, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git"):
        shown_files(wiki, "")


def test_a_git_that_hangs_is_given_up(wiki, tmp_path, monkeypatch):
    monkeypatch.setattr("retrieval.git_files.GIT_TIMEOUT_S", 0.2)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(Unavailable, match="timed out"):
        shown_files(wiki, "")
