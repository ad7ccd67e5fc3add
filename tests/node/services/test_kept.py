"""What counts as kept about a project, in which order, and what is superseded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from node.services import records
from node.services.kept import PAGE_RECORDS, Kept, reading_kept
from node.services.records import Write
from node.services.remember import edge
from tests.node.filled import opened
from tests.node.services.statement_kit import CRANE, NEWER, Yard, titled

YARD = "[HOME]/work/yard"


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def kept(yard: Yard, scope: str | None = YARD) -> list[Kept]:
    with opened(yard.state) as local, reading_kept(local, scope) as found:
        return list(found)


def titles(yard: Yard, scope: str | None = YARD) -> list[str]:
    return [one.title for one in kept(yard, scope)]


def moved(yard: Yard, aliases: dict[str, object]) -> None:
    (yard.state / "workspace-aliases.json").write_text(json.dumps(aliases), "utf-8")


def test_nothing_is_kept_before_anything_was_and_outside_repositories(yard: Yard) -> None:
    assert kept(yard) == []
    assert not yard.state.exists()
    yard.remember(CRANE)
    assert kept(yard, None) == []
    assert kept(yard, "[HOME]/work/office") == []


def test_the_newest_comes_first(yard: Yard) -> None:
    for title in ("a", "b", "c"):
        yard.remember(titled(title))
    assert titles(yard) == ["c", "b", "a"]


def test_projects_below_belong_to_the_scope_and_neighbours_do_not(yard: Yard) -> None:
    yard.remember(titled("below"), project="yard/nested")
    yard.remember(titled("beside"), project="yard-two")
    assert titles(yard) == ["below"]
    assert titles(yard, f"{YARD}/nested") == ["below"]


def test_a_moved_project_takes_what_was_kept_along(yard: Yard) -> None:
    yard.remember(titled("then"), project="dock")
    yard.remember(titled("now"))
    moved(yard, {"[HOME]/work/dock": YARD})
    assert titles(yard) == ["now", "then"]
    assert titles(yard, "[HOME]/work/dock") == ["now", "then"]
    moved(yard, {"[HOME]/work/dock": {"to": YARD, "until": "2001-01-01"}})
    assert titles(yard) == ["now"]


def test_deleted_records_are_gone_and_supersede_nothing(yard: Yard) -> None:
    old = yard.remember(CRANE)["record_id"]
    new = yard.remember(NEWER, old)
    assert [one.superseded_by for one in kept(yard)] == [None, new["record_id"]]
    yard.delete(new["job_key"])
    assert [(one.title, one.superseded_by) for one in kept(yard)] == [("Crane limit", None)]


def test_a_chain_leads_to_its_end_across_a_deleted_link(yard: Yard) -> None:
    first = yard.remember(titled("a"))["record_id"]
    second = yard.remember(titled("b"), first)
    third = yard.remember(titled("c"), second["record_id"])["record_id"]
    assert {one.title: one.superseded_by for one in kept(yard)} == {"a": third, "b": third, "c": None}
    yard.delete(second["job_key"])
    assert {one.title: one.superseded_by for one in kept(yard)} == {"a": third, "c": None}


def test_another_project_may_supersede(yard: Yard) -> None:
    old = yard.remember(CRANE)["record_id"]
    new = yard.remember(NEWER, old, project="office")["record_id"]
    assert [one.superseded_by for one in kept(yard)] == [new]


def test_without_edges_nothing_is_superseded(yard: Yard) -> None:
    record = str(yard.remember(CRANE)["record_id"])
    with opened(yard.state) as local, local.projection() as reader:
        newest = records.newest_in(local, reader)
        assert newest.of([record]) == {}
        assert newest.of([]) == {}


def test_a_ghost_empties_no_recall(yard: Yard) -> None:
    record = str(yard.remember(CRANE)["record_id"])
    with opened(yard.state, writable=True) as local:
        ghost = Write(space=local.feeds.home(), operation=edge("bot", "9" * 64, record), is_new=True)
        records.commit(local, [ghost])
    assert [one.superseded_by for one in kept(yard)] == [None]


def test_more_than_a_page_is_read_each_once(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PAGE_RECORDS > 1
    monkeypatch.setattr("node.services.kept.PAGE_RECORDS", 2)
    monkeypatch.setattr("node.services.kept.SCANNED_MAX", 4)
    for title in "abcde":
        yard.remember(titled(title))
    assert titles(yard) == ["e", "d", "c", "b"]


def test_a_record_in_two_spaces_is_one(yard: Yard) -> None:
    yard.remember(CRANE, private=True)
    yard.remember(CRANE)
    assert titles(yard) == ["Crane limit"]


def test_a_title_is_one_line(yard: Yard) -> None:
    yard.remember(titled("Crane\n  limit\t"))
    assert titles(yard) == ["Crane limit"]
