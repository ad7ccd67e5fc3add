"""Directories that stand for another one, seen without any home or scope."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.folding import (
    MAX_GIT_FILE_BYTES,
    folded_scratchpad,
    folded_worktree,
    has_git,
    upwards,
)


def never(_base: str) -> bool:
    return False


def always(_base: str) -> bool:
    return True


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_ancestors_come_nearest_first():
    assert list(upwards("/a/b")) == ["/a/b", "/a", "/"]
    assert list(upwards("/")) == ["/"]


@pytest.mark.parametrize(
    ("gitdir", "repository"),
    [
        ("{place}/red/.git/worktrees/fix", "{place}/red"),
        ("../red/.git/worktrees/fix", "{place}/red"),
        ("{place}/bare/.bare/worktrees/fix", "{place}/bare"),
        ("/srv/red.git/worktrees/fix", "/srv/red.git"),
        ("../.git/modules/fix", None),
        ("", None),
    ],
)
def test_git_s_word_says_whose_worktree_it_is(place, gitdir, repository):
    tree = place / "fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {gitdir.format(place=place)}\n")
    folded = folded_worktree(f"{tree}/src/deep", never)
    assert folded == (repository or "{place}/fix").format(place=place) + "/src/deep"


def test_git_s_word_comes_before_the_name(place):
    tree = place / "red" / ".claude" / "worktrees" / "fix"
    tree.mkdir(parents=True)
    (tree / ".git").write_text("gitdir: /srv/blue/.git/worktrees/fix")
    assert folded_worktree(str(tree), always) == "/srv/blue"


def test_a_git_file_is_read_only_so_far(place):
    (place / ".git").write_text("gitdir: /" + "x" * MAX_GIT_FILE_BYTES + "/.git/worktrees/fix")
    assert folded_worktree(str(place), never) == str(place)


def test_a_name_alone_needs_a_project():
    path = "/no/such/red/.claude/worktrees/fix/src"
    assert folded_worktree(path, always) == "/no/such/red/src"
    assert folded_worktree(path, never) == path
    assert folded_worktree("/no/such/.claude/worktrees", always) == "/no/such/.claude/worktrees"


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_a_repository_has_a_git_directory_or_file(place, kind):
    assert not has_git(str(place))
    git = place / ".git"
    if kind == "directory":
        git.mkdir()
    elif kind == "file":
        git.write_text("")
    else:
        (place / "real").mkdir()
        git.symlink_to("real")
    assert has_git(str(place))


def test_a_dangling_git_link_and_no_path_at_all_mark_nothing(place):
    (place / ".git").symlink_to("gone")
    assert not has_git(str(place))
    assert not has_git("\0")


def pad_of(coded: str) -> str:
    return f"/tmp/claude-1000/{coded}/session/scratchpad"


def test_a_scratchpad_is_decoded_below_the_home_first(place):
    for name in ("me", "me-work"):
        (place / name / "work" / "proj").mkdir(parents=True)
    coded = str(place / "me" / "work" / "proj")
    coded = "".join(character if character.isalnum() else "-" for character in coded)
    assert folded_scratchpad(pad_of(coded), [str(place / "me")]) == str(place / "me" / "work" / "proj")
    assert folded_scratchpad(pad_of(coded), []) == str(place / "me" / "work" / "proj")


def test_a_sign_beyond_the_basic_plane_is_two_dashes(place):
    (place / "a🐟").mkdir()
    assert folded_scratchpad(pad_of(home_coded(place) + "-a--"), [str(place)]) == str(place / "a🐟")
    assert folded_scratchpad(pad_of(home_coded(place) + "-a-"), [str(place)]).startswith("/tmp/claude-1000/")


def home_coded(place: Path) -> str:
    return "".join(
        character if character.isascii() and character.isalnum() else "-" for character in str(place)
    )


def test_looking_for_a_project_ends(place, monkeypatch):
    deep = place / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    pad = pad_of(home_coded(deep))
    assert folded_scratchpad(pad, [str(place)]) == str(deep)
    monkeypatch.setattr("retrieval.folding.MAX_LISTED_DIRECTORIES", 3)
    assert folded_scratchpad(pad, [str(place)]) == pad


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/claude-1000/x",
        "/tmp/claude-x/-a/s/scratchpad",
        "/tmp/claude-1/a/s/scratchpad",
        "/srv/-a/s/scratchpad",
    ],
)
def test_only_an_agent_s_scratchpad_is_one(path):
    assert folded_scratchpad(path, ["/a"]) == path


@given(path=st.text(alphabet="/.ab\0\n-é", max_size=40).map(lambda tail: "/nowhere" + tail))
def test_no_path_makes_folding_fail(path):
    assert folded_worktree(path, never) == path
    assert folded_scratchpad(path, []) == path
