"""Operations made from what is wanted and what a record is: they name all heads, or are none at all."""

from __future__ import annotations

from crdt.operations import BASE_MAX, Operation, minted
from crdt.records import Conflict, RecordState
from node.services.record_changes import created, deleted, edited, restored, reverted, tagged

AUTHOR = b"a" * 32
HEADS = [b"1" * 32, b"2" * 32]


def state(**changes: object) -> RecordState:
    given: dict[str, object] = {
        "id": "r", "type": "memory", "creator": AUTHOR, "agent": "local", "owners": [AUTHOR],
        "created_hlc": 1, "updated_hlc": 1, "clock": 1, "version": 1, "heads": HEADS, "text": "the pier",
        "fields": {"kind": "memory", "headline": "pier"}, "tags": {"sea": [b"t" * 32]},
    }  # fmt: skip
    return RecordState(**{**given, **changes})  # type: ignore[arg-type]


def conflict() -> Conflict:
    return Conflict(hash=b"c" * 32, author=AUTHOR, agent="local", hlc=1, text="the quay")


def test_a_new_record_is_named_by_its_author_alone() -> None:
    made = created(AUTHOR, Operation(id="", type="memory", text="x"))
    assert made.nonce is not None
    assert made.id == minted(AUTHOR, made.nonce)
    assert created(AUTHOR, Operation(id="", type="memory", text="x")).id != made.id


def test_an_edit_names_every_head_and_says_only_what_differs() -> None:
    change = edited(state(), "bot", "the crane", {"headline": "pier", "project": "p"})
    assert change is not None
    assert (change.base, change.agent, change.text, change.set) == (
        HEADS,
        "bot",
        "the crane",
        {"project": "p"},
    )


def test_an_edit_that_changes_nothing_is_none() -> None:
    assert edited(state(), "bot", "the pier", {"headline": "pier", "project": None}) is None
    assert edited(state(), "bot", None, {}) is None


def test_the_same_text_again_decides_a_conflict() -> None:
    change = edited(state(conflicts=[conflict()]), "bot", "the pier", {})
    assert change is not None
    assert change.text == "the pier"


def test_a_field_is_taken_away_by_none() -> None:
    change = edited(state(), "bot", None, {"headline": None})
    assert change is not None
    assert (change.set, change.text) == ({"headline": None}, None)


def test_a_removed_tag_is_named_with_the_additions_that_were_seen() -> None:
    change = tagged(state(), "bot", ["new", "sea"], ["sea", "absent"])
    assert change is not None
    assert (change.tag, change.untag) == (["new"], []), "a tag that is both is added, and is there already"
    gone = tagged(state(), "bot", [], ["sea"])
    assert gone is not None
    assert gone.untag == [("sea", b"t" * 32)]
    assert tagged(state(), "bot", ["sea"], ["absent"]) is None


def test_only_what_is_there_is_deleted_and_only_what_is_deleted_restored() -> None:
    assert (deleted(state(), "bot") or state()).deleted is True
    assert deleted(state(deleted=True), "bot") is None
    assert restored(state(), "bot") is None
    change = restored(state(deleted=True), "bot")
    assert change is not None
    assert change.deleted is False


def test_a_revert_brings_text_fields_tags_and_presence_back() -> None:
    now = state(deleted=True, text="new", fields={"kind": "doc", "project": "p"}, tags={"x": [b"x" * 32]})
    change = reverted(now, "bot", state())
    assert change is not None
    assert change.text == "the pier"
    assert change.set == {"kind": "memory", "headline": "pier", "project": None}
    assert (change.tag, change.untag, change.deleted) == (["sea"], [("x", b"x" * 32)], False)
    assert reverted(state(), "bot", state()) is None


def test_no_operation_names_more_heads_than_one_can() -> None:
    heads = [bytes([number]) * 32 for number in range(BASE_MAX + 5)]
    assert len((deleted(state(heads=heads), "bot") or Operation(id="", type="")).base) == BASE_MAX
