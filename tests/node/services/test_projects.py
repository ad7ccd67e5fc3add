"""Projects: made once by who may moderate, closed unless said otherwise, with members that stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt import roster
from crdt.entries import Draft, EntryKind
from crdt.errors import BadInput, NotAllowed, NotFound
from crdt.projects import project_id
from crdt.roster import Add
from tests.node.asking import asked, items, part
from tests.node.filled import opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state"


def said(root: Path) -> int:
    with opened(root) as local:
        return local.feeds.head()


def shown(root: Path, label: str, space: str | None = None) -> dict[str, object]:
    return dict(part(asked(root, "projects.show", label=label, space=space), "project"))


def test_without_a_state_there_are_no_projects_and_looking_makes_none(root: Path) -> None:
    assert asked(root, "projects.list") == {"schemaVersion": 1, "projects": []}
    assert not root.exists()


def test_a_new_project_is_closed_and_its_maker_s(root: Path) -> None:
    made = asked(root, "projects.create", label=" TideWatch ", agent="builder")
    assert (made["created"], made["changed"]) == (True, True)
    project = part(made, "project")
    assert (project["label"], project["open"], project["space"]) == ("tidewatch", False, "home")
    assert project["id"] == project_id("tidewatch")
    assert str(project["owner"]).startswith("builder@")
    assert project["members"] == []
    assert shown(root, "tidewatch") == project
    assert items(asked(root, "projects.list"), "projects") == [project]


def test_the_same_project_is_made_once(root: Path) -> None:
    asked(root, "projects.create", label="tidewatch", is_open=True)
    before = said(root)
    for given in ({}, {"is_open": True}):
        again = asked(root, "projects.create", label="Tidewatch", **given)
        assert (again["created"], again["changed"]) == (False, False)
        assert part(again, "project")["open"] is True
    assert said(root) == before


def test_a_project_is_opened_and_closed_by_saying_so(root: Path) -> None:
    asked(root, "projects.create", label="tidewatch")
    opened_now = asked(root, "projects.create", label="tidewatch", is_open=True)
    assert (opened_now["created"], opened_now["changed"]) == (False, True)
    assert shown(root, "tidewatch")["open"] is True
    asked(root, "projects.create", label="tidewatch", is_open=False)
    assert shown(root, "tidewatch")["open"] is False
    assert shown(root, "tidewatch")["version"] == 3


def test_members_are_added_and_removed_once(root: Path) -> None:
    asked(root, "projects.create", label="tidewatch")
    added = asked(root, "projects.add-members", label="tidewatch", members=["a@x", "b@y", "a@x"])
    assert part(added, "project")["members"] == ["a@x", "b@y"]
    before = said(root)
    assert asked(root, "projects.add-members", label="tidewatch", members=["b@y"])["changed"] is False
    assert asked(root, "projects.remove-members", label="tidewatch", members=["c@z"])["changed"] is False
    assert said(root) == before
    removed = asked(root, "projects.remove-members", label="tidewatch", members=["a@x"])
    assert (removed["changed"], part(removed, "project")["members"]) == (True, ["b@y"])


@pytest.mark.parametrize("label", ["", "  ", "a/b", "a\\b", "a\nb", "a\x1b[0m", "x" * 129])
def test_some_labels_are_refused(root: Path, label: str) -> None:
    with pytest.raises(BadInput):
        asked(root, "projects.create", label=label)


@pytest.mark.parametrize("member", ["", "a", "@x", "a@", "a b@x", "a@x y", "a@\x1b[0m", "a@" + "x" * 64])
def test_members_are_agents_on_nodes(root: Path, member: str) -> None:
    asked(root, "projects.create", label="tidewatch")
    with pytest.raises(BadInput, match="no agent"):
        asked(root, "projects.add-members", label="tidewatch", members=[member])


def test_a_project_that_is_in_two_spaces_is_named_with_its_space(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    asked(root, "projects.create", label="tidewatch")
    made = asked(root, "projects.create", label="tidewatch", space="team", is_open=True)
    assert made["created"] is True
    with pytest.raises(BadInput):
        shown(root, "tidewatch")
    assert shown(root, "tidewatch", "team")["open"] is True
    assert shown(root, "tidewatch", "home")["open"] is False
    assert [one["space"] for one in items(asked(root, "projects.list"), "projects")] == ["home", "team"]
    assert [one["space"] for one in items(asked(root, "projects.list", space="team"), "projects")] == ["team"]


def test_what_nobody_made_is_not_found(root: Path) -> None:
    asked(root, "projects.create", label="tidewatch")
    for name, more in (("show", {}), ("add-members", {"members": ["a@x"]})):
        with pytest.raises(NotFound, match="no project"):
            asked(root, f"projects.{name}", label="tide", **more)


def test_who_may_not_moderate_makes_no_project(root: Path) -> None:
    asked(root, "spaces.create", label="team")
    with opened(root, writable=True) as local:
        space = next(one.space for one in local.feeds.spaces().values() if one.label == "team")
        less = Add(member=local.identity.public_key, rights=["read", "append"], name="me", owner=True)
        local.feeds.write([Draft(space=space, kind=EntryKind.ROSTER, body=roster.encode(less))])
    before = said(root)
    with pytest.raises(NotAllowed, match="moderate"):
        asked(root, "projects.create", label="tidewatch", space="team")
    assert said(root) == before


def test_a_project_is_still_there_when_what_is_derived_is_made_anew(root: Path) -> None:
    asked(root, "projects.create", label="tidewatch", is_open=True)
    before = shown(root, "tidewatch")
    (root / "derived" / "projection.db").unlink()
    asked(root, "rebuild")
    assert shown(root, "tidewatch") == before
