"""Recall: the titles of a project within a budget, and nothing where there is nothing to say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from crdt.errors import BadInput
from node.services import recall
from tests.node.asking import asked, items
from tests.node.services.statement_kit import CRANE, NEWER, Yard, titled

TODAY = time.strftime("%Y-%m-%d", time.gmtime())


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def test_titles_have_their_day_and_the_newest_is_first(yard: Yard) -> None:
    yard.remember(titled("a"))
    yard.remember(titled("b"))
    said = yard.recall()
    assert said["text"] == f"# atrium recall (yard)\n- {TODAY} b\n- {TODAY} a"
    assert (said["project"], said["workspace"]) == ("yard", "[HOME]/work/yard")
    assert [item["title"] for item in items(said, "items")] == ["b", "a"]
    assert items(said, "items")[0].keys() == {
        "record_id", "job_key", "type", "title", "authored_at", "agent",
    }  # fmt: skip


def test_nothing_is_said_where_nothing_was_kept(yard: Yard) -> None:
    assert (yard.recall()["text"], yard.titles()) == ("", [])
    assert not yard.state.exists()
    yard.remember(CRANE)
    assert yard.recall("office")["text"] == ""
    outside = asked(yard.state, "recall", directory="/")
    assert (outside["text"], outside["project"], outside["items"]) == ("", None, [])


def test_what_was_superseded_is_left_out(yard: Yard) -> None:
    old = yard.remember(CRANE)["record_id"]
    yard.remember(NEWER, old)
    assert yard.titles() == ["Crane limit raised"]


def test_a_directory_within_the_repository_will_do(yard: Yard) -> None:
    yard.remember(CRANE)
    inner = yard.project() / "src"
    inner.mkdir()
    assert "Crane limit" in str(asked(yard.state, "recall", directory=str(inner))["text"])


def test_the_limit_counts_current_ones(yard: Yard) -> None:
    old = yard.remember(titled("a"))["record_id"]
    yard.remember(titled("b"))
    yard.remember(titled("c"), old)
    assert yard.titles(limit=2) == ["c", "b"]
    assert yard.titles(limit=1) == ["c"]
    for limit in (0, recall.LIMIT_MAX + 1):
        with pytest.raises(BadInput, match="limit"):
            yard.recall(limit=limit)


def test_the_text_keeps_to_its_budget(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    for title in "abc":
        yard.remember(titled(title))
    header, line = len("# atrium recall (yard)"), len(f"\n- {TODAY} a")
    for room, expected in ((3 * line, "cba"), (3 * line - 1, "cb"), (line, "c"), (line - 1, "")):
        monkeypatch.setattr(recall, "CHARS_MAX", header + room)
        said = yard.recall()
        assert [item["title"] for item in items(said, "items")] == list(expected)
        assert len(str(said["text"])) <= header + room
        assert bool(said["text"]) is bool(expected)


def test_a_stale_archive_is_told_in_the_first_line(yard: Yard) -> None:
    yard.remember(CRANE)
    yard.paths.last_refresh.write_text("1000000000")
    said = yard.recall()
    first = str(said["text"]).splitlines()[0]
    assert first.startswith("# atrium recall (yard)")
    assert "stale" in first
    assert "2001-09-09T01:46:40Z" in first
    assert said["freshness"] == "stale"
    assert yard.recall("office")["text"] == ""


@pytest.mark.parametrize("stamp", ["nonsense", "99999999999"])
def test_a_stamp_that_says_nothing_changes_nothing(yard: Yard, stamp: str) -> None:
    yard.remember(CRANE)
    yard.paths.last_refresh.write_text(stamp)
    assert yard.recall()["freshness"] == "invalid"
    assert str(yard.recall()["text"]).startswith("# atrium recall (yard)\n")


def test_a_moved_project_is_called_by_its_present_name(yard: Yard) -> None:
    yard.remember(CRANE, project="dock")
    (yard.state / "workspace-aliases.json").write_text('{"[HOME]/work/dock": "[HOME]/work/Yard"}')
    assert str(yard.recall("dock")["text"]).startswith("# atrium recall (yard)\n")
