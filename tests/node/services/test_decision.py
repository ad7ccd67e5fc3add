"""Decisions are said once; a later one supersedes an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.errors import BadInput, NotFound
from tests.node.services.memory_kit import Kept, keeping


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


def test_a_decision_comes_back_with_its_reasons(kept: Kept) -> None:
    said = kept.call(
        "decision.add", decision="SQLite", rationale="one file", alternatives=["PostgreSQL", "files"],
        task_id="t-1", project=" Tidewatch", agent="bot",
    )  # fmt: skip
    (found,) = kept.items("decision.list")
    assert {**found, "schemaVersion": 1} == said
    expected = {
        "decision": "SQLite", "rationale": "one file", "alternatives": ["PostgreSQL", "files"],
        "task_id": "t-1", "project": "tidewatch", "agent": "bot", "space": "home", "superseded_by": None,
        "supersedes": [],
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_a_later_decision_stands_in_the_place_of_an_earlier(kept: Kept) -> None:
    old = kept.call("decision.add", decision="SQLite everywhere")
    new = kept.call("decision.add", decision="SQLite no more", supersedes=[str(old["id"])[:8]])
    first, second = kept.items("decision.list")
    assert first["supersedes"] == [old["id"]]
    assert second["superseded_by"] == new["record_id"]
    hits = kept.items_of_search("SQLite")
    assert [hit["record_id"] for hit in hits] == [new["record_id"], old["record_id"]]
    assert hits[1]["superseded_by"] == new["record_id"]


def test_nothing_is_written_when_what_it_supersedes_is_not_there(kept: Kept) -> None:
    memory = kept.add("the pier")
    head = kept.local.feeds.head()
    for identity in ("ffffffff", memory):
        with pytest.raises(NotFound):
            kept.call("decision.add", decision="x", supersedes=[identity])
    with pytest.raises(BadInput, match="no decision"):
        kept.call("decision.add", decision=" ")
    with pytest.raises(BadInput, match="an alternative is blank"):
        kept.call("decision.add", decision="x", alternatives=["y", " "])
    with pytest.raises(BadInput, match="name of an agent"):
        kept.call("decision.add", decision="x", agent="a b")
    assert kept.local.feeds.head() == head


def test_decisions_are_listed_by_project_in_pages(kept: Kept) -> None:
    for number in range(3):
        kept.call("decision.add", decision=str(number), project="p")
    kept.call("decision.add", decision="other")
    page = kept.call("decision.list", project="P", limit=2)
    rest = kept.items("decision.list", project="p", limit=2, cursor=page["cursor"])
    decisions = [item["decision"] for item in [*page["items"], *rest]]  # type: ignore[misc]
    assert decisions == ["2", "1", "0"]


def test_a_private_decision_stays_on_this_node(kept: Kept) -> None:
    assert kept.call("decision.add", decision="x", private=True)["space"] == "private"
