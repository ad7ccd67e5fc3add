"""The context use-case: its document, its bounds, what it says without an index, and that it only logs."""

from __future__ import annotations

import json
import os
import time
from typing import cast

import pytest

from crdt.errors import BadInput, Damaged
from node import config
from node.composition import open_local
from node.services.context import CHARS_MAX, LIMIT_MAX, handle
from node.services.requests import ContextRequest
from retrieval.context import WARNINGS
from tests.node.asking import asked, items
from tests.node.services.memory_kit import keeping
from tests.node.services.statement_kit import CRANE, NEWER, Yard
from tests.retrieval.archive_kit import AUTHORED, Indexed, Said, body, ignore, workspace

DOCUMENT = {
    "schemaVersion", "query", "limit", "max_chars", "text_chars", "truncated", "deduplicated", "scope",
    "route", "index_status", "freshness", "configuration", "degraded", "warnings",
    "requires_live_verification", "served_by", "elapsed_ms", "steps", "evidence",
}  # fmt: skip
EVIDENCE = {
    "record_id", "text", "score", "lane", "conversation_id", "source_sha256", "authored_at", "provider",
    "role", "trust", "note_path", "date_status", "revision_kind", "truncated", "excerpt_start", "excerpt_end",
    "via", "parent_record_id", "superseded_by", "author",
}  # fmt: skip
Document = dict[str, object]


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


@pytest.fixture
def filled(indexed) -> Indexed:
    indexed.project("mailer")
    indexed.tell(body("p", ["Atlas mail routes remotely"], workspace("mailer")))
    indexed.note({"access.md": "Atlas mail access. See [[run]].", "run.md": "Restart the relay."})
    stamp(indexed, 0)
    return indexed


def stamp(indexed: Indexed, age_s: float) -> None:
    (indexed.state / "last-refresh").write_text(str(int(time.time() - age_s)))


def ask(indexed: Indexed, query: str, **options) -> Document:
    options.setdefault("lane", "words")
    with indexed.opened() as local:
        document = handle(local, ContextRequest(query=query, **options), ignore)
    assert set(cast("list[str]", document["warnings"])) <= WARNINGS
    assert json.loads(json.dumps(document)) == document
    return document


def evidence(document: Document) -> list[Document]:
    return cast("list[Document]", document["evidence"])


def test_the_document_has_its_fields(filled):
    project = str(filled.home / "work" / "mailer")
    document = ask(filled, "Atlas mail", project=project)
    assert document.keys() == DOCUMENT
    assert document["scope"] == {"project": project, "workspace": workspace("mailer")}
    assert document["route"] == {
        "requested_lane": "words", "history_lane": "words", "curated_lane": "words",
    }  # fmt: skip
    assert (document["index_status"], document["served_by"]) == ("ready", "in_process")
    assert document["requires_live_verification"] is True
    assert (document["degraded"], document["warnings"]) == (False, [])
    assert document["text_chars"] == sum(len(str(item["text"])) for item in evidence(document))
    steps = cast("list[Document]", document["steps"])
    assert [step["pass"] for step in steps] == ["history", "curated", "links"]
    assert steps[0].keys() == {"pass", "scope", "lane", "candidates", "candidate_limit", "ms"}


def test_evidence_says_where_it_comes_from(filled):
    history, note, linked = evidence(ask(filled, "Atlas mail"))
    for item in (history, note, linked):
        assert item.keys() == EVIDENCE
        assert (item["excerpt_start"], item["excerpt_end"]) == (0, len(str(item["text"])))
    assert (history["trust"], history["via"], history["authored_at"]) == ("history", "history", AUTHORED)
    assert (history["revision_kind"], history["date_status"]) == ("indexed_source_revision", "known")
    assert (note["trust"], note["revision_kind"], note["date_status"]) == (
        "curated", "indexed_note_revision", "unknown",
    )  # fmt: skip
    assert (linked["via"], linked["parent_record_id"]) == ("link", note["record_id"])


def test_a_date_that_is_none_is_called_so(filled):
    filled.tell(body("x", [Said(text="the kelp", at="last spring")]))
    (item,) = evidence(ask(filled, "kelp"))
    assert item["date_status"] == "invalid"


def test_without_a_project_there_is_no_scope(filled):
    assert ask(filled, "Atlas")["scope"] == {"project": None, "workspace": None}


@pytest.mark.parametrize(
    "options",
    [
        {"query": ""},
        {"query": " \n\t"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": LIMIT_MAX + 1},
        {"query": "x", "max_chars": 0},
        {"query": "x", "max_chars": CHARS_MAX + 1},
        {"query": "x", "lane": "words "},
        {"query": "x", "project": "/"},
    ],
    ids=str,
)
def test_what_can_t_be_asked_is_refused_and_not_logged(filled, options):
    with pytest.raises(BadInput) as refused:
        ask(filled, **options)
    assert refused.value.hint
    assert not (filled.state / "synthesis").exists()


def test_the_bounds_themselves_can_be_asked(filled):
    assert ask(filled, "Atlas", limit=1, max_chars=1)["text_chars"] == 1
    assert ask(filled, "Atlas", limit=LIMIT_MAX, max_chars=CHARS_MAX)["truncated"] is False


def test_without_an_index_the_document_says_so_and_nothing_is_made(indexed):
    document = ask(indexed, "kelp")
    assert document.keys() == DOCUMENT
    assert (document["index_status"], document["evidence"], document["degraded"]) == ("unavailable", [], True)
    assert document["warnings"] == ["refresh_unknown", "index_unavailable_or_incompatible"]
    assert not indexed.state.exists()
    assert "rebuild" not in json.dumps(document)
    assert "rm " not in json.dumps(document)


def test_a_damaged_index_is_an_error_of_its_own(filled):
    (filled.state / "derived" / "index.db").write_bytes(b"not a database" * 1_000)
    with pytest.raises(Damaged) as raised:
        ask(filled, "Atlas")
    assert "delete" not in raised.value.hint


def test_an_empty_index_says_so(indexed):
    indexed.tell()
    document = ask(indexed, "kelp")
    assert document["index_status"] == "empty"
    assert "index_empty" in cast("list[str]", document["warnings"])


@pytest.mark.parametrize(
    ("text", "status"),
    [("{now}", "fresh"), ("{old}", "stale"), ("{ahead}", "invalid"), ("never", "invalid"), ("", "invalid"),
     (None, "unknown")],
)  # fmt: skip
def test_the_age_of_the_archive_is_told(filled, text, status):
    path = filled.state / "last-refresh"
    path.unlink()
    if text is not None:
        now_s = int(time.time())
        path.write_text(text.format(now=now_s, old=now_s - 3_700, ahead=now_s + 3_600))
    document = ask(filled, "Atlas")
    freshness = cast("Document", document["freshness"])
    assert freshness["status"] == status
    assert (freshness["last_refresh"] is not None) == (status in ("fresh", "stale"))
    assert document["warnings"] == ([] if status == "fresh" else [f"refresh_{status}"])
    assert document["degraded"] is (status != "fresh")


def test_the_place_of_the_state_is_told_without_the_home(filled):
    configured = cast("Document", ask(filled, "Atlas")["configuration"])
    assert configured == {"status": "explicit_state", "state": str(filled.state), "source": "ATRIUM_STATE"}
    environ = {"HOME": str(filled.home)}
    with_default = open_local(config.load(environ=environ, directory=filled.root), writable=False)
    document = handle(with_default, ContextRequest(query="x"), ignore)
    assert document["configuration"] == {
        "status": "default_path", "state": "[HOME]/.atrium", "source": "default",
    }  # fmt: skip


def test_a_declaration_that_leads_nowhere_is_a_warning(filled):
    environ = {"HOME": str(filled.home), "SYNTOPICA_DATA": str(filled.root / "nowhere")}
    local = open_local(config.load(environ=environ, directory=filled.root), writable=False)
    document = handle(local, ContextRequest(query="x"), ignore)
    assert "configuration_missing" in cast("list[str]", document["warnings"])


def test_a_broken_file_of_aliases_is_a_warning(filled):
    (filled.state / "workspace-aliases.json").write_text("[]")
    assert ask(filled, "Atlas")["warnings"] == ["configuration_invalid"]


def tree(indexed: Indexed) -> dict[str, bytes]:
    return {
        str(path.relative_to(indexed.state)): path.read_bytes() if path.is_file() else b""
        for path in sorted(indexed.state.rglob("*"))
        if not path.name.endswith(("-wal", "-shm")) and "synthesis" not in path.parts
    }


def test_asking_changes_nothing_but_the_log(filled):
    before = tree(filled)
    for lane in ("auto", "words", "substring", "dense"):
        ask(filled, "Atlas mail", lane=lane)
    assert tree(filled) == before
    (day,) = (filled.state / "synthesis" / "queries").iterdir()
    lines = [json.loads(line) for line in day.read_text("utf-8").splitlines()]
    assert [line["lane"] for line in lines] == ["auto", "words", "substring", "dense"]
    assert {len(line["evidence"]) for line in lines} == {3}
    assert "routes remotely" not in day.read_text("utf-8")


def test_a_log_that_can_t_be_written_is_no_reason_not_to_answer(filled):
    (filled.state / "synthesis").write_text("a file where a directory belongs")
    assert evidence(ask(filled, "Atlas"))


def test_evidence_from_memory_says_whose_it_is_and_what_took_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    yard = Yard(tmp_path)
    old = yard.remember(CRANE)["record_id"]
    new = yard.remember(NEWER, old)["record_id"]
    with keeping(yard.state) as kept:
        kept.add("the crane is out of order")
    found = items(
        asked(yard.state, "context", query="crane", lane="words", project=str(yard.project())), "evidence"
    )
    assert [(item["via"], item["trust"], item["superseded_by"]) for item in found] == [
        ("history", "synthesized", None),
        ("memory", "shared", None),
        ("history", "synthesized", new),
    ]
    assert found[2]["record_id"] == old
    assert {item["author"] for item in found} == {f"local@{os.uname().nodename}"}
