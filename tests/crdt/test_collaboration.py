"""Collaborative documents: edits at the same time are all there; what is hostile is passed over alike."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt import collaboration
from crdt.collaboration import Origin, as_edit, client_id, read_document, text_update
from crdt.errors import BadInput
from crdt.operations import TEXT_BYTES_MAX, Operation, Stamped, mint
from crdt.records import RecordState
from crdt.reducer import extend
from tests.crdt.record_kit import ANN, BEN, CAT, HOME, TEAM, Record, stamp
from tests.crdt.test_text_updates import HOSTILE, STRING, block

WORDS = st.text("ab\nö😀 ", max_size=20)


def grown(texts: Sequence[str]) -> list[bytes]:
    """Make the edits from one text to the next."""
    updates: list[bytes] = []
    for place, text in enumerate(texts):
        update = text_update(updates, text, place + 1)
        updates += [] if update is None else [update]
    return updates


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=6))
def test_edits_one_after_another_give_the_last_text(texts: list[str]) -> None:
    document = read_document(grown(texts))
    assert (document.text, document.skipped) == (texts[-1], [])


@settings(max_examples=40, deadline=None)
@given(WORDS, WORDS, WORDS)
def test_concurrent_edits_converge(base: str, ours: str, theirs: str) -> None:
    before = grown([base])
    one, other = text_update(before, ours, 11), text_update(before, theirs, 12)
    edits = [edit for edit in (one, other) if edit is not None]
    there, back = read_document([*before, *edits]), read_document([*before, *edits[::-1]])
    assert there == back
    assert there.skipped == []


def test_concurrent_edits_are_all_there() -> None:
    before = grown(["one\ntwo\nthree"])
    edits = [
        text_update(before, text, client)
        for client, text in ((11, "ONE\ntwo\nthree"), (12, "one\ntwo\nthree!"), (13, "one\ntwo and\nthree"))
    ]
    assert read_document([*before, *filter(None, edits)]).text == "ONE\ntwo and\nthree!"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_edits_are_passed_over(name: str) -> None:
    updates = grown(["one", "one two"])
    document = read_document([updates[0], HOSTILE[name], updates[1]])
    assert (document.text, document.skipped) == ("one two", [1])


def test_what_an_edit_builds_on_must_be_there() -> None:
    updates = grown(["one", "one two", "one two three"])
    assert read_document([updates[0], updates[2]]).skipped == [1]
    assert read_document([updates[0], updates[2], updates[1]]).text == "one two"


def test_a_client_says_each_thing_once_and_nothing_out_of_turn() -> None:
    said, other = block(STRING), block(STRING.replace(b"x", b"y"))
    assert read_document([said, other]).skipped == [1]
    assert read_document([said, block(STRING, clock=3)]).skipped == [1]
    assert read_document([said, other]).text == "x"


def test_the_same_edit_twice_counts_once() -> None:
    updates = grown(["one", "one two"])
    assert read_document([*updates, updates[1]]).text == "one two"


def test_changed_bytes_never_reach_what_pycrdt_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, refused = random.Random(3), []  # noqa: S311
    applied = collaboration._is_applied

    def watched(document: object, update: bytes) -> bool:
        taken = applied(document, update)  # type: ignore[arg-type]
        refused.extend([] if taken else [update])
        return taken

    monkeypatch.setattr(collaboration, "_is_applied", watched)
    originals = grown(["hello wörld 😀\nsecond", "hello there 😀!\nsecond\nthird", "there 😀!\nthird ü"])
    for _ in range(1_500):
        updates = [bytearray(update) for update in originals]
        broken = chosen.choice(updates)
        broken[chosen.randrange(len(broken))] = chosen.choice([chosen.randrange(256), 0x84, 0xC4, 1, 4])
        read_document([bytes(update) for update in updates])
    assert refused == []


def test_an_edit_that_pycrdt_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = grown(["one", "one two", "one two three"])
    bad = block(STRING, client=99)
    applied = collaboration._is_applied
    monkeypatch.setattr(collaboration, "_is_applied", lambda d, update: update != bad and applied(d, update))
    assert read_document([updates[0], bad, *updates[1:]]) == collaboration.Document(
        text="one two three", skipped=[1], cost=read_document(updates).cost
    )
    many = read_document([updates[0], *[bad] * 20, *updates[1:]])
    assert (many.text, many.skipped) == ("one", list(range(1, 23)))


def test_a_panic_is_a_refusal_and_an_interrupt_is_none() -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def __init__(self, error: BaseException) -> None:
            self._error = error

        def apply_update(self, _update: bytes) -> None:
            raise self._error

    assert not collaboration._is_applied(Broken(PanicException()), b"")  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        collaboration._is_applied(Broken(KeyboardInterrupt()), b"")  # type: ignore[arg-type]


def test_a_document_that_is_full_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is what bounds the time: insertions at one place cost the square of their number."""
    monkeypatch.setattr(collaboration, "COST_MAX", 50)
    monkeypatch.setattr(collaboration, "COST_WRITTEN_MAX", 40)
    crowd = [block(STRING, client=client) for client in range(1, 60)]
    assert read_document(crowd).skipped == list(range(50, 59))
    assert text_update(crowd[:39], "x" * 40, 7_000) is not None
    with pytest.raises(BadInput, match="full"):
        text_update(crowd[:40], "x" * 41, 7_000)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadInput, match="256 KiB"):
        text_update([], "x" * (TEXT_BYTES_MAX + 1), 1)


def test_a_client_is_all_that_an_edit_is() -> None:
    origin = Origin(author=ANN, record="r", saw=[b"1", b"2"])
    others = [
        client_id(Origin(author=BEN, record="r", saw=[b"1", b"2"]), "t"),
        client_id(Origin(author=ANN, record="s", saw=[b"1", b"2"]), "t"),
        client_id(Origin(author=ANN, record="r", saw=[b"1"]), "t"),
        client_id(origin, "u"),
    ]
    assert client_id(origin, "t") == client_id(Origin(author=ANN, record="r", saw=[b"2", b"1"]), "t")
    assert len({client_id(origin, "t"), *others}) == 5
    assert all(0 <= one < 1 << 53 for one in others)


class Shared(Record):
    """A collaborative document that its authors edit by texts."""

    def edit(self, text: str, hlc: int, author: bytes, *, on: Sequence[Stamped]) -> Stamped:
        first = self.creation.operation
        base = sorted({one.hash for one in on})
        said = Operation(id=first.id, type=first.type, text=text, base=base)
        made = stamp(as_edit(said, on, HOME, author), hlc, author)
        self.operations.append(made)
        return made


def shared(text: str = "one\ntwo") -> Shared:
    record, nonce = mint(ANN)
    fields = {"kind": "doc", "collaborative": True}
    said = Operation(id=record, type="memory", set=fields, text=text, nonce=nonce)  # type: ignore[arg-type]
    return Shared(stamp(as_edit(said, [], HOME, ANN), 10, ANN))


def shown(state: RecordState) -> tuple[str | None, list[str]]:
    return state.text, [conflict.text for conflict in state.conflicts]


def test_a_collaborative_record_has_the_edits_of_all() -> None:
    record = shared()
    ours = record.edit("ONE\ntwo", 11, ANN, on=[record.creation])
    record.edit("one\ntwo\nthree", 12, BEN, on=[record.creation])
    state = record.state()
    assert shown(state) == ("ONE\ntwo\nthree", [])
    assert (state.collaborative, state.text_author, len(state.text_heads)) == (True, BEN, 2)
    record.operations.reverse()
    assert record.state() == state
    assert extend(state, ours, HOME) is None


def test_edits_of_one_node_on_the_same_heads_are_both_there() -> None:
    record = shared("x")
    record.edit("ax", 11, ANN, on=[record.creation])
    record.edit("xb", 12, ANN, on=[record.creation])
    assert shown(record.state()) == ("axb", [])


def test_a_whole_text_beside_the_edits_is_a_visible_conflict() -> None:
    record = shared()
    record.edit("ONE\ntwo", 11, ANN, on=[record.creation])
    plain = record.say(12, BEN, on=[record.creation], text="all new")
    assert shown(record.state()) == ("ONE\ntwo", ["all new"])
    record.edit("decided", 13, ANN, on=[record.creation, record.operations[1], plain])
    assert shown(record.state()) == ("decided", [])


def test_an_edit_that_a_deletion_had_not_seen_is_on_the_tombstone() -> None:
    record = shared()
    record.edit("worth it", 11, BEN, on=[record.creation])
    gone = record.say(12, CAT, on=[record.creation], deleted=True)
    assert (record.state().deleted, shown(record.state())) == (True, ("worth it", ["worth it"]))
    record.say(13, CAT, on=[gone, record.operations[1]], deleted=False)
    assert shown(record.state()) == ("worth it", [])


def test_edits_of_who_may_not_are_not_applied() -> None:
    record = shared()
    record.edit("stolen", 11, BEN, on=[record.creation])
    state = record.state(TEAM)
    assert (state.text, state.version) == ("one\ntwo", 1)
