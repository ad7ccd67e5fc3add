"""What services of records share: nothing secret is signed, what is durable never fails, nothing is lost."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from crdt import operations
from crdt.entries import EntryKind
from crdt.errors import BadInput, Changed, IndexUnavailable, NotFound, Unavailable
from crdt.operations import Operation
from crdt.projects import project_id
from mesh.identity import generate
from mesh.member_key import spell
from node.services import records
from node.services.records import Place, Write
from retrieval.memory_rows import memory_of
from tests.node.asking import asked
from tests.node.services.memory_kit import keeping

SECRET = "ghp_" + "a1B2" * 9
SECRET_LABEL = "glpat-" + "a1b2" * 5
KEY = spell(generate().public_key, generate().next_commitment)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_every_text_is_redacted_before_it_is_signed(root: Path) -> None:
    with keeping(root) as kept:
        kept.add(f"the token is {SECRET}", headline=SECRET, tags=[f"t{SECRET}"], project=SECRET)
        kept.call("decision.add", decision="x", alternatives=[SECRET])
        kept.local.feeds.fold()
    stored = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert b"the token is" in stored
    assert SECRET.encode() not in stored
    assert SECRET.lower().encode() not in stored


@pytest.mark.parametrize(
    ("use_case", "fields"),
    [
        ("memory.add", {"text": "x", "agent": SECRET}),
        ("decision.add", {"decision": "x", "agent": SECRET}),
        ("projects.create", {"label": SECRET}),
        ("spaces.create", {"label": SECRET_LABEL}),
        ("spaces.add-member", {"space": "home", "key": KEY, "name": SECRET}),
    ],
)
def test_a_name_with_a_secret_is_refused_and_nothing_is_signed(
    root: Path, use_case: str, fields: dict[str, object]
) -> None:
    with keeping(root) as kept:
        kept.add("x")
        before = kept.local.feeds.head()
    with pytest.raises(BadInput, match="secret"):
        asked(root, use_case, **fields)
    with keeping(root) as kept:
        assert kept.local.feeds.head() == before


def test_a_dot_is_redacted_as_its_tag_was() -> None:
    from archivist.redact import Redactor

    change = Operation(id="r", type="memory", tag=["<private>x</private>"], untag=[(SECRET, b"1" * 32)])
    clean = records.redacted(Redactor([]), change)
    assert clean.tag == []
    assert SECRET not in clean.untag[0][0]


def test_all_writes_of_a_commit_are_kept_or_none(root: Path) -> None:
    with keeping(root) as kept:
        home = kept.local.feeds.home()
        good = Write(
            space=home, is_new=True,
            operation=Operation(id="good", type="memory", text="x", set={"kind": "memory"}),
        )  # fmt: skip
        bad = Write(space=home, is_new=True, operation=Operation(id="bad", type="memory", text="x"))
        before = kept.local.feeds.head()
        with pytest.raises(BadInput, match="kind"):
            records.commit(kept.local, [good, bad])
        assert kept.local.feeds.head() == before


def test_what_nobody_could_read_is_not_written(root: Path) -> None:
    with keeping(root) as kept, pytest.raises(BadInput, match="limit of `tag`"):
        kept.add("x", tags=["t" * 101])


def test_a_write_that_is_durable_does_not_fail_because_the_rest_does(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with keeping(root) as kept:
        identity = kept.add("the pier")

        def fail(*_args: object) -> int:
            raise Unavailable("no projection today")

        with monkeypatch.context() as patch:
            patch.setattr(type(kept.local.projector), "catch_up", fail)
            assert kept.call("memory.add", text="the crane")["content"] == "the crane"
        assert sorted(str(item["content"]) for item in kept.items("memory.list")) == ["the pier"]
        kept.call("memory.edit", id=identity, text="the quay")
        contents = sorted(str(item["content"]) for item in kept.items("memory.list"))
        assert contents == ["the crane", "the quay"], "the next write follows"


def test_the_index_is_waited_for_only_a_moment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with keeping(root) as kept:
        never: Future[None] = Future()
        asked: list[bool] = []

        def follow_soon() -> Future[None]:
            asked.append(True)
            return never

        monkeypatch.setattr(records, "INDEX_WAIT_S_MAX", 0.01)
        monkeypatch.setattr(kept.local, "follow_soon", follow_soon)
        assert kept.get(kept.add("the pier"))["content"] == "the pier"
        assert asked


def test_many_threads_at_once_lose_nothing(root: Path) -> None:
    with keeping(root) as kept, ThreadPoolExecutor(8) as pool:
        kept.local.follow_soon = lambda: None  # type: ignore[assignment]
        together = threading.Barrier(8)

        def add_some(thread: int) -> list[str]:
            together.wait(20)
            return [kept.add(f"{thread} {number}") for number in range(8)]

        added = [identity for ids in pool.map(add_some, range(8)) for identity in ids]
        assert sorted(kept.ids(limit=500)) == sorted(added)
        assert len(set(added)) == 64


def test_edits_from_many_threads_are_all_kept(root: Path) -> None:
    with keeping(root) as kept, ThreadPoolExecutor(4) as pool:
        kept.local.follow_soon = lambda: None  # type: ignore[assignment]
        identity = kept.add("start")
        list(pool.map(lambda n: kept.call("memory.edit", id=identity, text=f"text {n}"), range(12)))
        history = kept.items("memory.history", id=identity)
        assert len(history) == 13
        assert kept.get(identity)["conflicts"] == [], "each had seen the one before"


def test_a_version_that_is_no_longer_there_is_told(root: Path) -> None:
    with keeping(root) as kept:
        identity = kept.add("one")
        kept.call("memory.edit", id=identity, text="two", if_version=1)
        with pytest.raises(Changed, match="version 2, not 1"):
            kept.call("memory.edit", id=identity, text="three", if_version=1)
        assert kept.get(identity)["content"] == "two"


def test_records_go_to_the_space_that_is_meant(root: Path) -> None:
    with keeping(root) as kept:
        feeds, local = kept.local.feeds, kept.local
        kept.call("spaces.create", label="team")
        (team,) = [space for space, roster in feeds.spaces().items() if roster.label == "team"]
        assert records.space_of(local, Place()) == feeds.home()
        assert records.space_of(local, Place(is_private=True)) == feeds.private()
        assert records.space_of(local, Place(space="team")) == team
        with pytest.raises(BadInput, match="private"):
            records.space_of(local, Place(space="team", is_private=True))
        with pytest.raises(NotFound, match="elsewhere"):
            records.space_of(local, Place(space="elsewhere"))


def test_a_project_that_is_bound_to_no_space_is_said_to_be(root: Path) -> None:
    with keeping(root) as kept:
        bound = Operation(id=project_id("web"), type="project", set={"label": "web", "space": "zz"})
        records.commit(kept.local, [Write(space=kept.local.feeds.home(), operation=bound, is_new=True)])
        with pytest.raises(BadInput, match="`web` is bound to 'zz', which is no space"):
            kept.add("the pier", project="web")


def test_what_is_about_a_bound_project_goes_to_its_space(root: Path) -> None:
    with keeping(root) as kept:
        feeds = kept.local.feeds
        kept.call("spaces.create", label="team")
        (team,) = [space for space, roster in feeds.spaces().items() if roster.label == "team"]
        kept.call("projects.create", label="Harbour")
        assert records.space_of(kept.local, Place(project="harbour")) == feeds.home()
        with kept.local.projection() as reader:
            heads = reader.get(project_id("harbour")).state.heads
        binding = Operation(id=project_id("harbour"), type="project", set={"space": team.hex()}, base=heads)
        records.commit(kept.local, [Write(space=feeds.home(), operation=binding)])
        assert records.space_of(kept.local, Place(project="harbour")) == team
        assert records.space_of(kept.local, Place(project="harbour", is_private=True)) == feeds.private()


def test_the_name_in_the_index_is_the_one_that_the_index_gives(root: Path) -> None:
    with keeping(root) as kept:
        identity = kept.add("the pier")
        with kept.local.projection() as reader:
            filed = memory_of(reader.get(identity).state, "local@here")
    assert filed is not None
    assert records.index_record_id("memory", identity) == filed.draft.record_id.hex()


def test_reading_where_nothing_was_ever_kept_finds_nothing_and_makes_nothing(root: Path) -> None:
    with keeping(root, writable=False) as kept:
        assert (
            kept.items("memory.list") == kept.items("memory.conflicts") == kept.items("decision.list") == []
        )
        with pytest.raises(NotFound, match="nothing is kept"):
            kept.get("abcdef")
    assert not root.exists()


def test_a_command_beside_no_node_does_not_pass_old_for_new(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LEVEL_WAIT_S_MAX", 0.0)
    with keeping(root) as kept:
        kept.add("the pier")
        operation = Operation(id="late", type="memory", text="late", set={"kind": "memory"})
        records.write(kept.local, [Write(space=kept.local.feeds.home(), operation=operation, is_new=True)])
    with keeping(root, writable=False) as kept, pytest.raises(IndexUnavailable, match="not laid out"):
        kept.items("memory.list")
    with keeping(root) as kept:
        kept.add("next")
    with keeping(root, writable=False) as kept:
        assert len(kept.ids()) == 3


def test_a_command_beside_no_node_tells_that_the_projection_is_gone(root: Path) -> None:
    with keeping(root) as kept:
        kept.add("the pier")
    for path in (root / "derived").glob("projection.db*"):
        path.unlink()
    with keeping(root, writable=False) as kept, pytest.raises(Unavailable, match="not laid out"):
        kept.items("memory.list")


def test_an_agent_has_a_name_that_can_be_addressed() -> None:
    assert records.checked_agent("build_bot-2") == "build_bot-2"
    for name in ("", "a b", "a@b", "x" * 65):
        with pytest.raises(BadInput, match="name of an agent"):
            records.checked_agent(name)


def test_operations_are_entries_of_kind_record(root: Path) -> None:
    with keeping(root) as kept:
        identity = kept.add("the pier", agent="bot")
        (entry,) = [c.entry for c in kept.local.feeds.entries(0, (EntryKind.RECORD,))]
        operation = operations.decode(entry.body or b"")
    assert (operation.id, operation.agent, operation.text) == (identity, "bot", "the pier")
