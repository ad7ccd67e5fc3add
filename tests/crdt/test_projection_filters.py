"""Lists: every filter means what a plain loop over all records means, and is answered from an index."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt.clock import milliseconds_of
from crdt.errors import BadInput
from crdt.projection_filters import (
    LIMIT_MAX,
    Cursor,
    Order,
    RecordFilter,
    decode_cursor,
    encode_cursor,
    query_of,
)
from crdt.projection_reader import ProjectionReader, RecordView
from crdt.projection_schema import open_projection_reader
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, Said, project, reader_of
from tests.crdt.signers import START_MS

RECORDS = 150
DAY_MS = 86_400_000
TAGS = ("a", "b", "c")
PROJECTS = ("p", "q", None)
Fits = Callable[[RecordView], bool]


def tell(ann: Author, private: Author, chance: random.Random) -> None:
    """Write records of all sorts, changed, deleted and in conflict."""
    made: list[Said] = []
    for _ in range(RECORDS):
        author = private if chance.random() < 0.1 else ann
        fields = {
            "project": chance.choice(PROJECTS), "scope": chance.choice(("project", "agent")),
            "confidence": chance.choice((0.2, 0.5, 0.9)), "workspace": chance.choice(("/w", "/v", None)),
            "kind": chance.choice(("memory", "doc", "directive")),
            "expires_at": chance.choice((None, START_MS + DAY_MS, START_MS + 400 * DAY_MS)),
        }  # fmt: skip
        tags = chance.sample(TAGS, chance.randint(0, 3))
        if chance.random() < 0.2:
            made.append(author.create("decision", {"decision": "so", "project": "p"}, tags=tags))
        else:
            given = {name: value for name, value in fields.items() if value is not None}
            made.append(author.create("memory", given, tags=tags))
        first = chance.choice(made)
        speaker = ann if first.entry in ann.entries else private
        fate = chance.random()
        if fate < 0.1:
            speaker.change(first, deleted=True)
        elif fate < 0.2 and first.operation.type == "memory":
            speaker.change(first, text="one")
            speaker.change(first, text="another")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProjectionReader]:
    path = tmp_path_factory.mktemp("lists") / "derived" / "projection.db"
    ann, private = Author("ann"), Author("ann-alone", kind="private")
    tell(ann, private, random.Random(4))  # noqa: S311
    feeds = MemoryFeeds([*ann.entries, *private.entries])
    project(path, feeds).close()
    with reader_of(path, feeds) as found:
        yield found


@pytest.fixture(scope="module")
def everything(reader: ProjectionReader) -> list[RecordView]:
    rows = [change.row for change in reader.changes(0, 1_000)]
    views = reader.views(rows)
    assert len(views) == RECORDS
    return views


def some_of(values: tuple[object, ...]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


instants_ms = st.none() | st.integers(START_MS - 10, START_MS + 400)
filters = st.builds(
    RecordFilter,
    types=some_of(("memory", "decision")),
    kinds=some_of(("memory", "doc")),
    tags=some_of(TAGS),
    agents=some_of(("local", "nobody")),
    projects=some_of(PROJECTS),
    scopes=some_of(("project", "agent")),
    workspaces=some_of(("/w", "/v")),
    confidence_min=st.none() | st.sampled_from((0.3, 0.6)),
    updated_before_ms=instants_ms,
    updated_after_ms=instants_ms,
    created_before_ms=instants_ms,
    conflicts=st.booleans(),
    include_deleted=st.booleans(),
    as_of_ms=st.none() | st.sampled_from((START_MS, START_MS + 60 * DAY_MS, START_MS + 999 * DAY_MS)),
)


def fits(wanted: RecordFilter, view: RecordView) -> bool:
    """Say in plain words whether a record is wanted."""
    expires_ms = view.field("expires_at")
    sure = view.effective_confidence(view.updated_ms if wanted.as_of_ms is None else wanted.as_of_ms)
    created_ms, updated_ms = view.created_ms, view.updated_ms
    return all(
        (
            not wanted.types or view.type in wanted.types,
            not wanted.kinds or view.field("kind") in wanted.kinds,
            set(wanted.tags) <= set(view.state.tags),
            not wanted.agents or view.state.agent in wanted.agents,
            not wanted.projects or view.field("project") in wanted.projects,
            not wanted.scopes or view.field("scope") in wanted.scopes,
            not wanted.workspaces or view.field("workspace") in wanted.workspaces,
            not wanted.spaces or view.space in wanted.spaces,
            wanted.confidence_min is None or sure >= wanted.confidence_min,
            wanted.updated_before_ms is None or updated_ms < wanted.updated_before_ms,
            wanted.updated_after_ms is None or updated_ms >= wanted.updated_after_ms,
            wanted.created_before_ms is None or created_ms < wanted.created_before_ms,
            not wanted.conflicts or bool(view.state.conflicts),
            wanted.include_deleted or not view.state.deleted,
            wanted.as_of_ms is None or not isinstance(expires_ms, int) or expires_ms > wanted.as_of_ms,
        )
    )


def walk(reader: ProjectionReader, wanted: RecordFilter, order: Order, limit: int) -> list[RecordView]:
    """Walk a whole list, page by page."""
    found, cursor = [], None
    while True:
        page = reader.list_records(wanted, order=order, limit=limit, cursor=cursor)
        found += page.records
        cursor = page.cursor
        if cursor is None:
            return found


@given(filters, st.sampled_from(Order), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_a_list_is_what_a_loop_over_everything_finds_in_its_order(
    reader: ProjectionReader,
    everything: list[RecordView],
    wanted: RecordFilter,
    order: Order,
    limit: int,
) -> None:
    expected = [view for view in everything if fits(wanted, view)]
    if order is Order.NEWEST:
        expected.sort(key=lambda view: (view.state.updated_hlc, view.id, view.row), reverse=True)
    else:
        expected.sort(key=lambda view: view.change_seq)
    found = walk(reader, wanted, order, limit)
    assert [view.id for view in found] == [view.id for view in expected]
    assert found == expected


def test_a_list_can_be_of_some_spaces(reader: ProjectionReader, everything: list[RecordView]) -> None:
    spaces = sorted({view.space for view in everything})
    assert len(spaces) == 2
    for chosen in ((spaces[0],), (spaces[1],), tuple(spaces)):
        wanted = RecordFilter(spaces=chosen, include_deleted=True)
        found = walk(reader, wanted, Order.NEWEST, 50)
        assert {view.id for view in found} == {view.id for view in everything if view.space in chosen}


def test_the_last_page_has_no_cursor(reader: ProjectionReader, everything: list[RecordView]) -> None:
    wanted = RecordFilter(include_deleted=True)
    page = reader.list_records(wanted, limit=RECORDS - 1)
    assert page.cursor is not None
    last = reader.list_records(wanted, limit=RECORDS - 1, cursor=page.cursor)
    assert (len(last.records), last.cursor) == (1, None)
    assert reader.list_records(RecordFilter(agents=("nobody",))).records == []


@pytest.mark.parametrize("limit", [0, -1, LIMIT_MAX + 1])
def test_a_limit_has_bounds(reader: ProjectionReader, limit: int) -> None:
    with pytest.raises(BadInput, match="500"):
        reader.list_records(RecordFilter(), limit=limit)


@pytest.mark.parametrize("text", ["", "x", "no cursor!", "AAAA", "ä", "k" * 5_000])
def test_what_is_no_cursor_is_refused(reader: ProjectionReader, text: str) -> None:
    with pytest.raises(BadInput) as refused:
        reader.list_records(RecordFilter(), cursor=text)
    assert "without a cursor" in refused.value.hint


def test_a_cursor_is_good_for_its_order_and_its_projection_only(reader: ProjectionReader) -> None:
    page = reader.list_records(RecordFilter(), limit=1)
    assert page.cursor is not None
    with pytest.raises(BadInput):
        reader.list_records(RecordFilter(), order=Order.COMMITTED, cursor=page.cursor)
    with pytest.raises(BadInput):
        decode_cursor(page.cursor, Order.NEWEST, "another")


@given(st.integers(0, 2**63 - 1), st.text(max_size=40), st.sampled_from(Order))
def test_a_cursor_comes_back_as_it_was(hlc: int, name: str, order: Order) -> None:
    cursor = Cursor(order, "generation", hlc, name, 7, 9)
    assert decode_cursor(encode_cursor(cursor), order, "generation") == cursor


@pytest.mark.parametrize(
    ("wanted", "order", "index"),
    [
        (RecordFilter(), Order.NEWEST, "records_by_age"),
        (RecordFilter(types=("memory",)), Order.NEWEST, "records_by_type"),
        (RecordFilter(types=("memory", "task")), Order.NEWEST, "records_by_age"),
        (RecordFilter(types=("memory",), projects=("p",)), Order.NEWEST, "records_by_project"),
        (RecordFilter(types=("memory",), projects=("p", None)), Order.NEWEST, "records_by_type"),
        (RecordFilter(types=("memory",), agents=("a",)), Order.NEWEST, "records_by_agent"),
        (RecordFilter(types=("statement",), workspaces=("/w",)), Order.NEWEST, "records_by_workspace"),
        (RecordFilter(kinds=("directive",)), Order.NEWEST, "records_by_kind"),
        (RecordFilter(conflicts=True), Order.NEWEST, "records_in_conflict"),
        (RecordFilter(), Order.COMMITTED, "records_by_change"),
        (RecordFilter(types=("memory",), projects=("p",)), Order.COMMITTED, "records_by_change"),
        (RecordFilter(tags=("a",)), Order.COMMITTED, "records_by_change"),
    ],
)
def test_a_list_walks_the_index_that_gives_its_order(
    tmp_path: Path, wanted: RecordFilter, order: Order, index: str
) -> None:
    plan = plan_of(tmp_path, wanted, order)
    assert f"USING INDEX {index} " in plan[0] + " ", plan
    assert not any("FOR ORDER BY" in step for step in plan), plan


@pytest.mark.parametrize("tags", [("a",), ("a", "b")])
def test_a_list_of_a_tag_walks_the_tag(tmp_path: Path, tags: tuple[str, ...]) -> None:
    plan = plan_of(tmp_path, RecordFilter(types=("memory",), tags=tags), Order.NEWEST)
    assert plan[0].startswith("SEARCH g USING PRIMARY KEY (tag=?"), plan
    assert not any("FOR ORDER BY" in step for step in plan), plan


def plan_of(tmp_path: Path, wanted: RecordFilter, order: Order) -> list[str]:
    """Ask SQLite how it would answer the second page of a list."""
    path = tmp_path / "derived" / "projection.db"
    project(path, MemoryFeeds(Author("ann").entries)).close()
    query = query_of(wanted, order, 50, Cursor(order, "g", 2**40, "id", 1, 1))
    with closing(open_projection_reader(path)) as connection:
        connection.create_function("effective_confidence", 4, lambda *_: 1.0, deterministic=True)
        rows = connection.execute("EXPLAIN QUERY PLAN " + query.statement, query.values).fetchall()
    return [str(row[3]) for row in rows]


def test_instants_are_those_of_the_clock(everything: list[RecordView]) -> None:
    view = everything[0]
    assert view.updated_ms == milliseconds_of(view.state.updated_hlc)
