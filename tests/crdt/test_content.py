"""Which of several texts is served: merged where that is sure, else the newest with the others beside it."""

from __future__ import annotations

import pytest

from crdt.operations import Operation, Stamped
from crdt.records import CONFLICTS_MAX
from tests.crdt.record_kit import ANN, BEN, CAT, Record, created, stamp

BASE = "one\ntwo\nthree\nfour"


def served(record: Record) -> tuple[str | None, list[str]]:
    state = record.state()
    return state.text, [conflict.text for conflict in state.conflicts]


def test_edits_of_different_lines_are_merged_and_no_conflict() -> None:
    record = Record(created(BASE))
    record.say(11, ANN, on=[record.creation], text=BASE.replace("one", "ONE"))
    record.say(12, BEN, on=[record.creation], text=BASE.replace("four", "FOUR"))
    record.say(13, CAT, on=[record.creation], text=BASE.replace("two", "TWO"))
    state = record.state()
    assert served(record) == ("ONE\nTWO\nthree\nFOUR", [])
    assert (state.text_author, len(state.text_heads)) == (CAT, 3)


def test_one_that_can_t_be_merged_makes_all_of_them_conflicts() -> None:
    record = Record(created(BASE))
    texts = [BASE.replace("one", "ONE"), BASE.replace("four", "FOUR"), BASE.replace("one", "Uno")]
    for number, text in enumerate(texts):
        record.say(11 + number, on=[record.creation], text=text)
    assert served(record) == (texts[2], [texts[1], texts[0]])


def test_what_they_have_in_common_is_the_newest_text_that_all_saw() -> None:
    record = Record(created(BASE))
    second = record.say(11, on=[record.creation], text=BASE.replace("two", "TWO"))
    tagged = record.say(12, on=[second], tag=["t"])
    record.say(13, ANN, on=[tagged], text="ONE\nTWO\nthree\nfour")
    record.say(14, BEN, on=[second], text="one\nTWO\nthree\nFOUR")
    assert served(record) == ("ONE\nTWO\nthree\nFOUR", [])


def criss_cross(record: Record) -> list[Stamped]:
    """Let two decide one conflict, at the same time and each his way."""
    left = record.say(11, ANN, on=[record.creation], text="left")
    right = record.say(12, BEN, on=[record.creation], text="right")
    return [
        record.say(13, ANN, on=[left, right], text="left\nright"),
        record.say(14, BEN, on=[left, right], text="right\nleft"),
    ]


def test_two_decisions_of_one_conflict_are_a_conflict() -> None:
    record = Record(created("base"))
    criss_cross(record)
    assert served(record) == ("right\nleft", ["left\nright"])


def test_two_first_texts_are_a_conflict() -> None:
    record = Record(created(None))
    record.say(11, ANN, on=[record.creation], text="a")
    record.say(12, BEN, on=[record.creation], text="a\nb")
    assert served(record) == ("a\nb", ["a"])


@pytest.mark.parametrize(("count", "is_merged"), [(8, True), (9, False)])
def test_so_many_are_merged_and_no_more(count: int, is_merged: bool) -> None:
    lines = [str(number) for number in range(count)]
    record = Record(created("\n".join(lines)))
    for number in range(count):
        text = "\n".join([*lines[:number], f"edited {number}", *lines[number + 1 :]])
        record.say(11 + number, on=[record.creation], text=text)
    state = record.state()
    assert (state.text == "\n".join(f"edited {number}" for number in range(count))) == is_merged
    assert len(state.conflicts) == (0 if is_merged else count - 1)


def test_conflicts_are_shown_newest_first_and_only_so_many() -> None:
    record = Record(created("x"))
    for number in range(CONFLICTS_MAX + 10):
        record.say(11 + number, on=[record.creation], text=f"text {number}")
    state = record.state()
    assert [conflict.hlc for conflict in state.conflicts] == list(range(11 + 72, 11 + 8, -1))
    assert len(state.text_heads) == CONFLICTS_MAX + 10


def test_an_empty_text_is_a_text() -> None:
    record = Record(created("one"))
    record.say(11, on=[record.creation], text="")
    assert served(record) == ("", [])


def test_a_type_without_text_has_none() -> None:
    made = Operation(id="p", type="project", set={"label": "p"}, text="words")
    assert Record(stamp(made, 10)).state().text is None
