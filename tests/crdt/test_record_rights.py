"""Who may change what: minted records, derived records, final ones, tasks and their arbiter."""

from __future__ import annotations

import pytest

from crdt.edges import edge_id
from crdt.operations import Operation, Stamped, Value, mint
from crdt.projects import project_id
from crdt.record_rights import admit
from crdt.reducer import reduce
from crdt.statements import job_key, render
from tests.crdt.record_kit import ANN, BEN, CAT, HOME, TEAM, Record, Table, created, stamp

SAID: dict[str, Value] = {"title": "T", "summary": "S", "facts": ["f"], "workspace": "/w", "project": "w"}


def statement(hlc: int, author: bytes, **more: object) -> Stamped:
    draft = {"id": job_key(SAID), "type": "statement", "set": SAID, "text": render(SAID), **more}
    return stamp(Operation(**draft), hlc, author)  # type: ignore[arg-type]


def edge(hlc: int, author: bytes, **more: object) -> Stamped:
    fields: dict[str, Value] = {"from": "a", "to": "b", "relation": "supersedes"}
    draft = {"id": edge_id("supersedes", "a", "b"), "type": "edge", "set": fields, **more}
    return stamp(Operation(**draft), hlc, author)  # type: ignore[arg-type]


def test_the_owner_may_change_his_record_and_a_moderator_may() -> None:
    record = Record(created("one", author=ANN))
    record.say(11, ANN, on=[record.creation], set={"project": "mine"})
    record.say(12, CAT, on=[record.creation], text="moderated")
    record.say(13, BEN, on=[record.creation], text="stolen")
    state = record.state(TEAM)
    assert (state.text, state.fields["project"], state.owners, state.version) == (
        "moderated",
        "mine",
        [ANN],
        3,
    )


def test_who_may_not_append_says_nothing() -> None:
    nobody = Table(appenders=frozenset({ANN}), moderators=frozenset({ANN, BEN}))
    record = Record(created("one", author=ANN))
    record.say(11, BEN, on=[record.creation], text="two")
    assert record.state(nobody).text == "one"
    assert reduce([created(author=BEN)], nobody) is None


def test_what_was_built_on_something_void_still_saw_what_is_below_it() -> None:
    record = Record(created("one", author=ANN))
    void = record.say(11, BEN, on=[record.creation], text="void")
    record.say(12, ANN, on=[void], text="two")
    assert (record.state(TEAM).text, record.state(TEAM).conflicts) == ("two", [])


def test_the_same_statement_of_two_is_one_record() -> None:
    both = [statement(11, BEN), statement(10, ANN)]
    state = reduce(both, TEAM)
    assert state is not None
    assert (state.owners, state.creator, state.conflicts) == (sorted([ANN, BEN]), ANN, [])
    assert state.text == render(SAID)


@pytest.mark.parametrize(
    "false",
    [
        pytest.param({"text": "other words"}, id="other words under the same id"),
        pytest.param({"set": {**SAID, "title": "U"}}, id="another title"),
        pytest.param({"tag": ["x"]}, id="a tag with it"),
        pytest.param({"deleted": True}, id="a deletion with it"),
        pytest.param({"base": [bytes(32)]}, id="as an edit"),
    ],
)
def test_nothing_else_is_said_under_the_id_of_a_statement(false: dict[str, object]) -> None:
    assert reduce([statement(1, BEN, **false)], TEAM) is None
    alone = reduce([statement(10, ANN)], TEAM)
    assert reduce([statement(10, ANN), statement(1, BEN, **false)], TEAM) == alone


def test_who_said_it_alone_may_delete_it_and_not_once_another_has_said_it_too() -> None:
    said, also = edge(10, ANN), edge(12, BEN)
    gone = edge(11, ANN, base=[said.hash], deleted=True, set={})
    alone, both = reduce([said, gone], TEAM), reduce([said, gone, also], TEAM)
    assert alone is not None
    assert both is not None
    assert (alone.deleted, both.deleted) == (True, False)
    moderated = edge(13, CAT, base=[said.hash], deleted=True, set={})
    after = reduce([said, gone, also, moderated], TEAM)
    assert after is not None
    assert after.deleted


def test_only_who_moderates_makes_a_project() -> None:
    def project(author: bytes, owner: str, hlc: int) -> Stamped:
        fields: dict[str, Value] = {"label": "harbour", "owner": owner, "open": False}
        return stamp(Operation(id=project_id("harbour"), type="project", set=fields), hlc, author)

    state = reduce([project(CAT, "cat@one", 20), project(BEN, "ben@two", 30)], TEAM)
    assert state is not None
    assert (state.fields["owner"], state.version) == ("cat@one", 1)
    assert reduce([project(BEN, "ben@two", 1)], TEAM) is None


def test_only_the_node_that_made_a_task_says_who_has_it() -> None:
    identity, nonce = mint(ANN)
    fields: dict[str, Value] = {"title": "t", "state": "open"}
    record = Record(stamp(Operation(id=identity, type="task", set=fields, nonce=nonce), 10, ANN))
    record.say(
        12, BEN, on=[record.creation], set={"state": "claimed", "claimed_by": "ben", "priority": "high"}
    )
    state = record.state(HOME)
    assert state.fields == {"title": "t", "state": "open", "priority": "high"}
    record.say(11, ANN, on=[record.creation], set={"state": "claimed", "claimed_by": "ann", "lease_until": 5})
    assert record.state(HOME).fields["claimed_by"] == "ann"


def test_what_was_sent_stays_as_it_was_sent() -> None:
    identity, nonce = mint(ANN)
    sent = Operation(id=identity, type="message", set={"to": "ben"}, text="hello", nonce=nonce)
    record = Record(stamp(sent, 10, ANN))
    record.say(11, ANN, on=[record.creation], text="never said")
    record.say(12, ANN, on=[record.creation], set={"to": "cat"})
    assert (record.state().text, record.state().fields) == ("hello", {"to": "ben"})
    record.say(13, ANN, on=[record.creation], deleted=True)
    assert record.state().deleted


def test_another_type_is_another_record_s_business() -> None:
    record = Record(created("one"))
    record.operations.append(
        stamp(Operation(id=record.creation.operation.id, type="task", set={"title": "t"}), 1, CAT)
    )
    assert (record.state().type, record.state().version) == ("memory", 1)


def test_an_edit_that_arrives_before_its_creation_counts_for_who_moderates() -> None:
    record = Record(created("one", author=ANN))
    edit = record.say(11, CAT, on=[record.creation], text="two")
    early = reduce([edit], TEAM)
    assert early is not None
    assert (early.text, early.creator, early.owners) == ("two", CAT, [])
    assert record.state(TEAM).creator == ANN


def test_an_imported_record_is_arbitrated_by_who_imported_it() -> None:
    imported = Operation(id="old-task", type="task", set={"title": "t", "state": "open"}, at=3, by="ann@old")
    state = reduce([stamp(imported, 10, CAT)], TEAM)
    assert state is not None
    assert (state.creator, state.by, state.created_hlc, state.fields["state"]) == (CAT, "ann@old", 3, "open")


def test_a_clock_that_an_import_can_t_have_is_not_believed() -> None:
    imported = Operation(id="old", type="memory", set={"kind": "memory"}, text="t", at=99)
    state = reduce([stamp(imported, 10, CAT)], TEAM)
    assert state is not None
    assert state.created_hlc == 10


def test_nothing_admitted_is_none() -> None:
    assert admit([], HOME) is None
