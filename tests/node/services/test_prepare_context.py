"""Preparing the indexes of context: from nothing, from behind, and again."""

from __future__ import annotations

import pytest

from node.services.prepare_context import handle
from node.services.requests import PrepareRequest
from tests.retrieval.archive_kit import Indexed, body


@pytest.fixture
def indexed(tmp_path) -> Indexed:
    return Indexed(tmp_path)


def prepare(indexed: Indexed, progress: list[dict[str, object]] | None = None) -> dict[str, object]:
    said = [] if progress is None else progress
    with indexed.opened(writable=True) as local:
        return handle(local, PrepareRequest(), said.append)


def test_what_is_archived_becomes_searchable_in_both_lanes(indexed):
    with indexed.opened(writable=True) as local:
        local.archive.append([body("a", ["one", "two words"])], seal=True)
    progress: list[dict[str, object]] = []
    assert prepare(indexed, progress) == {
        "schemaVersion": 1, "status": "ready", "already_ready": False, "indexes": ["words", "substrings"],
        "records_before": 0, "records_after": 2,
    }  # fmt: skip
    assert {item["phase"] for item in progress} == {"index", "projection", "substrings"}
    with indexed.reader() as reader:
        assert reader.has_substring_lane


def test_doing_it_again_changes_nothing(indexed):
    indexed.tell(body("a", ["one"]))
    document = prepare(indexed)
    assert document["already_ready"] is True
    assert (document["records_before"], document["records_after"]) == (1, 1)


def test_a_substring_lane_that_lags_is_brought_level(indexed):
    indexed.tell(body("a", ["one"]), letters=False)
    assert prepare(indexed)["already_ready"] is False
    assert prepare(indexed)["already_ready"] is True


def test_a_new_state_is_ready(indexed):
    document = prepare(indexed)
    assert (document["status"], document["already_ready"], document["records_after"]) == ("ready", True, 0)
