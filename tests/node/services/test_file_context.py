"""What was kept about one file: records that name exactly it, the newest three."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from node.services import file_context
from tests.node.asking import asked, items
from tests.node.services.statement_kit import CRANE, Yard, titled


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def about(yard: Yard, path: str, project: str = "yard") -> Mapping[str, object]:
    return asked(yard.state, "file-context", path=str(yard.project(project) / path))


def titles(yard: Yard, path: str, project: str = "yard") -> list[object]:
    return [record["title"] for record in items(about(yard, path, project), "records")]


def test_only_what_names_exactly_that_file_is_shown(yard: Yard) -> None:
    yard.remember(titled("relative", "src/a.py waits"))
    yard.remember(titled("absolute", f"{yard.project()}/src/a.py waits"))
    yard.remember(titled("other", "src/data.py and lib/src/a.py and a.py wait"))
    yard.remember(CRANE)
    assert titles(yard, "src/a.py") == ["absolute", "relative"]
    assert titles(yard, "src/data.py") == ["other"]
    assert titles(yard, "a.py") == ["other"]
    assert titles(yard, "ata.py") == []


@pytest.mark.parametrize("part", ["title", "summary", "facts", "open_ends"])
def test_a_file_may_be_named_in_any_part(yard: Yard, part: str) -> None:
    given: object = "see src/a.py" if part in ("title", "summary") else ["one", "see src/a.py"]
    yard.remember(CRANE | {part: given})
    assert len(titles(yard, "src/a.py")) == 1


def test_the_newest_three_are_shown_current_ones_first(yard: Yard) -> None:
    first = yard.remember(titled("1", "a.py"))["record_id"]
    for number in "23":
        yard.remember(titled(number, "a.py"))
    assert titles(yard, "a.py") == ["3", "2", "1"]
    yard.remember(titled("4", "no file"), first)
    records = items(about(yard, "a.py"), "records")
    assert [(record["title"], record["superseded_by"] is None) for record in records] == [
        ("3", True),
        ("2", True),
        ("1", False),
    ]
    yard.remember(titled("5", "a.py"))
    assert titles(yard, "a.py") == ["5", "3", "2"]


def test_another_project_s_records_are_not_shown(yard: Yard) -> None:
    yard.remember(titled("elsewhere", "a.py waits"), project="office")
    assert titles(yard, "a.py") == []
    assert titles(yard, "a.py", "office") == ["elsewhere"]


def test_outside_a_repository_and_before_anything_was_kept_nothing_is_said(yard: Yard) -> None:
    assert about(yard, "a.py")["text"] == ""
    assert not yard.state.exists()
    yard.remember(titled("t", "/etc/hosts is right"))
    said = asked(yard.state, "file-context", path="/etc/hosts")
    assert (said["text"], said["workspace"], said["records"]) == ("", None, [])


def test_lines_and_document_say_the_same(yard: Yard) -> None:
    long = "a.py " + "word " * 200
    yard.remember(titled("Long", long) | {"facts": ["f"]})
    said = about(yard, "a.py")
    header, line, summary = str(said["text"]).splitlines()
    assert header == "# atrium file-context (a.py)"
    assert line.endswith(" Long")
    assert summary.startswith("  a.py word")
    assert len(summary) == file_context.SUMMARY_CHARS_MAX + 2
    (record,) = items(said, "records")
    assert (record["summary"], record["facts"], said["path"]) == (long, ["f"], "[HOME]/work/yard/a.py")


def test_a_worktree_s_file_is_that_of_its_repository(yard: Yard) -> None:
    yard.remember(titled("t", "src/a.py waits"))
    worktree = yard.home / "work" / "feature"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {yard.project()}/.git/worktrees/feature\n")
    said = asked(yard.state, "file-context", path=str(worktree / "src" / "a.py"))
    assert [record["title"] for record in items(said, "records")] == ["t"]


def test_links_on_the_way_to_a_file_are_followed_but_not_its_own(yard: Yard) -> None:
    yard.remember(titled("t", "src/a.py waits"))
    project = yard.project()
    (project / "src").mkdir()
    (project / "alias").symlink_to(project / "src")
    (project / "src" / "b.py").symlink_to(project / "src" / "a.py")
    assert titles(yard, "alias/a.py") == ["t"]
    assert titles(yard, "src/b.py") == []


def test_a_moved_project_s_file_is_found_by_both_places(yard: Yard) -> None:
    yard.remember(titled("relative", "src/a.py waits"), project="dock")
    yard.remember(titled("absolute", f"{yard.home}/work/dock/src/a.py waits"), project="dock")
    yard.remember(titled("present", f"{yard.home}/work/yard/src/a.py waits"), project="dock")
    (yard.state / "workspace-aliases.json").write_text('{"[HOME]/work/dock": "[HOME]/work/yard"}')
    for project in ("yard", "dock"):
        assert titles(yard, "src/a.py", project) == ["present", "absolute", "relative"]
