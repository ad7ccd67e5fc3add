"""One record, what changed, edges, history: what a reader of the projection gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from crdt.clock import milliseconds_of
from crdt.confidence import CONFIDENCE_ASSUMED
from crdt.edges import edge_id
from crdt.errors import BadInput, Damaged, NotFound, Unavailable
from crdt.operations import Operation, minted
from crdt.projection_reader import ProjectionReader, open_reader_of_projection
from crdt.roster import Remove
from crdt.sqlite import open_writer
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, Said, project, reader_of
from tests.crdt.signers import add

NOW_MS = 1_800_000_000_000


@pytest.fixture
def ann() -> Author:
    return Author("ann")


@contextmanager
def reading(folder: Path, *authors: Author) -> Iterator[ProjectionReader]:
    """Project what some authors said so far, and read it."""
    feeds = MemoryFeeds(entry for author in authors for entry in author.entries)
    path = folder / "derived" / "projection.db"
    project(path, feeds).close()
    with reader_of(path, feeds) as reader:
        yield reader


def twins(author: Author) -> tuple[Said, Said, str]:
    """Create records until two begin with the same four characters; give them and those."""
    seen: dict[str, Said] = {}
    while True:
        made = author.memory()
        other = seen.setdefault(made.id[:4], made)
        if other is not made:
            return other, made, made.id[:4]


def test_a_record_is_found_by_its_id_or_the_beginning_of_it(tmp_path: Path, ann: Author) -> None:
    made = ann.memory("text", tags=["a"], project="p")
    with reading(tmp_path, ann) as reader:
        for wanted in (made.id, made.id[:12], made.id[:4]):
            view = reader.get(wanted)
            assert (view.id, view.type, view.state.text) == (made.id, "memory", "text")
            assert (view.space, view.space_kind, view.space_label) == (ann.space, "home", "ann")
            assert (view.field("project"), view.field("scope")) == ("p", None)
            assert view.created_ms == view.updated_ms == milliseconds_of(made.entry.hlc)


def test_too_short_a_beginning_and_what_is_not_there_are_not_found(tmp_path: Path, ann: Author) -> None:
    made = ann.memory()
    with reading(tmp_path, ann) as reader:
        with pytest.raises(NotFound) as short:
            reader.get(made.id[:3])
        assert "4 characters" in short.value.hint
        with pytest.raises(NotFound):
            reader.get("z" * 36)


def test_an_ambiguous_beginning_names_the_candidates(tmp_path: Path, ann: Author) -> None:
    one, other, beginning = twins(ann)
    with reading(tmp_path, ann) as reader:
        with pytest.raises(BadInput) as refused:
            reader.get(beginning)
        assert all(name in refused.value.detail for name in (one.id, other.id, "memory in ann"))
        assert reader.get(one.id).id == one.id


def test_a_beginning_is_looked_for_among_the_types_and_in_the_space_that_are_asked_for(
    tmp_path: Path, ann: Author
) -> None:
    one, _, beginning = twins(ann)
    with reading(tmp_path, ann) as reader:
        with pytest.raises(NotFound):
            reader.get(one.id, types=("task", "message"))
        with pytest.raises(NotFound):
            reader.get(one.id, space=b"\1" * 32)
        with pytest.raises(BadInput):
            reader.get(beginning, types=("memory",), space=ann.space)
        assert reader.get(one.id, types=("task", "memory"), space=ann.space).id == one.id


def test_wildcards_and_letters_beyond_ascii_are_only_letters(tmp_path: Path, ann: Author) -> None:
    for name in ("ab%d-1", "äöüß-1", "ab_d-1"):
        ann.say(Operation(id=name, type="memory", set={"kind": "memory"}, text="x"))
    with reading(tmp_path, ann) as reader:
        assert reader.get("ab%d").id == "ab%d-1"
        assert reader.get("äöüß").id == "äöüß-1"
        with pytest.raises(NotFound):
            reader.get("%%%%")


def test_one_id_in_two_spaces_is_ambiguous_until_the_space_is_said(tmp_path: Path, ann: Author) -> None:
    ben = Author("ben", kind="space")
    edge = Operation(id=edge_id("r", "a", "b"), type="edge", set={"from": "a", "to": "b", "relation": "r"})
    ann.say(edge)
    ben.say(edge)
    with reading(tmp_path, ann, ben) as reader:
        with pytest.raises(BadInput, match=r"in ann.*in ben|in ben.*in ann"):
            reader.get(edge.id)
        assert reader.get(edge.id, space=ben.space).space == ben.space
        assert {view.space for view in reader.with_ids([edge.id])} == {ann.space, ben.space}


def test_a_tombstone_is_found(tmp_path: Path, ann: Author) -> None:
    made = ann.memory()
    ann.change(made, deleted=True)
    with reading(tmp_path, ann) as reader:
        assert reader.get(made.id).state.deleted


def test_changes_come_in_order_and_of_each_record_only_the_newest(tmp_path: Path, ann: Author) -> None:
    one, other = ann.memory(), ann.memory()
    feeds = MemoryFeeds(ann.entries)
    path = tmp_path / "derived" / "projection.db"
    with closing(project(path, feeds)) as projector, reader_of(path, feeds) as reader:
        first = reader.changes(0)
        assert [(change.change_seq, change.id, change.type) for change in first] == [
            (1, one.id, "memory"),
            (2, other.id, "memory"),
        ]
        assert {change.space for change in first} == {ann.space}
        assert reader.changes(1, 1) == first[1:]
        feeds.take([ann.change(one, text="changed").entry])
        projector.catch_up()
        assert [(change.change_seq, change.id) for change in reader.changes(0)] == [
            (2, other.id),
            (3, one.id),
        ]
        assert reader.head() == 3
        assert reader.changes(3) == []
        assert [view.id for view in reader.views([reader.changes(2)[0].row])] == [one.id]


def test_what_changes_nothing_is_no_change(tmp_path: Path, ann: Author) -> None:
    made = ann.memory()
    stranger = Author("mallory", ann.space)
    feeds = MemoryFeeds(ann.entries)
    path = tmp_path / "derived" / "projection.db"
    with closing(project(path, feeds)) as projector, reader_of(path, feeds) as reader:
        feeds.take([stranger.change(made, text="forged").entry, stranger.memory().entry])
        assert projector.catch_up() == 2
        assert [change.change_seq for change in reader.changes(0)] == [1]
        assert reader.get(made.id).state.text == "text"
        assert reader.counts().refused == 2


def test_a_record_whose_author_turns_out_void_is_gone_and_comes_back(tmp_path: Path, ann: Author) -> None:
    ben = Author("ben", ann.space, later_ms=1_000)
    made, kept = ben.memory(tags=["t"]), ann.memory()
    ann.feed.roster(add(ben.signer))
    feeds = MemoryFeeds([*ann.entries, *ben.entries])
    path = tmp_path / "derived" / "projection.db"
    with closing(project(path, feeds)) as projector, reader_of(path, feeds) as reader:
        assert not any(change.is_gone for change in reader.changes(0))
        before = reader.get(made.id).state
        feeds.take([ann.feed.roster(Remove(member=ben.key, cut={}))])
        projector.catch_up()
        (gone,) = [change for change in reader.changes(0) if change.is_gone]
        assert (gone.id, gone.type, gone.change_seq) == (made.id, "memory", 3)
        assert reader.views([gone.row]) == reader.with_ids([made.id]) == []
        with pytest.raises(NotFound):
            reader.get(made.id)
        assert [change.id for change in reader.changes(0)] == [kept.id, made.id]
        feeds.take([ann.feed.roster(add(ben.signer))])
        projector.catch_up()
        assert reader.get(made.id).state == before
        assert [change.is_gone for change in reader.changes(3)] == [False]


def test_edges_are_found_by_either_end_while_they_live(tmp_path: Path, ann: Author) -> None:
    def edge(relation: str, start: str, end: str) -> Said:
        fields = {"from": start, "to": end, "relation": relation}
        return ann.say(Operation(id=edge_id(relation, start, end), type="edge", set=dict(fields)))

    first, second = edge("supersedes", "b", "a"), edge("supersedes", "c", "b")
    edge("mentions", "b", "a")
    ended = edge("supersedes", "d", "a")
    ann.change(ended, deleted=True)
    with reading(tmp_path, ann) as reader:
        (found,) = reader.edges_to(["a"], "supersedes")
        assert (found.source, found.target, found.relation) == ("b", "a", "supersedes")
        assert (found.id, found.space, found.created_hlc) == (first.id, ann.space, first.entry.hlc)
        assert [one.id for one in reader.edges_to(["a", "b"], "supersedes")] == [first.id, second.id]
        assert len(reader.edges_from(["b"])) == 2
        assert reader.edges_from(["nothing"]) == []


def test_history_numbers_what_counts_and_gives_back_any_version(tmp_path: Path, ann: Author) -> None:
    made = ann.memory("one")
    second = ann.change(made, text="two", tag=["t"])
    ann.change(second, deleted=True)
    with reading(tmp_path, ann) as reader:
        view = reader.get(made.id)
        history = reader.history(view)
        assert [version.number for version in history] == [1, 2, 3] == list(range(1, view.state.version + 1))
        assert [version.stamped.operation.text for version in history] == ["one", "two", None]
        assert [version.clock for version in history] == [entry.hlc for entry in ann.entries[1:]]
        assert reader.state_at(view, 1).text == "one"
        assert (reader.state_at(view, 2).text, list(reader.state_at(view, 2).tags)) == ("two", ["t"])
        assert reader.state_at(view, 3) == view.state
        for absent in (-1, 0, 4):
            with pytest.raises(NotFound):
                reader.state_at(view, absent)


def test_operations_that_do_not_count_are_told_apart_from_versions(tmp_path: Path, ann: Author) -> None:
    made = ann.memory()
    stranger = Author("mallory", ann.space)
    ann.feed.roster(add(stranger.signer, ["read", "append"]))
    forged = stranger.change(made, text="forged")
    with reading(tmp_path, ann, stranger) as reader:
        view = reader.get(made.id)
        assert {one.hash for one in reader.operations(view)} == {made.entry.hash, forged.entry.hash}
        assert [version.stamped.hash for version in reader.history(view)] == [made.entry.hash]


def test_confidence_fades_when_read_and_only_there(tmp_path: Path, ann: Author) -> None:
    sure, silent = ann.memory(confidence=0.8), ann.memory()
    with reading(tmp_path, ann) as reader:
        view = reader.get(sure.id)
        assert view.effective_confidence(view.updated_ms) == 0.8
        assert view.effective_confidence(view.updated_ms + 90 * 86_400_000) == pytest.approx(0.4)
        assert view.field("confidence") == 0.8
        other = reader.get(silent.id)
        assert other.effective_confidence(other.updated_ms) == CONFIDENCE_ASSUMED


def test_workspaces_are_listed_once_each(tmp_path: Path, ann: Author) -> None:
    for workspace in ("/b", "/a", "/b"):
        ann.memory(workspace=workspace)
    ann.memory()
    with reading(tmp_path, ann) as reader:
        assert reader.workspaces() == ["/a", "/b"]


def test_without_a_projection_the_reader_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        open_reader_of_projection(tmp_path / "projection.db", MemoryFeeds())
    assert "atrium rebuild" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_just_being_made_or_of_another_version_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "projection.db"
    open_writer(path, durable=False).close()
    with pytest.raises(Unavailable, match="version 0"):
        open_reader_of_projection(path, MemoryFeeds())


def test_a_state_that_cannot_be_read_is_named_as_damage(tmp_path: Path, ann: Author) -> None:
    made = ann.memory()
    path = tmp_path / "derived" / "projection.db"
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    with closing(open_writer(path, durable=False)) as connection:
        connection.execute("UPDATE states SET state = x'c1'")
    with reader_of(path, feeds) as reader, pytest.raises(Damaged) as refused:
        reader.get(made.id)
    assert "atrium rebuild" in refused.value.hint


def test_ids_in_these_tests_are_those_that_authors_mint(ann: Author) -> None:
    made = ann.memory()
    assert made.operation.nonce is not None
    assert minted(ann.key, made.operation.nonce) == made.id
