"""The search use-case: its document, its scope, its bounds, and the kinds that are not indexed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

import pytest

from crdt.errors import BadInput, IndexUnavailable, Unavailable
from crdt.events import Kind, Role
from crdt.manifests import Tombstone
from node.services.requests import SearchRequest
from node.services.search import LIMIT_MAX, handle
from retrieval import every_kind
from retrieval.models import Deadline
from tests.node.asking import asked, items
from tests.node.services.memory_kit import keeping
from tests.node.services.statement_kit import CRANE, NEWER, Yard
from tests.retrieval.archive_kit import Indexed, Said, body, ignore, record, workspace

FIELDS = {
    "record_id", "text", "score", "lane", "role", "provider", "conversation_id", "note_path", "authored_at",
    "workspace", "trust", "title", "author", "superseded_by",
}  # fmt: skip
Hit = dict[str, object]


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def ask(indexed: Indexed, query: str, **options) -> dict[str, object]:
    options.setdefault("directory", str(indexed.root))
    with indexed.opened() as local:
        return handle(local, SearchRequest(query=query, **options), ignore)


def hits(indexed: Indexed, query: str, **options) -> list[Hit]:
    return cast("list[Hit]", ask(indexed, query, **options)["hits"])


def test_the_document_has_its_fields(indexed):
    indexed.tell(body("a", ["a heron stands"], workspace("red"))).note({"n.md": "a heron noted"})
    document = ask(indexed, "heron stands")
    assert document.keys() == {"schemaVersion", "query", "lane", "hits", "warnings"}
    assert (document["schemaVersion"], document["query"], document["lane"]) == (1, "heron stands", "words")
    assert document["warnings"] == []
    first, second = hits(indexed, "heron stands")
    assert first.keys() == second.keys() == FIELDS
    assert (first["record_id"], first["trust"], first["note_path"]) == (record("a"), "history", None)
    assert (second["note_path"], second["role"], second["trust"]) == ("n.md", "note", "curated")


def test_the_lane_that_answered_is_named(indexed):
    indexed.tell(body("a", ["the albatross"]))
    for lane, query, name in (
        ("auto", "albatr", "substrings"),
        ("substring", "albatr", "substrings"),
        ("words", "albatr", "words"),
        ("auto", "albatross", "words"),
    ):
        assert ask(indexed, query, lane=lane)["lane"] == name


def test_inside_a_repository_only_it_is_searched(indexed):
    red, blue = indexed.project("red"), indexed.project("blue")
    indexed.tell(
        body("r", ["heron in red"], workspace("red")), body("b", ["heron in blue"], workspace("blue"))
    )
    below = red / "src"
    below.mkdir()
    assert [hit["text"] for hit in hits(indexed, "heron", directory=str(below))] == ["heron in red"]
    named = hits(indexed, "heron", directory=str(red), project=str(blue))
    assert [hit["text"] for hit in named] == ["heron in blue"]
    assert len(hits(indexed, "heron", directory=str(red), everywhere=True)) == 2
    with pytest.raises(BadInput, match="at once"):
        hits(indexed, "heron", project=str(blue), everywhere=True)
    assert len(hits(indexed, "heron")) == 2


def test_a_third_party_s_text_is_found_and_flagged(indexed):
    indexed.note({"w.md": "heron"}, role="source")
    (hit,) = hits(indexed, "heron")
    assert (hit["role"], hit["trust"]) == ("source", "untrusted")


@pytest.mark.parametrize(
    "options",
    [
        {"query": " \n"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": LIMIT_MAX + 1},
        {"query": "x", "lane": "psychic"},
        {"query": "x", "fusion": "psychic"},
        {"query": "x", "project": "/"},
        {"query": "x", "project": "/\0"},
    ],
    ids=str,
)
def test_what_can_t_be_asked_is_refused(indexed, options):
    indexed.tell(body("a", ["x"]))
    with pytest.raises(BadInput) as refused:
        ask(indexed, **options)
    assert refused.value.hint


def test_bounds_are_checked_before_the_index_is_missed(indexed):
    with pytest.raises(BadInput):
        ask(indexed, "x", limit=0)
    with pytest.raises(IndexUnavailable):
        ask(indexed, "x")
    assert not indexed.state.exists()


def test_by_meaning_is_unavailable_and_names_what_is_not(indexed):
    indexed.tell(body("a", ["x"]))
    with pytest.raises(Unavailable) as refused:
        ask(indexed, "x", lane="dense")
    assert "--words" in refused.value.hint


def test_the_largest_limit_is_kept(indexed):
    indexed.tell(*(body(f"c{n}", [f"heron {n}"]) for n in range(LIMIT_MAX + 5)))
    assert len(hits(indexed, "heron", limit=LIMIT_MAX)) == LIMIT_MAX


def test_a_broken_file_of_aliases_is_told(indexed):
    indexed.tell(body("a", ["heron"]))
    (indexed.state / "workspace-aliases.json").write_text("{")
    document = ask(indexed, "heron")
    assert document["warnings"] == ["configuration_invalid"]
    assert document["hits"]


@pytest.fixture
def worked(indexed) -> Indexed:
    result = Said(text="heron: command not found", role=Role.TOOL, kind=Kind.TOOL_RESULT)
    return indexed.tell(body("a", ["run the heron", result, "heron"], workspace("red")))


def test_other_kinds_are_found_when_asked_for(worked):
    assert {hit["role"] for hit in hits(worked, "heron")} == {"user"}
    found = hits(worked, "heron", all_kinds=True)
    assert [hit["role"] for hit in found] == ["user", "user", "tool"]
    assert found[2]["record_id"] == record("a", 1)
    assert found[2].keys() == FIELDS
    assert [hit["role"] for hit in hits(worked, "ommand not", lane="substring", all_kinds=True)] == ["tool"]


def test_other_kinds_keep_scope_and_limit(worked):
    other = worked.project("other")
    assert hits(worked, "heron", all_kinds=True, project=str(other)) == []
    assert len(hits(worked, "heron", all_kinds=True, limit=2)) == 2


def test_other_kinds_of_a_removed_conversation_are_gone(worked):
    (hit,) = hits(worked, "command", all_kinds=True)
    with worked.opened(writable=True) as local:
        local.archive.commit([], tombstone=Tombstone(removed=[str(hit["conversation_id"])]))
        local.follower.catch_up()
    assert hits(worked, "command", all_kinds=True) == []


def test_a_scan_that_was_cut_is_told(worked, monkeypatch):
    monkeypatch.setattr(every_kind, "decode_fragment", None)
    monkeypatch.setattr(Deadline, "passed", lambda _self: True)
    assert ask(worked, "heron", all_kinds=True)["warnings"] == ["lexical_budget_exhausted"]


@pytest.fixture
def yard(tmp_path, monkeypatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def hits_of(yard: Yard, query: str, **more: object) -> list[Mapping[str, object]]:
    return items(asked(yard.state, "search", query=query, lane="words", directory="/", **more), "hits")


def test_shared_memory_says_whose_it_is_and_what_took_its_place(yard):
    old = yard.remember(CRANE)["record_id"]
    new = yard.remember(NEWER, old)["record_id"]
    hits = hits_of(yard, "crane limit", everywhere=True)
    assert [(hit["record_id"], hit["superseded_by"]) for hit in hits] == [(new, None), (old, new)]
    assert {hit["author"] for hit in hits} == {f"local@{os.uname().nodename}"}
    assert {hit["trust"] for hit in hits} == {"synthesized"}
    assert [hit["record_id"] for hit in hits_of(yard, "crane", limit=1, everywhere=True)] == [new]


def test_a_project_finds_its_own_memory_and_what_belongs_to_every_project(yard):
    with keeping(yard.state) as kept:
        kept.add("crane of everybody")
        kept.add("crane of the office", project="office")
        kept.add("crane of the yard", project="yard")
    for name in ("yard", "office"):
        hits = hits_of(yard, "crane", project=str(yard.project(name)))
        assert {hit["text"] for hit in hits} == {"crane of everybody", f"crane of the {name}"}
