"""The words lane: what matches, in which order, within which scope, and until when."""

from __future__ import annotations

import pytest

from retrieval import words
from retrieval.models import Deadline, Filter, Hit
from retrieval.query import parse_query
from tests.retrieval.archive_kit import Indexed, Said, body, record, workspace


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def found(indexed: Indexed, text: str, limit: int = 50, wanted: Filter | None = None) -> list[Hit]:
    """Search the lane and bring the hits whole."""
    with indexed.reader() as reader:
        answer = reader.words(parse_query(text), wanted or Filter(), limit, Deadline(60))
        assert not answer.is_exhausted
        return reader.hits(answer.candidates, "words")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def test_whole_words_match_and_parts_of_words_do_not(indexed):
    indexed.tell(body("a", ["the wall of the harbour"]), body("b", ["we reverted WAL last week"]))
    assert texts(found(indexed, "wal")) == ["we reverted WAL last week"]


def test_accents_and_composition_do_not_matter(indexed):
    indexed.tell(body("a", ["order a café-au-lait"]), body("b", ["order a tea"]))
    for query in ("cafe-au-lait", "CAFÉ-AU-LAIT", "cafe\u0301-au-lait"):
        assert texts(found(indexed, query)) == ["order a café-au-lait"]


def test_records_with_every_term_come_before_those_with_some(indexed):
    some = [body(f"s{n}", ["kelp kelp kelp"]) for n in range(5)]
    indexed.tell(*some, body("all", ["a long sentence about harvest that names the kelp once, at its end"]))
    hits = found(indexed, "kelp harvest")
    assert hits[0].record_id == record("all")
    assert len(hits) == 6
    assert hits[0].score > 1 >= hits[1].score > 0


def test_the_exact_form_is_found_among_decoys(indexed):
    decoys = [body(f"d{n}", [f"3 7 0 and 3 7 0 again, number {n}"]) for n in range(60)]
    indexed.tell(*decoys, body("exact", ["the release was " + "very " * 60 + "much like 3.7.0"]))
    assert [hit.record_id for hit in found(indexed, "3.7.0")] == [record("exact")]


def test_a_match_by_neighbours_ranks_below_every_match_of_its_own(indexed):
    indexed.tell(body("near", ["kelp", "yes it is so"]), body("own", ["kelp " + "filler " * 400]))
    hits = found(indexed, "kelp")
    assert {hit.record_id for hit in hits[:2]} == {record("near", 0), record("own")}
    assert hits[2].record_id == record("near", 1)
    assert hits[1].score > 0 >= hits[2].score


def test_neighbours_that_fill_a_pass_hide_no_record_of_its_own(indexed):
    crowd = [body(f"c{n}", ["kelp", "a b", "c d"]) for n in range(60)]
    indexed.tell(*crowd, body("long", ["kelp " + " ".join(f"word{n}" for n in range(3_000))]))
    hits = found(indexed, "kelp", limit=61)
    assert {hit.record_id for hit in hits} == {record("long"), *(record(f"c{n}") for n in range(60))}


def test_the_scope_is_applied_before_the_best_are_chosen(indexed):
    others = [body(f"o{n}", ["kelp kelp kelp"], workspace("other")) for n in range(150)]
    indexed.tell(
        *others, body("mine", ["a longer sentence with the kelp of this project"], workspace("mine"))
    )
    hits = found(indexed, "kelp", 3, Filter(workspace=workspace("mine")))
    assert [hit.record_id for hit in hits] == [record("mine")]


def test_a_scope_has_what_is_below_it_and_no_sibling(indexed):
    names = ("my_app", "my_app/sub", "myXapp", "my_app2")
    indexed.tell(*(body(name, ["kelp"], workspace(name)) for name in names))
    hits = found(indexed, "kelp", wanted=Filter(workspace=workspace("my_app")))
    assert {hit.workspace for hit in hits} == {workspace("my_app"), workspace("my_app/sub")}


def test_roles_are_applied_inside_the_lane(indexed):
    talk = [body(f"t{n}", ["kelp kelp"]) for n in range(120)]
    indexed.tell(*talk).note({"a.md": "one line about kelp"})
    assert [hit.note_path for hit in found(indexed, "kelp", 3, Filter(roles=("note",)))] == ["a.md"]


def test_equal_scores_are_in_the_order_of_record_ids(indexed):
    indexed.tell(*(body(f"c{n}", ["kelp"]) for n in range(40)))
    for limit in (40, 7):
        ids = [hit.record_id for hit in found(indexed, "kelp", limit)]
        assert ids == sorted(record(f"c{n}") for n in range(40))[:limit]


def test_a_large_index_is_not_asked_for_common_words(indexed, monkeypatch):
    monkeypatch.setattr(words, "LARGE_RECORDS", 100)
    crowd = [body(f"c{n}", ["common tide"]) for n in range(150)]
    indexed.tell(*crowd, body("rare", ["a wreck"]))
    assert texts(found(indexed, "common wreck")) == ["a wreck"]


def test_common_words_are_asked_for_when_nothing_else_is_left(indexed, monkeypatch):
    monkeypatch.setattr(words, "LARGE_RECORDS", 100)
    halves = [body(f"c{n}", ["ebb" if n % 2 else "flow"]) for n in range(150)]
    indexed.tell(*halves)
    assert len(found(indexed, "ebb flow")) == 50


def test_stop_words_alone_are_searched(indexed):
    indexed.tell(body("a", ["to be or not to be"]), body("b", ["something else entirely"]))
    assert texts(found(indexed, "or not to be")) == ["to be or not to be"]


def test_a_date_is_found_by_its_words(indexed):
    indexed.tell(body("a", [Said(text="the anchor was sold", at="2026-03-05T09:00:00.000Z")]))
    assert texts(found(indexed, "anchor march")) == ["the anchor was sold"]


def test_time_that_is_up_is_said(indexed):
    indexed.tell(body("a", ["kelp"]))
    with indexed.reader() as reader:
        answer = reader.words(parse_query("kelp harvest"), Filter(), 10, Deadline(0))
    assert answer.is_exhausted
    assert answer.candidates == ()


def test_a_query_without_words_finds_nothing(indexed):
    indexed.tell(body("a", ["kelp (...)"]))
    assert found(indexed, "(...)") == []


def test_what_is_superseded_comes_after_all_that_holds(indexed):
    indexed.tell(
        body("old", ["kelp kelp kelp"]),
        body("new", ["the kelp of today"]),
        body("near", ["x kelp", "so it is"]),
    )
    indexed.supersede(record("new"), record("old"))
    hits = found(indexed, "kelp")
    assert [hit.record_id for hit in hits][-1] == record("old")
    assert [hit.superseded_by for hit in hits] == [None, None, None, record("new")]
    assert hits[-1].score < min(hit.score for hit in hits[:-1])


def test_the_superseded_take_no_place_from_what_holds(indexed):
    old = [body(f"old{n}", ["kelp kelp harvest"]) for n in range(150)]
    indexed.tell(
        *old, body("every", ["a longer text about kelp and its harvest"]), body("some", ["harvest, again"])
    )
    for n in range(150):
        indexed.supersede(record("every"), record(f"old{n}"))
    assert [hit.record_id for hit in found(indexed, "kelp harvest", 1)] == [record("every")]
    assert [hit.record_id for hit in found(indexed, "kelp harvest", 2)] == [record("every"), record("some")]
    ids = [hit.record_id for hit in found(indexed, "kelp harvest", 4)]
    assert ids == [record("every"), record("some"), *sorted(record(f"old{n}") for n in range(150))[:2]]


def test_the_exact_form_is_found_behind_what_is_superseded(indexed):
    decoys = [body(f"d{n}", [f"3 7 0 and 3 7 0 again, number {n}"]) for n in range(60)]
    indexed.tell(*decoys, body("old", ["release 3.7.0"]), body("new", ["we went on from 3.7.0 to the next"]))
    indexed.supersede(record("new"), record("old"))
    assert [hit.record_id for hit in found(indexed, "3.7.0")] == [record("new"), record("old")]
