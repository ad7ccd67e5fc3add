"""Rows of the index: what goes in comes out exactly, and what stays is not touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt.archive import Stored
from crdt.ids import content_sha256
from crdt.segments import Place
from retrieval.index_rows import Draft
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import POPULATION_CONVERSATION, POPULATION_NOTE, Home, IndexWriter
from tests.retrieval.follow_kit import RECORDS, full_text

HOME = Home(conversation=1, population=POPULATION_CONVERSATION, workspace=None)
NOTE = Home(conversation=1, population=POPULATION_NOTE, workspace=None)
ADD_CONVERSATION = """
INSERT INTO conversations (id, conversation_id, population, source, source_id, title, automation, captured,
                           last_key, last_id, next_index, removed_hlc)
VALUES (?, ?, 0, 'codex', 's', '', 0, 0, '', '', 0, 0)
"""


def opened(folder: Path) -> IndexWriter:
    """Open an index with two conversations."""
    writer = IndexWriter(open_index_writer(folder / "index.db"))
    for row in (1, 2):
        writer.connection.execute(ADD_CONVERSATION, (row, bytes([row] * 32)))
    return writer


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    """Give an empty index."""
    made = opened(tmp_path)
    with closing(made.connection):
        yield made


def draft(number: int, text: str = "", place: int | None = None, headings: str | None = None) -> Draft:
    """Make a draft whose identity is a number."""
    said = text or f"turn {number}"
    return Draft(
        record_id=bytes([number] * 32),
        event_id=f"m{number}",
        role="user",
        text=said,
        authored_at="2026-03-01T08:00:00.000Z",
        content_sha256=bytes.fromhex(content_sha256("user", said, "2026-03-01T08:00:00.000Z")),
        source_sha256=bytes(32),
        event_index=number if place is None else place,
        headings=headings,
    )


def add(writer: IndexWriter, home: Home, drafts: Sequence[Draft]) -> list[tuple[int, str]]:
    """Add records as one transaction."""
    with writer.transaction():
        return writer.add(home, drafts)


def replace(writer: IndexWriter, home: Home, drafts: Sequence[Draft]) -> int:
    """Replace records as one transaction."""
    with writer.transaction():
        return writer.replace(home, drafts)


def records(writer: IndexWriter) -> list[tuple[object, ...]]:
    """List the rows of records."""
    return writer.connection.execute("SELECT * FROM records ORDER BY id").fetchall()


def words(writer: IndexWriter) -> dict[str, object]:
    """Tell all that the words lane holds."""
    named = dict(writer.connection.execute("SELECT id, hex(record_id) FROM records").fetchall())
    with closing(open_index_writer(path_of(writer))) as other:
        return full_text(other, "words", named, ("turn", "march"))


def path_of(writer: IndexWriter) -> Path:
    """Tell where an index lies."""
    return Path(writer.connection.execute("PRAGMA database_list").fetchone()[2])


def test_records_lean_on_the_two_before_them(writer: IndexWriter) -> None:
    chain = add(writer, HOME, [draft(1), draft(2), draft(3)])
    first, second, third = (row for row, _ in chain)
    rows = writer.rows(1)
    assert [row.before for row in rows] == [(None, None), (first, None), (second, first)]
    assert [row.text for row in rows] == ["turn 1", "turn 2", "turn 3"]
    with writer.transaction():
        writer.add(HOME, [draft(4)], chain[-2:])
    assert writer.rows(1)[-1].before == (third, second)


def test_row_numbers_only_rise(writer: IndexWriter) -> None:
    (_, last) = add(writer, HOME, [draft(1), draft(2)])
    replace(writer, HOME, [])
    (again,) = add(writer, HOME, [draft(3)])
    assert again[0] > last[0]
    assert writer.connection.execute("SELECT record FROM retired").fetchall() == [(1,), (2,)]


def test_what_was_deleted_leaves_no_trace_in_the_words(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(1, "crane and heron"), draft(2, "mill"), draft(3, "weir")])
    replace(writer, HOME, [])
    found = words(writer)
    assert (found["instances"], found["sizes"], found["averages"]) == ([], [], "")


def test_unchanged_records_are_not_touched(writer: IndexWriter) -> None:
    drafts = [draft(1), draft(2), draft(3)]
    add(writer, HOME, drafts)
    with writer.transaction():
        before = writer.connection.total_changes
        assert writer.replace(HOME, drafts) == 0
        assert writer.connection.total_changes == before


def test_a_correction_rewrites_what_leans_on_it_and_nothing_else(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(number) for number in range(1, 7)])
    older = {row.event_index: row for row in writer.rows(1)}
    drafts = [draft(number) for number in range(1, 7)]
    drafts[1] = draft(2, "corrected")
    assert replace(writer, HOME, drafts) == 3
    rows = {row.event_index: row for row in writer.rows(1)}
    changed = [number for number, row in rows.items() if older[number] != row]
    assert changed == [2, 3, 4, 5, 6], "5 and 6 lean on the rows of the ones made anew"
    assert [rows[number].id for number in (1, 5, 6)] == [1, 5, 6], "and keep their own"


def test_a_record_that_only_moved_keeps_its_row(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(1, place=0)])
    assert replace(writer, HOME, [draft(1, place=7)]) == 0
    (row,) = writer.rows(1)
    assert (row.id, row.event_index) == (1, 7)


def test_a_workspace_that_changed_is_noted_in_place(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(1)])
    with writer.transaction():
        workspace = writer.workspace("/srv/mill")
        home = Home(conversation=1, population=POPULATION_CONVERSATION, workspace=workspace)
        assert writer.replace(home, [draft(1)]) == 0
    (row,) = writer.rows(1)
    assert (row.id, row.workspace) == (1, workspace)


def test_notes_have_headings_where_turns_have_neighbours(writer: IndexWriter) -> None:
    add(writer, NOTE, [draft(1, headings="Title\nOne"), draft(2, headings="Title\nTwo")])
    assert [row.before for row in writer.rows(1)] == [(None, None)] * 2
    assert replace(writer, NOTE, [draft(1, headings="Title\nOne"), draft(2, headings="Title\n2nd")]) == 1
    instances = words(writer)["instances"]
    assert isinstance(instances, list)
    assert [term for term, _, column, _ in instances if column == "near"] == ["2nd", "one", "title", "title"]


LISTS = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(("", "crane", "ok ok"))), max_size=6)


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(LISTS, min_size=1, max_size=4))
def test_replacing_gives_what_adding_anew_gives(
    steps: list[list[tuple[int, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    one, other = opened(tmp_path_factory.mktemp("one")), opened(tmp_path_factory.mktemp("other"))
    with closing(one.connection), closing(other.connection):
        wanted: list[Draft] = []
        for step in steps:
            named = dict(step)
            wanted = [draft(number, text, place) for place, (number, text) in enumerate(named.items())]
            replace(one, HOME, wanted)
        add(other, HOME, wanted)
        assert one.connection.execute(RECORDS).fetchall() == other.connection.execute(RECORDS).fetchall()
        assert words(one) == words(other)


def test_a_transaction_that_fails_leaves_everything_as_it_was(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(1)])
    before = records(writer), words(writer)

    def run() -> None:
        with writer.transaction():
            writer.workspace("/srv/mill")
            writer.replace(HOME, [draft(2), draft(3)])
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        run()
    assert (records(writer), words(writer)) == before
    with writer.transaction():
        row = writer.workspace("/srv/mill")
    query = "SELECT path FROM workspaces WHERE id = ?"
    assert writer.connection.execute(query, (row,)).fetchone() == ("/srv/mill",), (
        "nothing stale is remembered"
    )


def test_a_workspace_has_one_row(writer: IndexWriter) -> None:
    with writer.transaction():
        assert writer.workspace(None) is None
        first = writer.workspace("/srv/mill")
        assert writer.workspace("/srv/mill") == first
        assert writer.workspace("/srv/weir") != first
    with closing(open_index_writer(path_of(writer))) as connection:
        other = IndexWriter(connection)
        with other.transaction():
            assert other.workspace("/srv/mill") == first


def test_own_values_are_kept(writer: IndexWriter) -> None:
    with writer.transaction():
        writer.set_meta("colour", "red")
        writer.set_meta("colour", 7)
    assert writer.meta("colour") == 7
    assert writer.meta("shape") is None


def test_a_fragment_is_placed_moved_and_keeps_its_first_clock(writer: IndexWriter) -> None:
    sha256, segment = "ab" * 32, "cd" * 32
    place = Place(segment=segment, frame_offset=5, frame_bytes=7, skip=1, size=2)
    query = "SELECT conversation, hlc, redactor, hex(segment), frame_offset, skip, size FROM fragments"
    with writer.transaction():
        writer.place_fragments(1, [(Stored(sha256=sha256, hlc=4, place=None), 3)])
        assert writer.connection.execute(query).fetchall() == [(1, 4, 3, "", 0, 0, 0)]
        writer.place_fragments(1, [(Stored(sha256=sha256, hlc=9, place=place), 3)])
        assert writer.connection.execute(query).fetchall() == [(1, 4, 3, segment.upper(), 5, 1, 2)]
        writer.place_fragments(1, [(Stored(sha256=sha256, hlc=2, place=None), 3)])
        assert writer.connection.execute(query).fetchall() == [(1, 2, 3, "", 0, 0, 0)]


def test_silent_events_are_noted_once(writer: IndexWriter) -> None:
    with writer.transaction():
        writer.add_silent([b"\xff" * 32, b"\1" * 32])
        writer.add_silent([b"\xff" * 32])
    assert writer.connection.execute("SELECT count(*) FROM silent").fetchone() == (2,)


def test_a_text_is_read_by_its_row(writer: IndexWriter) -> None:
    add(writer, HOME, [draft(1)])
    assert (writer.text_of(1), writer.text_of(2), writer.text_of(None)) == ("turn 1", None, None)
