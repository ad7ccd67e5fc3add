"""The substring lane: letters anywhere, whether or not its index has caught up."""

from __future__ import annotations

import pytest

from retrieval import substrings
from retrieval.index_schema import discard_database
from retrieval.models import Deadline, Filter, Hit
from retrieval.substrings import has_unspaced_script
from tests.retrieval.archive_kit import Indexed, body, record, workspace


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def found(indexed: Indexed, text: str, limit: int = 50, wanted: Filter | None = None) -> list[Hit]:
    """Search the lane and bring the hits whole."""
    with indexed.reader() as reader:
        answer = reader.substrings(text, wanted or Filter(), limit, Deadline(60))
        assert not answer.is_exhausted
        return reader.hits(answer.candidates, "substrings")


def names(hits: list[Hit]) -> set[str]:
    return {hit.text for hit in hits}


@pytest.mark.parametrize("letters", [True, False], ids=["indexed", "scanned"])
def test_letters_are_found_inside_words_in_either_case(indexed, letters):
    indexed.tell(
        body("a", ["a wallpaper"]), body("b", ["the WAL file"]), body("c", ["a door"]), letters=letters
    )
    assert names(found(indexed, "Wal")) == {"a wallpaper", "the WAL file"}


def test_what_the_lane_has_not_seen_comes_after_what_it_ranks(indexed):
    indexed.tell(body("a", ["a wallpaper"])).tell(body("b", ["the wall"]), letters=False)
    hits = found(indexed, "wal")
    assert [hit.text for hit in hits] == ["a wallpaper", "the wall"]
    assert hits[0].score > hits[1].score


def test_fewer_than_three_letters_find_nothing(indexed):
    indexed.tell(body("a", ["ab abc"]))
    assert found(indexed, "ab") == []
    assert found(indexed, " a  ") == []


@pytest.mark.parametrize("query", ["设置", "数据库", "データベース", "ฐานข้อมูล"])
def test_scripts_without_spaces_are_found_within_a_sentence(indexed, query):
    indexed.tell(body("a", [f"我们昨天{query}之后再试"]), body("b", ["nothing of it"]))
    assert [hit.record_id for hit in found(indexed, query)] == [record("a")]


def test_one_character_finds_nothing_in_any_script(indexed):
    indexed.tell(body("a", ["设置"]))
    assert found(indexed, "设") == []


def test_scripts_without_spaces_are_told_from_others():
    assert all(map(has_unspaced_script, ("设置", "x かな", "ไทย", "ខ្មែរ")))
    assert not any(map(has_unspaced_script, ("plain", "café", "кит", "데이터 베이스", "“quoted”…", "🦩")))


def test_a_corrected_text_is_found_by_its_new_letters_alone(indexed):
    indexed.tell(body("a", ["the albatross"])).tell(body("a", ["the kittiwake"]))
    assert found(indexed, "albatr") == []
    assert names(found(indexed, "kittiw")) == {"the kittiwake"}


def test_a_lane_of_another_index_is_not_believed(indexed):
    indexed.tell(body("a", ["the albatross"]))
    with indexed.opened(writable=True) as local:
        discard_database(local.paths.index_db)
    indexed.tell(body("b", ["another albatross"]), letters=False)
    with indexed.reader() as reader:
        assert not reader.has_substring_lane
    assert names(found(indexed, "albatr")) == {"the albatross", "another albatross"}
    indexed.tell()
    with indexed.reader() as reader:
        assert reader.has_substring_lane
    assert names(found(indexed, "albatr")) == {"the albatross", "another albatross"}


@pytest.mark.parametrize("letters", [True, False], ids=["indexed", "scanned"])
def test_scope_and_roles_are_applied_inside_the_lane(indexed, letters):
    others = [body(f"o{n}", ["wallpaper"], workspace("other")) for n in range(30)]
    indexed.tell(*others, body("mine", ["one wallpaper here"], workspace("mine")), letters=letters)
    hits = found(indexed, "wallp", 2, Filter(workspace=workspace("mine")))
    assert [hit.record_id for hit in hits] == [record("mine")]
    assert found(indexed, "wallp", 2, Filter(roles=("note",))) == []


@pytest.mark.parametrize("letters", [True, False], ids=["indexed", "scanned"])
def test_no_more_than_asked_for_in_the_order_of_ids(indexed, letters):
    indexed.tell(*(body(f"c{n}", ["wallpaper"]) for n in range(12)), letters=letters)
    ids = [hit.record_id for hit in found(indexed, "allpap", 5)]
    assert ids == sorted(record(f"c{n}") for n in range(12))[:5]


@pytest.mark.parametrize(
    "query", ['"wal', "wal*", "NEAR(wal", "wal) OR (x", "'; DROP TABLE records; --", "wal\0l"]
)
def test_no_text_is_anything_but_letters(indexed, query):
    indexed.tell(body("a", ["wallpaper"]))
    assert found(indexed, query) == []
    assert len(found(indexed, "wal")) == 1


def test_time_that_is_up_is_said(indexed):
    indexed.tell(body("a", ["wallpaper"]))
    with indexed.reader() as reader:
        answer = reader.substrings("wal", Filter(), 10, Deadline(0))
    assert answer.is_exhausted
    assert answer.candidates == ()


@pytest.mark.parametrize("damage", ["empty", "no database", "broken pages"])
def test_a_damaged_lane_is_scanned_for_and_made_anew_by_the_next_writer(indexed, damage):
    indexed.tell(body("a", ["a wallpaper"]))
    with indexed.opened() as local:
        path = local.paths.substrings_db
    data = path.read_bytes()
    path.write_bytes({"empty": b"", "no database": b"x" * len(data)}.get(damage, data[:4096] + b"x" * 40_000))
    assert names(found(indexed, "wal")) == {"a wallpaper"}
    indexed.tell(body("b", ["the wall"]))
    assert names(found(indexed, "wal")) == {"a wallpaper", "the wall"}
    with indexed.reader() as reader:
        assert reader.has_substring_lane


def test_large_texts_are_taken_in_few_at_a_time(indexed, monkeypatch):
    monkeypatch.setattr(substrings, "BATCH_CHARS", 100)
    indexed.tell(*(body(f"a{n}", [f"wallpaper {n} {'x' * 60}"]) for n in range(7)), letters=False)
    seen: list[int] = []
    with indexed.opened(writable=True) as local:
        assert local.substrings.catch_up(lambda done, _total: seen.append(done)) == 7
    assert seen == [2, 4, 6, 7]
    indexed.tell(*(body(f"a{n}", [f"door {n} {'x' * 60}"]) for n in range(7)))
    assert found(indexed, "wallp") == []
    assert len(found(indexed, "door")) == 7


@pytest.mark.parametrize("letters", [True, False], ids=["indexed", "scanned"])
def test_what_is_superseded_comes_last_and_takes_no_place(indexed, letters):
    indexed.tell(
        body("old", ["wallpaper"]), body("new", ["a roll of wallpaper for the long wall"]), letters=letters
    )
    indexed.supersede(record("new"), record("old"))
    assert [hit.record_id for hit in found(indexed, "wallp")] == [record("new"), record("old")]
    assert [hit.superseded_by for hit in found(indexed, "wallp", 1)] == [None]


def test_what_was_scanned_and_holds_comes_before_what_is_superseded(indexed):
    indexed.tell(body("old", ["wallpaper"])).tell(body("new", ["new wallpaper"]), letters=False)
    indexed.supersede(record("new"), record("old"))
    assert [hit.record_id for hit in found(indexed, "wallp")] == [record("new"), record("old")]
    assert [hit.record_id for hit in found(indexed, "wallp", 1)] == [record("new")]
