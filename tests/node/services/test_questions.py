"""The checks that use-cases with a question share."""

from __future__ import annotations

import pytest

from crdt.errors import BadInput
from node.services.questions import checked_lane, checked_number, checked_text, scope_of_project
from retrieval.models import LANE_NAMES
from tests.retrieval.archive_kit import Indexed, workspace


def test_what_is_in_order_comes_back_as_it_is():
    assert checked_text(" why ") == " why "
    assert [checked_lane(name) for name in LANE_NAMES] == list(LANE_NAMES)
    assert [checked_number("limit", value, 1, 3) for value in (1, 3)] == [1, 3]


def test_what_is_not_names_itself():
    with pytest.raises(BadInput, match="blank"):
        checked_text("\n")
    with pytest.raises(BadInput, match="'Words'"):
        checked_lane("Words")
    with pytest.raises(BadInput, match="limit must be from 1 to 3, not 4"):
        checked_number("limit", 4, 1, 3)


def test_a_project_is_the_repository_around_it(tmp_path, monkeypatch):
    indexed = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(indexed.home))
    below = indexed.project("depot") / "src"
    below.mkdir()
    with indexed.opened() as local:
        assert scope_of_project(local, str(below)) == workspace("depot")
        with pytest.raises(BadInput, match="in no repository"):
            scope_of_project(local, "/")
