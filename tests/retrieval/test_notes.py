"""Notes: which files count, what of each is kept, and how they are named."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crdt.errors import NotFound
from retrieval.notes import (
    MAX_NOTE_BYTES,
    NoteWalk,
    chunk_event_id,
    note_conversation_id,
    note_root_id,
    parse_note,
    read_note,
    walk_notes,
)

NOBODY = 65_534


def tree(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("cormorant")
    return root


def git(root: Path, *arguments: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    git(tmp_path / "wiki", "init", "-q")
    return tmp_path / "wiki"


def test_only_wanted_markdown_files_are_notes(wiki):
    tree(wiki, "b.md", "a.md", "sources/b.md", "deep/sources/g.md", "deep/er/h.md", ".obsidian/c.md")
    tree(wiki, "node_modules/d.md", "e.txt", "f.md", "drafts/i.md")
    (wiki / ".gitignore").write_text("f.md\ndrafts/\n")
    walk = walk_notes(wiki, ["sources"])
    assert walk.paths == ["a.md", "b.md", "deep/er/h.md"]
    assert walk.skipped == {
        "excluded directory": 3,
        "git-ignored": 1,
        "git-ignored or empty directory": 1,
        "hidden directory": 2,
    }


def test_outside_git_the_same_rules_hold(tmp_path):
    tree(tmp_path, "a.md", "deep/er/b.md", ".x/c.md", "node_modules/d.md")
    assert walk_notes(tmp_path, []).paths == ["a.md", "deep/er/b.md"]


def test_a_tracked_note_counts_although_a_pattern_matches_it(wiki):
    tree(wiki, "kept.md")
    git(wiki, "add", "kept.md")
    tree(wiki, "loose.md")
    (wiki / ".gitignore").write_text("*.md\n")
    assert walk_notes(wiki, []).paths == ["kept.md"]


def test_a_directory_of_a_repository_obeys_its_rules(wiki):
    tree(wiki, "notes/a.md", "notes/b.md", "notes/deep/b.md", "notes/deep/c.md")
    (wiki / ".gitignore").write_text("b.md\n")
    assert walk_notes(wiki / "notes", []).paths == ["a.md", "deep/c.md"]


def test_a_root_that_is_ignored_as_a_whole_was_named_on_purpose(wiki):
    tree(wiki, "notes/a.md")
    (wiki / ".gitignore").write_text("*\n")
    assert walk_notes(wiki / "notes", []).paths == ["a.md"]
    assert walk_notes(wiki, []).paths == []


def test_a_repository_inside_has_rules_of_its_own(wiki):
    inner = wiki / "vendor" / "inner"
    git(inner, "init", "-q")
    tree(wiki, "f.md", "vendor/inner/a.md", "vendor/inner/f.md", "vendor/inner/g.md")
    (wiki / ".gitignore").write_text("f.md\n")
    (inner / ".gitignore").write_text("g.md\n")
    assert walk_notes(wiki, []).paths == ["vendor/inner/a.md", "vendor/inner/f.md"]
    (wiki / ".gitignore").write_text("vendor/\n")
    assert walk_notes(wiki, []).paths == ["f.md"]


def test_a_hook_s_environment_does_not_lead_git_astray(wiki, tmp_path, monkeypatch):
    git(tmp_path / "other", "init", "-q")
    tree(wiki, "a.md", "f.md")
    (wiki / ".gitignore").write_text("f.md\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert walk_notes(wiki, []).paths == ["a.md"]


def test_where_git_refuses_nothing_is_ignored_and_that_is_said(wiki):
    tree(wiki, "a.md", "f.md")
    (wiki / ".gitignore").write_text("f.md\n")
    (wiki / ".git" / "config").write_text("[broken")
    walk = walk_notes(wiki, [])
    assert walk.paths == ["a.md", "f.md"]
    assert walk.skipped["ignore rules, since git can't be asked"] == 1


def test_where_git_is_missing_nothing_is_ignored_and_that_is_said(wiki, tmp_path, monkeypatch):
    tree(wiki, "a.md")
    monkeypatch.setenv("PATH", str(tmp_path))
    walk = walk_notes(wiki, [])
    assert walk.paths == ["a.md"]
    assert walk.skipped["ignore rules, since git can't be asked"] == 1


def test_a_monitor_named_by_a_repository_is_not_run(wiki, tmp_path):
    tree(wiki, "a.md")
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(wiki, "config", "core.fsmonitor", str(program))
    assert walk_notes(wiki, []).paths == ["a.md"]
    assert not (tmp_path / "ran").exists()


def test_links_out_of_the_root_and_to_directories_are_not_followed(tmp_path):
    root = tree(tmp_path / "root", "a.md", "deep/b.md")
    tree(tmp_path / "outside", "secret.md")
    (root / "inside.md").symlink_to("deep/b.md")
    (root / "outside.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "directory").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    (root / "self.md").symlink_to("self.md")
    (root / "broken.md").symlink_to("gone.md")
    walk = walk_notes(root, [])
    assert walk.paths == ["a.md", "deep/b.md", "inside.md"]
    assert walk.skipped["symbolic link out of the root"] == 1
    assert walk.skipped["symbolic link to a directory"] == 2
    assert (walk.skipped["no regular file"], walk.skipped["unreadable note"]) == (1, 1)


def test_odd_files_are_tallied(tmp_path):
    tree(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "directory.md").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("x")
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(MAX_NOTE_BYTES + 1)
    walk = walk_notes(tmp_path, [])
    assert walk.paths == ["a.md"]
    assert walk.skipped == {"no regular file": 1, "name that is no UTF-8": 1, "note over 8 MiB": 1}


def test_a_deep_tree_is_walked(tmp_path):
    deep = tmp_path
    for _ in range(300):
        deep = deep / "d"
    tree(deep, "a.md")
    assert walk_notes(tmp_path, []).paths == ["d/" * 300 + "a.md"]


@pytest.fixture
def foreign() -> Iterator[Path]:
    """Give a directory in which nothing is readable by owner's right, also when root runs the tests."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def without_rights(*paths: Path) -> Iterator[None]:
    for path in paths:
        path.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(user)
        for path in paths:
            path.chmod(0o700)


def test_what_cannot_be_listed_or_read_is_named(foreign):
    tree(foreign, "a.md", "b.md", "closed/c.md")
    (foreign / "b.md").chmod(0o644)
    with without_rights(foreign / "a.md", foreign / "closed"):
        walk = walk_notes(foreign, [])
        assert walk.paths == ["a.md", "b.md"]
        assert read_note(foreign, "a.md", walk) is None
        assert read_note(foreign, "b.md", walk) is not None
    assert walk.unreadable == ["closed", "a.md"]
    assert walk.skipped == {"unreadable directory": 1, "unreadable note": 1}


def test_a_root_that_is_no_directory_is_refused(tmp_path):
    tree(tmp_path, "a.md")
    for root in (tmp_path / "absent", tmp_path / "a.md"):
        with pytest.raises(NotFound, match=root.name):
            walk_notes(root, [])


def test_a_note_is_read_with_what_was_wrong_with_it(tmp_path):
    (tmp_path / "odd.md").write_bytes(b"caf\xe9 \0 end")
    (tmp_path / "huge.md").write_bytes(b"x" * (MAX_NOTE_BYTES + 1))
    walk = NoteWalk()
    note = read_note(tmp_path, "odd.md", walk)
    assert note is not None
    assert note.chunks[0].text == "caf\ufffd \0 end"
    assert read_note(tmp_path, "gone.md", walk) is None
    assert read_note(tmp_path, "huge.md", walk) is None
    assert walk.skipped == {
        "bytes that are no UTF-8, replaced": 1,
        "vanished note": 1,
        "note over 8 MiB": 1,
    }
    assert walk.unreadable == []


def test_a_note_is_parsed():
    lines = [
        "\ufeff---",
        "title: Mail access",
        "tags: [mail]",
        "aliases: [Post]",
        "---",
        "# Access",
        "",
        "ORBIT",
    ]
    data = "\r\n".join(lines).encode()
    note = parse_note("deep/access.md", data)
    assert (note.title, note.tags, note.aliases) == ("Mail access", ("mail",), ("Post",))
    assert note.sha256 == hashlib.sha256(data).hexdigest()
    assert [chunk.heading_path for chunk in note.chunks] == ["Access"]
    assert note.chunks[0].text.endswith("# Access\n\nORBIT")
    assert not note.is_lossy


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Two\n\n# One\n\n# More", "One"),
        ("text", "my note"),
        ("```\n# no\n```", "my note"),
        ("", "my note"),
    ],
)
def test_the_title_is_the_first_top_heading_or_the_name(text, title):
    assert parse_note("deep/my note.md", text.encode()).title == title


@pytest.mark.parametrize("text", ["", " \n\n\t\n", "\ufeff"])
def test_an_empty_note_has_no_chunks(text):
    assert parse_note("a.md", text.encode()).chunks == ()


def test_names_depend_on_place_and_headings_only(tmp_path):
    home = tmp_path.resolve()
    root = note_root_id(home / "notes", home)
    assert root == note_root_id(tmp_path / "x" / ".." / "notes", home)
    assert root == note_root_id(Path("/elsewhere/me/notes"), Path("/elsewhere/me"))
    assert root != note_root_id(home / "other", home)
    names = {
        root,
        note_conversation_id(root, "a.md"),
        note_conversation_id(root, "b/a.md"),
        chunk_event_id("A", 0),
        chunk_event_id("A", 1),
        chunk_event_id("A > B", 0),
    }
    assert len(names) == 6
    assert {len(name) for name in names} == {64}
