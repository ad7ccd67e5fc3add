"""Which records are superseded by which: chains, forks and circles of edges, and records that come and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index_rows import Draft
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import POPULATION_MEMORY, Home, IndexWriter
from retrieval.superseded import newest_of

A, B, C, D, E, F = (bytes([n]) * 32 for n in range(6))
SPACE = b"s" * 32
HOME = Home(conversation=1, population=POPULATION_MEMORY, workspace=None)
SUPERSEDED = "SELECT record_id, superseded_by FROM records WHERE superseded_by IS NOT NULL"
STEPS = st.lists(
    st.tuples(st.sampled_from(("link", "unlink", "add", "remove")), st.integers(0, 5), st.integers(0, 5)),
    max_size=30,
)


def reached(edges: set[tuple[bytes, bytes]], record: bytes) -> set[bytes]:
    """Find all that stands above a record."""
    found: set[bytes] = set()
    while fresh := {new for new, old in edges if old in found | {record}} - found:
        found |= fresh
    return found


def expected(edges: set[tuple[bytes, bytes]], present: set[bytes]) -> dict[bytes, bytes]:
    """Say the rule again, slowly: the smallest id of the present ends above, the record itself apart."""
    edges = {(new, old) for new, old in edges if new != old}
    ends = {record for record in present if not reached(edges, record) & present}
    every = {record for edge in edges for record in edge}
    above = {record: (reached(edges, record) & ends) - {record} for record in every}
    return {record: min(later) for record, later in above.items() if later}


def test_a_chain_is_followed_to_its_newest():
    assert newest_of([(B, A), (C, B)], {A, B, C}) == {A: C, B: C}


def test_a_chain_is_followed_through_what_is_not_there():
    assert newest_of([(B, A), (C, B)], {A, C}) == {A: C, B: C}


def test_what_only_absent_records_replace_holds():
    assert newest_of([(B, A)], {A}) == {}
    assert newest_of([(B, A), (C, B)], {A, B}) == {A: B}


def test_of_several_newest_the_smallest_id_counts():
    assert newest_of([(C, A), (B, A)], {A, B, C}) == {A: B}


def test_nobody_vanishes_in_a_circle():
    assert newest_of([(B, A), (A, B)], {A, B}) == {}
    assert newest_of([(A, A)], {A}) == {}
    assert newest_of([(B, A), (A, B), (C, B)], {A, B, C}) == {A: C, B: C}


@given(
    st.sets(st.tuples(st.sampled_from((A, B, C, D, E, F)), st.sampled_from((A, B, C, D, E, F)))), st.data()
)
def test_every_graph_is_judged_by_the_rule(edges, data):
    present = data.draw(st.sets(st.sampled_from((A, B, C, D, E, F))))
    assert newest_of(edges, present) == expected(edges, present)


def test_a_chain_of_thousands_costs_no_more_than_its_length():
    chain = [n.to_bytes(32, "big") for n in range(20_000)]
    newest = newest_of(zip(chain[1:], chain, strict=False), set(chain))
    assert set(newest.values()) == {chain[-1]}
    assert len(newest) == len(chain) - 1


@pytest.fixture
def index(tmp_path) -> Iterator[IndexWriter]:
    made = IndexWriter(open_index_writer(tmp_path / "index.db"))
    yield made
    made.connection.close()


def draft(record: bytes) -> Draft:
    return Draft(
        record_id=record, event_id="", role="memory", text="text", authored_at=None, content_sha256=record,
        source_sha256=record, event_index=0, headings="",
    )  # fmt: skip


def remove(index: IndexWriter, record: bytes) -> None:
    rows = index.rows(HOME.conversation)
    index.delete(rows, [row for row in rows if row.record_id == record])


def superseded(index: IndexWriter) -> dict[bytes, bytes]:
    return dict(index.connection.execute(SUPERSEDED).fetchall())


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_what_is_kept_is_what_edges_and_records_amount_to(tmp_path_factory, steps):
    index = IndexWriter(open_index_writer(tmp_path_factory.mktemp("index") / "index.db"))
    records = (A, B, C, D, E, F)
    edges: dict[str, tuple[bytes, bytes]] = {}
    present: set[bytes] = set()
    for step, one, other in steps:
        with index.transaction():
            if step == "link":
                edges[f"{one}"] = (records[one], records[other])
                index.superseded.put(SPACE, f"{one}", records[one], records[other])
            elif step == "unlink":
                edges.pop(f"{one}", None)
                index.superseded.drop(SPACE, f"{one}")
            elif step == "add" and records[one] not in present:
                present.add(records[one])
                index.add(HOME, [draft(records[one])])
            elif step == "remove" and records[one] in present:
                present.remove(records[one])
                remove(index, records[one])
        wanted = expected(set(edges.values()), present)
        assert superseded(index) == {old: new for old, new in wanted.items() if old in present}
    index.connection.close()


def test_an_edge_said_in_two_spaces_holds_until_both_are_gone(index):
    with index.transaction():
        index.add(HOME, [draft(A), draft(B)])
        index.superseded.put(SPACE, "e", B, A)
        index.superseded.put(b"t" * 32, "e", B, A)
    with index.transaction():
        index.superseded.drop(SPACE, "e")
    assert superseded(index) == {A: B}
    with index.transaction():
        index.superseded.drop(b"t" * 32, "e")
    assert superseded(index) == {}


def test_nothing_is_remembered_of_a_transaction_that_failed(index):
    with index.transaction():
        index.add(HOME, [draft(A), draft(B)])

    def fail() -> None:
        with index.transaction():
            index.superseded.put(SPACE, "e", B, A)
            raise RuntimeError("the power is off")

    with pytest.raises(RuntimeError):
        fail()
    with index.transaction():
        index.superseded.put(SPACE, "f", A, B)
    assert superseded(index) == {B: A}
    assert index.superseded.every() == [(SPACE, "f")]
