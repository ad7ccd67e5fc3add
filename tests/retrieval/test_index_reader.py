"""The index reader: what it brings whole, how it finds its way, and what it refuses to open."""

from __future__ import annotations

import json
import sqlite3

import pytest

from crdt.errors import IndexUnavailable
from crdt.manifests import Tombstone
from retrieval.models import Candidate, Deadline, Filter
from retrieval.query import parse_query
from tests.retrieval.archive_kit import AUTHORED, Indexed, Said, body, record, workspace

NOTES = {"a.md": "# Access\n\nthe anchor", "deep/b.md": "---\naliases: [Log]\n---\n# Book\n\nthe log"}


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def test_a_hit_has_everything_that_an_answer_says(indexed):
    indexed.tell(body("a", ["the anchor", Said(text="it is sold", role="assistant")], workspace("depot")))
    with indexed.reader() as reader:
        answer = reader.words(parse_query("sold"), Filter(), 5, Deadline())
        (hit,) = reader.hits(answer.candidates, "words")
    assert hit.record_id == record("a", 1)
    assert (hit.text, hit.role, hit.lane, hit.trust) == ("it is sold", "assistant", "words", "history")
    assert (hit.provider, hit.title, hit.event_index) == ("claude-code", "the anchor", 1)
    assert (hit.authored_at, hit.workspace) == (AUTHORED, workspace("depot"))
    assert (hit.note_path, hit.note_root) == (None, None)
    assert len(hit.source_sha256) == len(hit.conversation_id) == 64


def test_candidates_keep_their_order_and_those_that_are_gone_are_left_out(indexed):
    indexed.tell(body("a", ["one anchor", "two anchors"]))
    with indexed.reader() as reader:
        rows = {hit.text: hit.row for hit in reader.by_prefix(record("a")[:8])}
        other = reader.by_prefix(record("a", 1))[0].row
        wanted = [
            Candidate(row=other, score=2),
            Candidate(row=999, score=1),
            Candidate(row=rows["one anchor"], score=0),
        ]
        assert [(hit.text, hit.score) for hit in reader.hits(wanted, "words")] == [
            ("two anchors", 2),
            ("one anchor", 0),
        ]


def test_a_record_is_found_by_the_beginning_of_its_id(indexed):
    indexed.tell(body("a", [f"anchor number {n}" for n in range(300)]))
    whole = record("a", 7)
    with indexed.reader() as reader:
        for digits in (64, 33, 16):
            assert [hit.record_id for hit in reader.by_prefix(whole[:digits])] == [whole]
        assert len(reader.by_prefix(whole[:1])) == 3
        assert reader.by_prefix("0" * 40) == []


def test_turns_around_a_record_are_in_order_and_bounded(indexed):
    indexed.tell(body("a", [f"turn {n}" for n in range(10)]), body("b", ["elsewhere"]))
    with indexed.reader() as reader:
        row = reader.by_prefix(record("a", 4))[0].row
        assert [hit.event_index for hit in reader.around(row, 2)] == [2, 3, 4, 5, 6]
        assert [hit.event_index for hit in reader.around(row, 0)] == [4]
        first = reader.by_prefix(record("a", 0))[0].row
        assert [hit.event_index for hit in reader.around(first, 2)] == [0, 1, 2]
        assert reader.count_of_conversation(row) == 10
        assert len(reader.conversation_of(row)) == 10
        assert reader.around(10_000, 2) == []


def test_notes_are_read_by_root_and_path(indexed):
    indexed.note(NOTES).note({"a.md": "another root"}, root="clips", role="source")
    with indexed.reader() as reader:
        (anchor,) = [hit for hit in reader.hits(every(indexed), "words") if hit.text.endswith("the anchor")]
        assert anchor.note_root is not None
        assert [hit.text for hit in reader.note(anchor.note_root, "a.md")] == [anchor.text]
        assert reader.note(anchor.note_root, "missing.md") == []
        assert reader.note_names(anchor.note_root) == {"a.md": ["Access"], "deep/b.md": ["Book", "Log"]}


def every(indexed: Indexed) -> list[Candidate]:
    """Name every record of a small index as a candidate."""
    return [Candidate(row=row, score=0) for row in range(1, 20)]


def test_the_first_records_of_a_note_can_be_asked_for(indexed):
    long = "\n\n".join(f"# Part {n}\n\n" + "anchor " * 100 for n in range(6))
    indexed.note({"long.md": long})
    with indexed.reader() as reader:
        root = next(hit.note_root for hit in reader.hits(every(indexed), "words"))
        assert root is not None
        assert [hit.event_index for hit in reader.note(root, "long.md", 2)] == [0, 1]
        assert len(reader.note(root, "long.md")) >= 6


def test_equal_content_has_an_equal_digest_whatever_the_order(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    one, other = Indexed(tmp_path / "one"), Indexed(tmp_path / "other")
    bodies = [body(f"c{n}", [f"message {n}", "an answer to it"]) for n in range(4)]
    one.tell(*bodies).note(NOTES)
    other.note(NOTES)
    for item in reversed(bodies):
        other.tell(item, seal=False)
    with one.reader() as first, other.reader() as second:
        assert first.digest() == second.digest() != first.digest(notes=True)
        assert first.by_source() == second.by_source() == {"brain": 2, "claude-code": 8}


def test_an_index_knows_whether_it_has_any_record(indexed):
    indexed.tell()
    with indexed.reader() as reader:
        assert reader.is_empty()
    indexed.tell(body("a", ["anchor"]))
    with indexed.reader() as reader:
        assert not reader.is_empty()


def test_aliases_apply_to_scope_and_hit_when_reading(indexed):
    indexed.tell(body("a", ["anchor"], workspace("old")), body("b", ["anchor"], workspace("new")))
    (indexed.state / "workspace-aliases.json").write_text(json.dumps({workspace("old"): workspace("new")}))
    with indexed.reader() as reader:
        answer = reader.words(parse_query("anchor"), Filter(workspace=workspace("new")), 5, Deadline())
        hits = reader.hits(answer.candidates, "words")
    assert [hit.workspace for hit in hits] == [workspace("new")] * 2


def test_one_reader_answers_for_several_scopes(indexed):
    indexed.tell(body("a", ["anchor"], workspace("red")), body("b", ["anchor"], workspace("blue")))
    with indexed.reader() as reader:
        for name in ("red", "blue", "red"):
            wanted = Filter(workspace=workspace(name))
            (candidate,) = reader.words(parse_query("anchor"), wanted, 5, Deadline()).candidates
            assert reader.hits([candidate], "words")[0].workspace == workspace(name)
        assert len(reader.words(parse_query("anchor"), Filter(), 5, Deadline()).candidates) == 2


def test_a_tombstoned_conversation_is_known_and_not_served(indexed):
    indexed.tell(body("a", ["anchor"]), body("b", ["rope"]))
    with indexed.reader() as reader:
        listed = {identity for _, identity, _ in reader.conversations()}
        gone = reader.by_prefix(record("a"))[0].conversation_id
        assert reader.conversation(gone) is not None
    with indexed.opened(writable=True) as local:
        local.archive.commit([], tombstone=Tombstone(removed=[gone]))
        local.follower.catch_up()
    with indexed.reader() as reader:
        assert reader.by_prefix(record("a")) == []
        assert {identity for _, identity, _ in reader.conversations()} == listed - {gone}
        known = reader.conversation(gone)
        assert known is not None
        assert known[1:] == (True, True)
        assert reader.conversation("0" * 64) is None


def test_without_an_index_it_says_so_and_makes_none(indexed):
    with pytest.raises(IndexUnavailable), indexed.reader():
        pass
    assert not indexed.state.exists()


def test_an_index_of_another_version_is_refused(indexed):
    indexed.tell(body("a", ["anchor"]))
    with indexed.opened() as local:
        connection = sqlite3.connect(local.paths.index_db)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(IndexUnavailable, match="999"), indexed.reader():
        pass
