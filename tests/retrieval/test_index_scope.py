"""What a scope holds beside conversations: memory by workspace, by label, and what belongs to everybody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrieval.index_scope import label_of
from retrieval.models import Deadline, Filter, Hit
from retrieval.query import parse_query
from tests.retrieval.memory_kit import Shared, texts, write

YARD = Filter(workspace="[HOME]/work/yard", global_roles=("memory",))


@pytest.fixture
def shared(tmp_path) -> Iterator[Shared]:
    made = Shared(tmp_path)
    desk = made.desk
    desk.memory("kelp of yard", workspace="[HOME]/work/yard", project="yard")
    desk.memory("kelp below yard", workspace="[HOME]/work/yard/sub")
    desk.memory("kelp of office", workspace="[HOME]/work/office")
    desk.memory("kelp of another yard", workspace="[HOME]/elsewhere/yard", project="yard")
    desk.memory("kelp by label", project="Yard")
    desk.memory("kelp by another label", project="office")
    desk.memory("kelp of everybody")
    write(desk, "handoff", "kelp handed off", project="yard")
    desk.memory("kelp of nobody we trust", trust="untrusted")
    made.follow()
    yield made
    made.close()


def found(shared: Shared, wanted: Filter) -> set[str]:
    """Search by words and by letters, which agree."""
    words = set(texts(shared.found("kelp", wanted)))
    with shared.reader() as reader:
        answer = reader.substrings("kelp", wanted, 50, Deadline(60))
        letters: list[Hit] = reader.hits(answer.candidates, "substrings")
    assert words == set(texts(letters))
    return words


def test_a_project_has_its_own_memory_and_what_belongs_to_everybody(shared):
    assert found(shared, YARD) == {
        "kelp of yard", "kelp below yard", "kelp by label", "kelp handed off", "kelp of everybody",
    }  # fmt: skip


def test_memory_of_nobody_is_in_a_scope_only_when_its_role_is_asked_for(shared):
    own = Filter(workspace=YARD.workspace)
    assert found(shared, own) == {"kelp of yard", "kelp below yard", "kelp by label", "kelp handed off"}


def test_without_a_scope_everything_is_found(shared):
    assert len(found(shared, Filter())) == 9


def test_lanes_agree_with_an_indexed_substring_lane_too(shared):
    shared.letters()
    assert len(found(shared, YARD)) == 5


def test_scopes_follow_each_other_in_one_reader(shared):
    with shared.reader() as reader:

        def places(workspace: str) -> int:
            wanted = Filter(workspace=workspace)
            return len(reader.words(parse_query("kelp"), wanted, 50, Deadline(60)).candidates)

        assert [places(f"[HOME]/work/{name}") for name in ("yard", "office", "none", "yard")] == [4, 2, 0, 4]


@pytest.mark.parametrize(
    ("workspace", "label"),
    [("[HOME]/work/Yard", "yard"), ("[HOME]/work/yard/", "yard"), ("/srv", "srv"), ("[HOME]", "[home]")],
)
def test_a_label_is_the_last_part_in_lower_case(workspace, label):
    assert label_of(workspace) == label
