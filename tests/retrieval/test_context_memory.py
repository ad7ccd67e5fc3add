"""Evidence from shared memory: of which project, by which pass, and what holds before what held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrieval.context import Answer, Question, answer
from retrieval.models import Deadline
from tests.crdt.signers import START_MS
from tests.retrieval.memory_kit import Shared, index_id, link, record_session, state_it, write

YARD, OFFICE = "[HOME]/work/yard", "[HOME]/work/office"


@pytest.fixture
def shared(tmp_path) -> Iterator[Shared]:
    made = Shared(tmp_path)
    yield made
    made.close()


def ask(
    shared: Shared, text: str, workspace: str | None = YARD, *, now_ms: int = START_MS, **options
) -> Answer:
    """Follow what was said and ask."""
    shared.follow()
    with shared.reader(now_ms) as reader:
        return answer(reader, Question(text=text, lane="words", workspace=workspace, **options), Deadline(60))


def shown(given: Answer) -> list[str]:
    return [item.excerpt.text for item in given.evidence]


def test_each_kind_comes_by_its_pass_with_its_trust(shared):
    desk = shared.desk
    state_it(desk, "Crane", "It lifts nine tons.", workspace=YARD)
    record_session(desk, "Crane again", "It was greased.", workspace=YARD)
    desk.memory("the crane is old", workspace=YARD)
    write(desk, "decision", None, decision="Keep the crane", workspace=YARD)
    given = ask(shared, "crane")
    kinds = {(item.piece.via, item.piece.hit.role, item.piece.hit.trust) for item in given.evidence}
    assert kinds == {("history", "synthesis", "synthesized"), ("memory", "memory", "shared")}
    assert len(given.evidence) == 4
    assert {item.piece.hit.author for item in given.evidence} == {"local@desk"}
    assert given.warnings == ()


def test_a_statement_stays_in_its_project(shared):
    state_it(shared.desk, "Crane", "It lifts nine tons.", workspace=YARD)
    assert len(ask(shared, "crane").evidence) == 1
    assert ask(shared, "crane", OFFICE).evidence == ()
    assert len(ask(shared, "crane", None).evidence) == 1


def test_memory_of_a_project_stays_there_and_memory_of_none_is_everywhere(shared):
    shared.desk.memory("crane by workspace", workspace=YARD)
    shared.desk.memory("crane by label", project="yard")
    shared.desk.memory("crane of everybody")
    assert set(shown(ask(shared, "crane"))) == {"crane by workspace", "crane by label", "crane of everybody"}
    assert shown(ask(shared, "crane", OFFICE)) == ["crane of everybody"]
    assert len(ask(shared, "crane", None).evidence) == 3


def test_the_curated_pass_says_its_scope_where_there_is_memory(shared):
    shared.desk.memory("crane of everybody")
    steps = {step.name: step.scope for step in ask(shared, "crane").steps}
    assert steps == {"history": YARD, "curated": YARD, "links": None}


def test_what_a_third_party_wrote_is_no_evidence(shared):
    shared.desk.memory("crane for sale", trust="untrusted")
    assert ask(shared, "crane").evidence == ()


def test_expired_memory_is_no_evidence(shared):
    shared.desk.memory("crane closed today", expires_at=START_MS + 5)
    assert shown(ask(shared, "crane")) == ["crane closed today"]
    given = ask(shared, "crane", now_ms=START_MS + 5)
    assert given.evidence == ()
    assert given.warnings == ("no_matches",)


def test_what_holds_comes_before_what_held_whichever_pass_it_came_by(shared):
    desk = shared.desk
    old = state_it(desk, "Crane", "crane crane crane", workspace=YARD)
    new = state_it(desk, "Raised", "the limit of the crane, raised", workspace=YARD)
    desk.memory("a longer text that names the crane only once", workspace=YARD)
    link(desk, index_id("atrium", new.id), index_id("atrium", old.id))
    given = ask(shared, "crane")
    assert [item.piece.hit.superseded_by for item in given.evidence] == [
        None,
        None,
        index_id("atrium", new.id),
    ]
    assert given.evidence[-1].piece.hit.record_id == index_id("atrium", old.id)
    assert all(item.piece.hit.superseded_by is None for item in ask(shared, "crane", limit=2).evidence)


def test_what_says_the_same_counts_once_and_as_what_holds(shared):
    desk = shared.desk
    old = desk.memory("the crane lifts nine tons")
    new = desk.memory("The crane  lifts nine tons")
    link(desk, index_id("memory", new.id), index_id("memory", old.id))
    given = ask(shared, "crane")
    assert [item.piece.hit.record_id for item in given.evidence] == [index_id("memory", new.id)]
    assert given.deduplicated == 1
