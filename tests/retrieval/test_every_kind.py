"""Searching what is archived and not indexed."""

from __future__ import annotations

import pytest

from crdt.events import Kind, Role
from retrieval.every_kind import TEXT_CHARS_MAX, Scanned, Sought, scan
from retrieval.models import Deadline
from retrieval.query import parse_query
from tests.retrieval.archive_kit import Indexed, Said, body, record, workspace


def tool(text: str) -> Said:
    return Said(text=text, role=Role.TOOL, kind=Kind.TOOL_RESULT)


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    made.tell(
        body("old", ["the anchor", tool("anchor: ENOENT at line 3")], workspace("depot")),
        body("thought", [Said(text="the anchor may be lost", role=Role.ASSISTANT, kind=Kind.REASONING)]),
    )
    waiting = Said(text="ls anchor", role=Role.ASSISTANT, kind=Kind.TOOL_CALL)
    return made.tell(body("new", [waiting, Said(text="anchor meta", kind=Kind.METADATA)]), seal=False)


def looked(
    indexed: Indexed, text: str, *, lane: str = "words", scope: str | None = None, limit: int = 10
) -> Scanned:
    """Scan the archive with nothing removed but the conversation `gone`."""
    with indexed.opened() as local:
        sought = Sought(
            text=text, query=parse_query(text), lane=lane, workspace=scope, aliases=local.aliases,
            is_removed=lambda _conversation: text == "anchor gone",
        )  # fmt: skip
        return scan(local.archive, sought, limit, Deadline(60))


def test_calls_results_and_reasoning_are_found_and_nothing_else(indexed):
    hits = looked(indexed, "anchor").hits
    assert {(hit.text, hit.role) for hit in hits} == {
        ("anchor: ENOENT at line 3", "tool"),
        ("the anchor may be lost", "assistant"),
        ("ls anchor", "assistant"),
    }
    assert {hit.record_id for hit in hits} == {record("old", 1), record("thought"), record("new")}


def test_what_waits_for_a_segment_comes_first_and_enough_is_enough(indexed):
    found = looked(indexed, "anchor", limit=1)
    assert [hit.text for hit in found.hits] == ["ls anchor"]
    assert not found.is_exhausted


def test_every_word_is_needed(indexed):
    assert [hit.text for hit in looked(indexed, "anchor enoent").hits] == ["anchor: ENOENT at line 3"]
    assert looked(indexed, "anchor pelican").hits == ()
    assert looked(indexed, "...").hits == ()


def test_letters_are_found_in_their_lane(indexed):
    (hit,) = looked(indexed, "enoe", lane="substrings").hits
    assert (hit.lane, hit.trust) == ("substrings", "untrusted")
    assert looked(indexed, "en", lane="substrings").hits == ()


def test_the_scope_counts(indexed):
    assert [hit.text for hit in looked(indexed, "anchor", scope=workspace("depot")).hits] == [
        "anchor: ENOENT at line 3"
    ]
    assert looked(indexed, "anchor", scope=workspace("dep")).hits == ()


def test_an_event_in_two_fragments_is_found_once(indexed):
    again = [Said(text="the anchor"), tool("anchor: ENOENT at line 3"), "and on"]
    indexed.tell(body("old", again, workspace("depot")))
    assert len(looked(indexed, "enoent").hits) == 1


def test_conversations_that_left_the_index_are_left_out(indexed):
    indexed.tell(body("x", [tool("anchor gone")]))
    assert looked(indexed, "anchor gone").hits == ()


def test_a_huge_text_is_cut_around_the_match(indexed):
    indexed.tell(body("huge", [tool("filler " * 20_000 + "kittiwake " + "filler " * 20_000)]))
    (hit,) = looked(indexed, "kittiwake").hits
    assert len(hit.text) <= TEXT_CHARS_MAX
    assert "kittiwake" in hit.text


def test_time_that_is_up_is_said(indexed):
    with indexed.opened() as local:
        sought = Sought(
            text="anchor", query=parse_query("anchor"), lane="words", workspace=None, aliases=local.aliases,
            is_removed=lambda _conversation: False,
        )  # fmt: skip
        assert scan(local.archive, sought, 10, Deadline(0)) == Scanned(is_exhausted=True)
