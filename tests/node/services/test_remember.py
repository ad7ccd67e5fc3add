"""Remembering: one record for one statement, all or nothing with what it takes the place of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crdt.errors import BadInput, NotFound
from crdt.statements import job_key
from node.services import records
from node.services.remember import SUPERSEDED_MAX
from node.services.statements import checked
from tests.node.asking import asked, items
from tests.node.services.statement_kit import CRANE, NEWER, Yard, titled


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def found(yard: Yard, query: str) -> list[str]:
    said = asked(yard.state, "search", query=query, everywhere=True, directory="/")
    return [str(hit["record_id"]) for hit in items(said, "hits")]


def test_a_statement_is_found_at_once(yard: Yard) -> None:
    said = yard.remember(CRANE)
    assert said["recorded"] == "new"
    assert said["output"] == CRANE
    assert (said["workspace"], said["project"], said["private"]) == ("[HOME]/work/yard", "yard", False)
    assert found(yard, "nine tons") == [said["record_id"]]
    (view,) = yard.kept()
    assert (view.id, view.space_kind) == (said["job_key"], "home")


def test_said_twice_it_is_one_record_of_one_operation(yard: Yard) -> None:
    first, again = yard.remember(CRANE), yard.remember(CRANE)
    assert again["recorded"] == "already"
    assert again["record_id"] == first["record_id"]
    (view,) = yard.kept()
    assert view.state.version == 1


def test_where_the_path_of_the_repository_is_redacted_it_is_one_place_all_the_same(yard: Yard) -> None:
    name = f"yard-ghp_{'a1B2' * 9}"
    said = yard.remember(CRANE | {"facts": ["see hook.md"]}, project=name)
    assert said["workspace"] == "[HOME]/work/yard-[REDACTED:token]"
    assert yard.titles(name) == ["Crane limit"]
    path = yard.project(name) / "hook.md"
    assert len(items(asked(yard.state, "file-context", path=str(path)), "records")) == 1
    hits = asked(yard.state, "search", query="nine tons", directory=str(path.parent))
    assert len(items(hits, "hits")) == 1


def test_two_projects_say_the_same_apart(yard: Yard) -> None:
    assert yard.remember(CRANE)["record_id"] != yard.remember(CRANE, project="office")["record_id"]
    assert len(yard.kept()) == 2


def test_a_secret_is_in_no_file_and_is_counted(yard: Yard) -> None:
    secret = "hunter2" * 2
    said = yard.remember(titled("Gate", f"The password: {secret} opens {yard.home}/gate"))
    assert said["redactions"] == 2
    assert secret not in json.dumps(said)
    stored = b"".join(path.read_bytes() for path in yard.state.rglob("*") if path.is_file())
    assert secret.encode() not in stored
    assert f"{yard.home}/gate".encode() not in stored


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ({"title": "Tide"}, "summary"),
        (CRANE | {"mood": "fine"}, "mood"),
        (CRANE | {"facts": [1]}, "facts"),
    ],
)
def test_what_is_refused_leaves_no_trace(yard: Yard, statement: dict[str, object], name: str) -> None:
    with pytest.raises(BadInput, match=name):
        yard.remember(statement)
    assert not (yard.state / "synthesis").exists()
    assert not (yard.state / "canonical" / "feeds.db").exists()


def test_outside_a_repository_nothing_is_remembered(yard: Yard) -> None:
    with pytest.raises(BadInput, match="no repository"):
        asked(yard.state, "remember", project=str(yard.home), statement=CRANE)


def test_an_agent_has_a_name(yard: Yard) -> None:
    yard.remember(CRANE, agent="crane-bot")
    assert [view.state.agent for view in yard.kept()] == ["crane-bot"]
    with pytest.raises(BadInput, match="agent"):
        yard.remember(NEWER, agent="a b")


def test_what_is_superseded_names_its_successor(yard: Yard) -> None:
    old = yard.remember(CRANE)["record_id"]
    new = yard.remember(NEWER, old)
    assert (new["recorded"], new["supersedes"]) == ("new", [old])
    again = yard.remember(CRANE)
    assert (again["recorded"], again["superseded_by"]) == ("already", new["record_id"])
    assert yard.titles() == ["Crane limit raised"]


def test_the_beginning_of_an_id_is_enough_if_only_one_has_it(yard: Yard) -> None:
    old = str(yard.remember(CRANE)["record_id"])
    assert yard.remember(NEWER, f" {old[:8].upper()} ")["supersedes"] == [old]


@pytest.mark.parametrize("given", ["0" * 64, "0000"])
def test_an_unknown_record_is_refused_and_nothing_is_kept(yard: Yard, given: str) -> None:
    yard.remember(CRANE)
    with pytest.raises(NotFound):
        yard.remember(NEWER, given)
    assert [view.field("title") for view in yard.kept()] == ["Crane limit"]


@pytest.mark.parametrize("given", ["", "abc", "xyz0", "g" * 64, "0" * 65])
def test_what_is_no_record_id_is_refused(yard: Yard, given: str) -> None:
    with pytest.raises(BadInput, match="no record id"):
        yard.remember(NEWER, given)
    assert yard.kept() == []


def alike() -> tuple[dict[str, object], dict[str, object], str]:
    """Find two statements whose records' ids begin alike; some hundred tries for four digits."""
    known: dict[str, dict[str, object]] = {}
    for number in range(10_000):
        statement = titled(f"Nr {number}")
        fields = checked(statement).fields("[HOME]/work/yard")
        prefix = records.index_record_id("statement", job_key(fields))[:4]
        if prefix in known:
            return known[prefix], statement, prefix
        known[prefix] = statement
    raise AssertionError("ids are not spread")


def test_an_id_that_several_have_is_refused(yard: Yard) -> None:
    one, other, prefix = alike()
    yard.remember(one)
    yard.remember(other)
    with pytest.raises(BadInput, match="several"):
        yard.remember(NEWER, prefix)
    assert len(yard.kept()) == 2


def test_the_statement_and_its_edges_come_together_or_not_at_all(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = yard.remember(CRANE)["record_id"]

    def broken(local: object, writes: list[records.Write]) -> None:
        assert [write.operation.type for write in writes] == ["statement", "edge"]
        raise BadInput("not now")

    with monkeypatch.context() as patch:
        patch.setattr(records, "commit", broken)
        with pytest.raises(BadInput, match="not now"):
            yard.remember(NEWER, old)
    assert len(yard.kept()) == 1
    assert yard.titles() == ["Crane limit"]


def test_one_may_take_the_place_of_several_each_once(yard: Yard) -> None:
    olds = [str(yard.remember(titled(f"Nr {n}"))["record_id"]) for n in range(3)]
    assert yard.remember(NEWER, *olds, olds[0])["supersedes"] == sorted(olds)
    assert yard.titles() == ["Crane limit raised"]
    with pytest.raises(BadInput, match="at most"):
        yard.remember(CRANE, *olds * SUPERSEDED_MAX)


def test_a_known_statement_may_still_take_the_place_of_another(yard: Yard) -> None:
    new = yard.remember(NEWER)["record_id"]
    old = yard.remember(CRANE)["record_id"]
    assert yard.remember(NEWER, old)["recorded"] == "already"
    assert yard.titles() == ["Crane limit raised"]
    assert yard.remember(NEWER, old)["record_id"] == new
    assert [view.state.version for view in yard.kept("edge")] == [1]


def test_no_circle_is_closed_be_it_long_or_short(yard: Yard) -> None:
    first = yard.remember(titled("a"))["record_id"]
    second = yard.remember(titled("b"), first)["record_id"]
    third = yard.remember(titled("c"), second)["record_id"]
    for newest, statement in ((first, "a"), (second, "a"), (third, "a"), (third, "b")):
        with pytest.raises(BadInput, match="own place"):
            yard.remember(titled(statement), newest)
    assert len(yard.kept("edge")) == 2
    assert yard.titles() == ["c"]


def test_a_deleted_statement_that_is_said_again_comes_back(yard: Yard) -> None:
    said = yard.remember(CRANE)
    yard.delete(said["job_key"])
    assert found(yard, "nine tons") == []
    assert yard.remember(CRANE)["recorded"] == "restored"
    assert found(yard, "nine tons") == [said["record_id"]]


def test_what_is_private_stays_in_the_private_space_until_it_is_said_aloud(yard: Yard) -> None:
    assert yard.remember(CRANE, private=True)["private"] is True
    assert [view.space_kind for view in yard.kept()] == ["private"]
    assert yard.remember(CRANE, private=True)["recorded"] == "already"
    shared = yard.remember(CRANE)
    assert (shared["recorded"], shared["private"]) == ("new", False)
    assert yard.remember(CRANE, private=True)["recorded"] == "already"
    assert len(found(yard, "nine tons")) == 1
    assert yard.titles() == ["Crane limit"]


def test_a_statement_is_mirrored_and_a_mirror_that_can_t_be_written_fails_nothing(yard: Yard) -> None:
    said = yard.remember(CRANE)
    (path,) = (yard.state / "synthesis" / "records").iterdir()
    assert path.stem == said["job_key"]
    assert json.loads(path.read_text("utf-8"))["output"] == CRANE
    newer = yard.remember(NEWER, said["record_id"])
    mirrored = json.loads((path.parent / f"{newer['job_key']}.json").read_text("utf-8"))
    assert mirrored["supersedes"] == [said["record_id"]]
    path.unlink()
    path.mkdir()
    assert yard.remember(CRANE)["recorded"] == "already"


def test_a_rebuild_writes_the_mirror_again(yard: Yard) -> None:
    said = yard.remember(CRANE)
    gone = yard.remember(NEWER)
    folder = yard.state / "synthesis" / "records"
    before = (folder / f"{said['job_key']}.json").read_bytes()
    (folder / f"{said['job_key']}.json").unlink()
    yard.delete(gone["job_key"])
    asked(yard.state, "rebuild")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {f"{said['job_key']}.json": before}
