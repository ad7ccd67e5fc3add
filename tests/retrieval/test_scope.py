"""Scopes: repositories, worktrees, scratchpads, containment, and projects that moved."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.scope import FIRST, LAST, Alias, Aliases, contains, repository_of, scope_of, workspace_of

NAME = st.text(alphabet="ab_%-.é", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
WORKSPACE = st.lists(NAME, min_size=1, max_size=4).map(lambda names: "[HOME]/" + "/".join(names))


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", directory, *arguments], check=True, capture_output=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a home whose path no symbolic link changes."""
    home = tmp_path.resolve() / "home" / "me"
    home.mkdir(parents=True)
    return home


@pytest.fixture
def red(home: Path) -> Path:
    repository = home / "work" / "red"
    repository.mkdir(parents=True)
    git(repository, "init", "-q")
    git(repository, "config", "user.email", "n@example.org")
    git(repository, "config", "user.name", "n")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    return repository


def encoded(path: Path) -> str:
    return "".join(character if character.isalnum() else "-" for character in str(path))


def test_the_nearest_ancestor_with_git_is_the_repository(red, home):
    below = red / "src" / "deep"
    below.mkdir(parents=True)
    assert repository_of(red) == repository_of(below) == repository_of(red / "gone" / "gone") == red
    assert repository_of(home) is None
    assert scope_of(below, home) == "[HOME]/work/red"
    assert scope_of(home, home) is None


def test_no_path_at_all_is_in_no_repository(home):
    assert repository_of(Path("\0")) is None
    assert repository_of(Path("/" + "x" * 5000)) is None


def test_a_link_to_a_repository_is_the_repository(red, home):
    (home / "link").symlink_to(red)
    assert scope_of(home / "link", home) == "[HOME]/work/red"


def test_a_home_reached_by_a_link_is_the_home(red, home, tmp_path):
    (tmp_path / "elsewhere").symlink_to(home)
    linked = tmp_path / "elsewhere"
    assert scope_of(linked / "work" / "red", linked) == "[HOME]/work/red"
    assert workspace_of(str(linked / "work"), linked) == "[HOME]/work"
    assert workspace_of(str(home / "work"), linked) == "[HOME]/work"


@pytest.mark.parametrize("place", [".claude/worktrees/fix", "../red.worktrees/fix", "../../elsewhere/fix"])
def test_a_worktree_is_its_repository(red, home, place):
    tree = (red / place).resolve()
    git(red, "worktree", "add", "-q", "-b", "fix", str(tree))
    (tree / "src").mkdir()
    assert scope_of(tree, home) == scope_of(tree / "src", home) == "[HOME]/work/red"
    assert workspace_of(str(tree), home) == "[HOME]/work/red"
    assert workspace_of(str(tree / "src"), home) == "[HOME]/work/red/src"


@pytest.mark.parametrize("place", [".claude/worktrees/fix", "../red.worktrees/fix", ".worktrees/fix"])
def test_a_worktree_that_is_gone_goes_by_its_name(red, home, place):
    gone = (red / place).resolve()
    assert workspace_of(str(gone), home) == "[HOME]/work/red"
    assert scope_of(gone, home) == "[HOME]/work/red"


def test_worktrees_of_a_bare_repository_share_its_directory(red, home):
    project = home / "bare"
    project.mkdir()
    git(project, "clone", "-q", "--bare", str(red), ".bare")
    (project / ".git").write_text("gitdir: ./.bare\n")
    git(project / ".bare", "worktree", "add", "-q", "-b", "one", "../one")
    assert workspace_of(str(project / "one"), home) == "[HOME]/bare"
    assert scope_of(project / "one", home) == "[HOME]/bare"


def test_a_submodule_is_a_repository_of_its_own(red, home):
    module = red / "module"
    module.mkdir()
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")
    assert repository_of(module) == module


def test_a_git_file_that_says_nothing_still_marks_a_repository(red, home):
    odd = home / "odd"
    odd.mkdir()
    (odd / ".git").write_bytes(b"\xff\0 nonsense")
    assert repository_of(odd) == odd


@pytest.mark.parametrize(
    ("directory", "workspace"),
    [
        ("{home}", "[HOME]"),
        ("{home}/", "[HOME]"),
        ("{home}/work/red", "[HOME]/work/red"),
        ("{home}/work/red/src", "[HOME]/work/red/src"),
        ("{home}//work/./blue/../red/", "[HOME]/work/red"),
        ("{home}more/x", "{home}more/x"),
        ("/srv/depot", "/srv/depot"),
        ("//srv/depot", "/srv/depot"),
        ("/", "/"),
        ("", ""),
        ("relative/x", "relative/x"),
        ("[HOME]/work/red/.claude/worktrees/a", "[HOME]/work/red"),
        ("[HOME]/.claude/worktrees/a", "[HOME]/.claude/worktrees/a"),
        ("{home}/.claude/worktrees/a", "[HOME]/.claude/worktrees/a"),
        ("/srv/a.worktrees/b/.claude/worktrees/c/src", "/srv/a/src"),
        ("C:\\Users\\me\\proj", "C:/Users/me/proj"),
        ("/tmp", "/tmp"),
        ("/nul\0/x", "/nul\0/x"),
    ],
)
def test_a_directory_is_stored_as_a_workspace(home, red, directory, workspace):
    assert workspace_of(directory.format(home=home), home) == workspace.format(home=home)


@pytest.mark.parametrize("prefix", ["/tmp/claude-1000", "/private/tmp/claude-501", "/tmp/claude"])
@pytest.mark.parametrize("name", ["my-proj", "my.proj", "projé"])
def test_a_scratchpad_is_its_project(home, prefix, name):
    project = home / "work" / name
    project.mkdir(parents=True)
    coded = encoded(project).replace("é", "-")
    pad = f"{prefix}/{coded}/0f5c/scratchpad"
    assert workspace_of(pad, home) == f"[HOME]/work/{name}"
    assert workspace_of(pad + "/deep", home) == f"[HOME]/work/{name}"


def test_a_scratchpad_of_the_home_or_outside_it_is_decoded_too(home, tmp_path):
    assert workspace_of(f"/tmp/claude-1/{encoded(home)}/s/scratchpad", home) == "[HOME]"
    outside = tmp_path.resolve() / "out-side" / "x_y"
    outside.mkdir(parents=True)
    assert workspace_of(f"/tmp/claude-1/{encoded(outside)}/s/scratchpad", home) == str(outside)


def test_a_scratchpad_of_a_worktree_is_its_repository(red, home):
    tree = red / ".claude" / "worktrees" / "fix"
    assert workspace_of(f"/tmp/claude-1/{encoded(tree)}/s/scratchpad", home) == "[HOME]/work/red"


def test_a_scratchpad_whose_project_is_gone_stays_as_it_is(home):
    pad = f"/tmp/claude-1/{encoded(home / 'gone')}/s/scratchpad"
    assert workspace_of(pad, home) == pad


def test_of_two_projects_with_one_encoded_name_only_a_repository_is_certain(home):
    dashed, nested = home / "work-proj", home / "work" / "proj"
    dashed.mkdir()
    nested.mkdir(parents=True)
    pad = f"/tmp/claude-1/{encoded(dashed)}/s/scratchpad"
    assert workspace_of(pad, home) == pad
    (nested / ".git").mkdir()
    assert workspace_of(pad, home) == "[HOME]/work/proj"


@given(scope=WORKSPACE, workspace=WORKSPACE)
def test_containment_is_by_path_components(scope, workspace):
    one, other = scope.split("/"), workspace.split("/")
    assert contains(scope, workspace) is (other[: len(one)] == one)
    # The range that an index compares with.
    in_range = workspace == scope or scope + "/" <= workspace < scope + "0"
    assert contains(scope, workspace) is in_range


def test_a_sibling_with_a_like_name_is_not_contained():
    assert not contains("[HOME]/my_app", "[HOME]/myxapp")
    assert not contains("[HOME]/app", "[HOME]/app-two")
    assert contains("/", "/srv")


# -- aliases


def load(tmp_path: Path, document: object, home: Path | None = None) -> Aliases:
    path = tmp_path / "workspace-aliases.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return Aliases.load(path, home)


def test_without_a_file_nothing_moved(tmp_path):
    aliases = Aliases.load(tmp_path / "absent.json")
    assert aliases.warning is None
    assert aliases.resolve("[HOME]/a", None) == "[HOME]/a"
    assert aliases.windows("[HOME]/a", ["[HOME]/a/b", "[HOME]/ab"]) == [("[HOME]/a/b", FIRST, LAST)]


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "null",
        '{"a": "[HOME]/b"}',
        '{"[HOME]/a": 1}',
        '{"[HOME]/a": {"until": "2026-01-01"}}',
        '{"[HOME]/a": {"to": "[HOME]/b", "until": "soon"}}',
        '{"[HOME]/a": {"to": "[HOME]/b", "until": "2026-13-01"}}',
        '{"[HOME]/a": {"to": "[HOME]/b", "from": "2026-01-01"}}',
        '{"/": "[HOME]/b"}',
        "[" * 100_000,
        "\ud83e",
    ],
)
def test_a_malformed_file_is_a_warning_and_moves_nothing(tmp_path, document):
    path = tmp_path / "workspace-aliases.json"
    path.write_bytes(document.encode("utf-8", "surrogatepass"))
    aliases = Aliases.load(path)
    assert aliases.warning is not None
    assert aliases.warning.startswith("workspace-aliases.json: ")
    assert aliases.resolve("[HOME]/a", None) == "[HOME]/a"


def test_a_file_that_cannot_be_read_is_a_warning(tmp_path):
    assert Aliases.load(tmp_path).warning is not None
    large = tmp_path / "large.json"
    large.write_text('{"[HOME]/a": "[HOME]/' + "b" * 1_100_000 + '"}')
    assert "larger" in str(Aliases.load(large).warning)


def test_the_longest_old_path_wins_on_path_boundaries(tmp_path):
    aliases = load(tmp_path, {"[HOME]/a": "[HOME]/x", "[HOME]/a/b": "/srv/y"})
    assert aliases.warning is None
    assert aliases.resolve("[HOME]/a/c", None) == "[HOME]/x/c"
    assert aliases.resolve("[HOME]/a/b/c", None) == "/srv/y/c"
    assert aliases.resolve("[HOME]/ab", None) == "[HOME]/ab"


def test_absolute_paths_below_the_home_are_the_homes(tmp_path):
    aliases = load(tmp_path, {"/home/me/a/": "/home/me/b"}, Path("/home/me"))
    assert aliases.resolve("[HOME]/a/c", None) == "[HOME]/b/c"


def test_moves_follow_each_other_and_never_for_ever(tmp_path):
    aliases = load(
        tmp_path,
        {"[HOME]/a": "[HOME]/b", "[HOME]/b": "[HOME]/c", "/x": "/y", "/y": "/x", "/in": "/in/side"},
    )
    assert aliases.resolve("[HOME]/a", None) == "[HOME]/c"
    assert (aliases.resolve("/x", None), aliases.resolve("/y", None)) == ("/y", "/x")
    assert aliases.resolve("/in/src", None) == "/in/side/src"
    assert aliases.resolve("/in/side/src", None) == "/in/side/src"


def test_until_a_day_the_old_path_is_the_new_project(tmp_path):
    aliases = load(tmp_path, {"[HOME]/a": {"to": "[HOME]/b", "until": "2026-05-31"}})
    assert aliases.resolve("[HOME]/a", "2026-05-31T23:59:59.999Z") == "[HOME]/b"
    assert aliases.resolve("[HOME]/a", "2026-06-01T00:00:00.000Z") == "[HOME]/a"
    assert aliases.resolve("[HOME]/a", None) == "[HOME]/b"
    assert aliases.windows("[HOME]/b", ["[HOME]/a", "[HOME]/b"]) == [
        ("[HOME]/a", FIRST, "2026-05-31" + LAST),
        ("[HOME]/b", FIRST, LAST),
    ]
    assert aliases.windows("[HOME]/a", ["[HOME]/a", "[HOME]/b"]) == [("[HOME]/a", "2026-05-31" + LAST, LAST)]


def test_whoever_stands_in_the_old_directory_means_the_new_project(tmp_path):
    aliases = load(tmp_path, {"[HOME]/a": "[HOME]/b"})
    stored = ["[HOME]/a", "[HOME]/b/src", "[HOME]/c"]
    expected = [("[HOME]/a", FIRST, LAST), ("[HOME]/b/src", FIRST, LAST)]
    assert aliases.windows("[HOME]/a", stored) == aliases.windows("[HOME]/b", stored) == expected


ALIAS = st.builds(
    lambda old, new, day: Alias(old=old, new=new, before=f"2026-0{day}-01{LAST}" if day else LAST),
    old=WORKSPACE,
    new=WORKSPACE,
    day=st.integers(0, 4),
)


@given(
    entries=st.lists(ALIAS, max_size=4),
    scope=WORKSPACE,
    stored=st.lists(WORKSPACE, max_size=4, unique=True),
    authored_at=st.sampled_from(
        [None, "2026-01-01T00:00:00Z", "2026-02-15T00:00:00Z", "2026-12-01T00:00:00Z"]
    ),
)
def test_windows_say_what_resolving_each_record_says(entries, scope, stored, authored_at):
    aliases = Aliases(entries)
    current = aliases.resolve(scope, LAST)
    windows = aliases.windows(scope, stored)
    for workspace in stored:
        inside = [
            window
            for window in windows
            if window[0] == workspace and window[1] <= (authored_at or "") < window[2]
        ]
        assert len(inside) == int(contains(current, aliases.resolve(workspace, authored_at)))
