"""Show: a record by the beginning of its id, in its conversation."""

from __future__ import annotations

from typing import cast

import pytest

from crdt.errors import BadInput, IndexUnavailable, NotFound
from node.services.requests import ShowRequest
from node.services.show import AROUND_MAX, handle
from tests.node.asking import asked
from tests.node.services.statement_kit import CRANE, NEWER, Yard
from tests.retrieval.archive_kit import AUTHORED, Indexed, Said, body, ignore, record, workspace

Document = dict[str, object]


@pytest.fixture
def indexed(tmp_path, monkeypatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    turns = [Said(text=f"turn {n}", role="assistant" if n % 2 else "user") for n in range(10)]
    return made.tell(body("a", turns, workspace("depot")), body("b", ["elsewhere"]))


def show(indexed: Indexed, given: str, around: int = 3) -> Document:
    with indexed.opened() as local:
        return handle(local, ShowRequest(record=given, around=around), ignore)


def around(document: Document) -> list[Document]:
    return cast("list[Document]", document["around"])


def test_a_record_is_shown_in_its_conversation(indexed):
    document = show(indexed, record("a", 4), 2)
    assert document.keys() == {"schemaVersion", "record", "conversation", "around", "conflicts"}
    shown = cast("Document", document["record"])
    assert (shown["record_id"], shown["text"], shown["title"]) == (record("a", 4), "turn 4", "turn 0")
    conversation = cast("Document", document["conversation"])
    assert conversation == {
        "conversation_id": shown["conversation_id"], "title": "turn 0", "source": "claude-code",
        "workspace": workspace("depot"), "records": 10,
    }  # fmt: skip
    turns = around(document)
    assert [turn["text"] for turn in turns] == [f"turn {n}" for n in (2, 3, 4, 5, 6)]
    assert [turn["is_record"] for turn in turns] == [False, False, True, False, False]
    assert turns[1] == {
        "event_index": 3, "role": "assistant", "text": "turn 3", "record_id": record("a", 3),
        "authored_at": AUTHORED, "is_record": False,
    }  # fmt: skip


def test_the_ends_of_a_conversation_have_fewer_neighbours(indexed):
    assert [turn["event_index"] for turn in around(show(indexed, record("a", 0)))] == [0, 1, 2, 3]
    assert [turn["event_index"] for turn in around(show(indexed, record("a", 9)))] == [6, 7, 8, 9]
    assert [turn["event_index"] for turn in around(show(indexed, record("a", 5), 0))] == [5]


@pytest.mark.parametrize("digits", [8, 11, 63])
def test_the_beginning_of_an_id_is_enough_in_either_case(indexed, digits):
    shown = cast("Document", show(indexed, f" {record('a', 4)[:digits].upper()} ")["record"])
    assert shown["record_id"] == record("a", 4)


def test_a_beginning_that_several_have_names_them(indexed):
    names: dict[str, list[str]] = {}
    for n in range(2_000):
        names.setdefault(record(f"c{n}")[:4], []).append(f"c{n}")
    one, other = next(pair for pair in names.values() if len(pair) == 2)
    indexed.tell(body(one, ["x"]), body(other, ["y"]))
    with pytest.raises(BadInput) as refused:
        show(indexed, record(one)[:4])
    assert not isinstance(refused.value, NotFound)
    assert record(one)[:16] in refused.value.detail
    assert record(other)[:16] in refused.value.detail


@pytest.mark.parametrize("given", ["", "abc", "xyzxyz", "a" * 65, "../../etc", "\uff05abc1"])
def test_what_is_no_beginning_of_an_id_is_refused(indexed, given):
    with pytest.raises(BadInput) as refused:
        show(indexed, given)
    assert not isinstance(refused.value, NotFound)


def test_an_unknown_id_is_not_found(indexed):
    with pytest.raises(NotFound):
        show(indexed, "0123456789abcdef" * 4)


@pytest.mark.parametrize("turns", [-1, AROUND_MAX + 1])
def test_turns_have_bounds(indexed, turns):
    with pytest.raises(BadInput):
        show(indexed, record("a"), turns)


def test_without_an_index_it_says_so(tmp_path):
    with pytest.raises(IndexUnavailable):
        show(Indexed(tmp_path / "none"), record("a"))


def test_a_piece_of_shared_memory_is_shown_with_what_took_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    yard = Yard(tmp_path)
    old = str(yard.remember(CRANE)["record_id"])
    new = yard.remember(NEWER, old)["record_id"]
    document = asked(yard.state, "show", record=old[:16])
    shown = cast("Document", document["record"])
    assert (shown["title"], shown["superseded_by"], shown["role"]) == ("Crane limit", new, "synthesis")
    assert cast("Document", document["conversation"])["records"] == 1
    assert document["conflicts"] == []
