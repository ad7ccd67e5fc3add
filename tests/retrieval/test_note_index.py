"""Notes in the index: what changed is written, what is gone is swept, root by root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from archivist.redact import Redactor
from crdt.errors import DiskFull
from retrieval import note_index
from retrieval.index_reader import open_reader
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.models import Deadline, Filter
from retrieval.note_index import NoteIndex, NoteReport, NoteRootRows
from retrieval.notes import Note, Redact, parse_note
from retrieval.query import parse_query
from retrieval.scope import Aliases
from tests.retrieval.follow_kit import RECORDS, full_text

ROOT, OTHER = "11" * 32, "22" * 32
SECRET = "gh" + "p_" + "a1B2" * 9


class Notes:
    """An index of notes of two roots."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "index.db"
        self.index = IndexWriter(open_index_writer(self.path))
        self.redact: Redact = lambda text: (text, 0)
        self.version = 1

    @property
    def writer(self) -> NoteIndex:
        """Give what writes notes."""
        return NoteIndex(self.index, self.redact, self.version)

    def root(self, root: str = ROOT, provider: str = "brain", role: str = "note") -> NoteRootRows:
        """Give a root."""
        return self.writer.root(root, provider, role)

    def put(self, root: NoteRootRows | None = None, **notes: str) -> NoteReport:
        """Index notes by name."""
        parsed = [self.parsed(f"{name}.md", text) for name, text in notes.items()]
        return self.writer.put(root or self.root(), parsed)

    def parsed(self, path: str, text: str) -> Note:
        """Cut a note."""
        return parse_note(path, text.encode(), self.redact)

    def ids(self) -> dict[str, str]:
        """Map the last lines of all records to their ids; a piece has its heading above it."""
        query = "SELECT t.text, hex(r.record_id) FROM records r JOIN texts t ON t.id = r.id"
        return {last_line(text): name for text, name in self.index.connection.execute(query)}

    def found(self, query: str) -> list[str]:
        """Search by words: the last lines of what matches."""
        with closing(open_reader(self.path, self.path.with_name("absent.db"), Aliases())) as reader:
            answer = reader.words(parse_query(query), Filter(), 50, Deadline())
            return [last_line(hit.text) for hit in reader.hits(answer.candidates, "words")]

    def column(self, name: str) -> list[object]:
        """List a column of the notes, by path."""
        query = {
            "source": "SELECT source FROM conversations ORDER BY note_path",
            "names": "SELECT note_names FROM conversations ORDER BY note_path",
            "path": "SELECT note_path FROM conversations ORDER BY note_path",
        }[name]
        return [value for (value,) in self.index.connection.execute(query)]


def last_line(text: str) -> str:
    """Give the last line of a piece."""
    return text.rpartition("\n")[2]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    """Give an empty index."""
    made = Notes(tmp_path)
    with closing(made.index.connection):
        yield made


def test_pieces_are_searched_by_text_headings_and_title(notes: Notes) -> None:
    report = notes.put(crane="# The crane\n\n## Lifting\n\nThe yellow one.\n\n## Repairs\n\nAsk the mill.\n")
    assert (report.notes, report.records, report.unchanged) == (1, 2, 0)
    assert notes.found("yellow") == ["The yellow one."]
    assert notes.found("lifting") == ["The yellow one."]
    assert sorted(notes.found("crane")) == ["Ask the mill.", "The yellow one."]


def test_an_unchanged_note_is_not_touched(notes: Notes) -> None:
    notes.put(a="one", b="two")
    before = notes.index.connection.total_changes
    report = notes.put(a="one", b="two")
    assert (report.notes, report.records, report.unchanged) == (0, 0, 2)
    assert notes.index.connection.total_changes == before


def test_an_insertion_at_the_top_renames_nothing_below(notes: Notes) -> None:
    text = "## First\n\nThe crane.\n\n## Second\n\nThe mill.\n\nThe weir.\n"
    notes.put(a=text)
    before = notes.ids()
    report = notes.put(a="## Inserted\n\nThe heron.\n\n" + text)
    assert report.records == 1
    after = notes.ids()
    assert {text: after[text] for text in before} == before


def test_a_piece_that_changed_is_replaced_and_one_that_went_is_gone(notes: Notes) -> None:
    notes.put(a="## First\n\nThe crane.\n\n## Second\n\nThe mill.\n")
    before = notes.ids()
    notes.put(a="## First\n\nThe heron.\n")
    assert notes.ids() == {"The heron.": before["The crane."]}
    assert notes.found("crane mill") == []


def test_a_new_title_is_searched_and_the_pieces_keep_their_ids(notes: Notes) -> None:
    notes.put(a="---\ntitle: Harbour\n---\n\nThe crane.\n")
    before = notes.ids()
    assert notes.found("harbour") == ["The crane."]
    notes.put(a="---\ntitle: Port\n---\n\nThe crane.\n")
    assert notes.ids() == before
    assert (notes.found("harbour"), notes.found("port")) == ([], ["The crane."])


def test_names_for_links_follow_the_front_matter(notes: Notes) -> None:
    notes.put(a="---\ntitle: Harbour\naliases: [Port, Haven]\n---\n\nThe crane.\n")
    assert notes.column("names") == ['["Harbour", "Port", "Haven"]']
    notes.put(a="---\ntitle: Harbour\naliases: [Port]\n---\n\nThe crane.\n")
    assert notes.column("names") == ['["Harbour", "Port"]']


def test_gone_notes_are_swept_per_root(notes: Notes) -> None:
    notes.put(a="one", b="two")
    notes.put(notes.root(OTHER), a="three")
    assert notes.writer.sweep(notes.root(), ["a.md"]) == 1
    assert set(notes.ids()) == {"one", "three"}
    assert notes.found("two") == []
    assert notes.writer.sweep(notes.root(), ["a.md"]) == 0
    assert notes.writer.sweep(notes.root(OTHER), []) == 1
    assert set(notes.ids()) == {"one"}


@pytest.mark.parametrize(
    ("unreadable", "left"),
    [
        (["deep/b.md"], ["deep/b.md"]),
        (["deep"], ["deep/b.md", "deep/c.md"]),
        ([""], ["a.md", "deep/b.md", "deep/c.md", "deeper.md"]),
        (["dee"], []),
    ],
)
def test_what_could_not_be_read_is_not_taken_for_deleted(
    notes: Notes, unreadable: list[str], left: list[str]
) -> None:
    paths = ("a.md", "deep/b.md", "deep/c.md", "deeper.md")
    notes.writer.put(notes.root(), [notes.parsed(path, path) for path in paths])
    notes.writer.sweep(notes.root(), [], unreadable)
    assert notes.column("path") == left


def test_another_provider_files_notes_anew_and_writes_no_text(notes: Notes) -> None:
    notes.put(a="one")
    before = notes.ids()
    report = notes.put(notes.root(provider="wiki"), a="one")
    assert (report.notes, report.records) == (1, 0)
    assert (notes.column("source"), notes.ids()) == (["wiki"], before)


def test_notes_of_third_parties_have_a_role_of_their_own_and_back(notes: Notes) -> None:
    notes.put(a="one")
    before = notes.ids()
    roles = "SELECT role FROM records"
    for role in ("source", "note"):
        report = notes.put(notes.root(role=role), a="one")
        assert report.records == 1
        assert notes.index.connection.execute(roles).fetchall() == [(role,)]
        assert notes.ids() == before
    assert notes.found("one") == ["one"]


def test_everything_of_a_note_is_redacted(notes: Notes) -> None:
    notes.redact = Redactor([]).redact
    text = f"---\ntitle: T {SECRET}\naliases: ['{SECRET}']\n---\n\n## H {SECRET}\n\nIt is {SECRET}.\n"
    name = notes.parsed(f"name {SECRET}.md", "plain")
    notes.writer.put(notes.root(), [notes.parsed("a.md", text), name])
    stored = [row for table in ("texts", "records", "conversations") for row in rows_of(notes, table)]
    held = [row for row in stored if SECRET in str(row)]
    assert [row for row in held if f"name {SECRET}.md" not in str(row)] == [], "a path names a file"
    assert notes.found("it") == ["It is [REDACTED:token]."]
    assert all(SECRET.lower() not in str(term) for term in terms(notes))


def rows_of(notes: Notes, table: str) -> list[tuple[object, ...]]:
    """Read a table."""
    query = {
        "texts": "SELECT * FROM texts",
        "records": "SELECT * FROM records",
        "conversations": "SELECT * FROM conversations",
    }[table]
    return notes.index.connection.execute(query).fetchall()


def terms(notes: Notes) -> list[object]:
    """List the words of the index."""
    notes.index.connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'words', 'row')")
    return [term for (term,) in notes.index.connection.execute("SELECT term FROM temp.terms")]


def test_a_secret_longer_than_a_piece_is_redacted(notes: Notes) -> None:
    notes.redact = Redactor([]).redact
    body = "\n".join("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+/" for _ in range(60))
    kind = "PRIVATE" + " KEY"
    notes.put(a=f"Before.\n\n-----BEGIN RSA {kind}-----\n{body}\n-----END RSA {kind}-----\n\nAfter.\n")
    assert all("abcdefghij" not in text for text in notes.ids())
    notes.put(b="Before.\n\n<private>\n\n## A heading\n\nhush\n\n</private>\n\nAfter.\n")
    assert notes.found("hush") == []


def test_a_piece_of_which_nothing_is_left_is_no_record(notes: Notes) -> None:
    notes.redact = Redactor([]).redact
    assert notes.put(a="<private>hush</private>", b="The crane.").records == 1
    assert set(notes.ids()) == {"The crane."}


def test_a_newer_redactor_reads_every_note_again(notes: Notes) -> None:
    notes.put(a="my word", b="plain")
    before = notes.ids()
    notes.version += 1
    notes.redact = lambda text: (text.replace("my word", "[REDACTED:word]"), 0)
    report = notes.put(a="my word", b="plain")
    assert (report.notes, report.records) == (2, 1)
    assert notes.ids() == {"[REDACTED:word]": before["my word"], "plain": before["plain"]}
    assert notes.put(a="my word", b="plain").unchanged == 2


def test_notes_have_no_neighbours(notes: Notes) -> None:
    notes.put(a="## One\n\nThe crane.\n\n## Two\n\nThe mill.\n")
    query = "SELECT before1, before2 FROM records"
    assert notes.index.connection.execute(query).fetchall() == [(None, None)] * 2
    assert notes.found("crane") == ["The crane."]


def test_an_emptied_note_stays_known_without_records(notes: Notes) -> None:
    notes.put(a="one")
    assert notes.put(a="").records == 0
    assert (notes.ids(), notes.column("path")) == ({}, ["a.md"])
    assert notes.put(a="").unchanged == 1


def test_an_index_of_notes_that_changed_equals_one_made_anew(notes: Notes, tmp_path: Path) -> None:
    text = "# T\n\n## One\n\nThe crane.\n\n## Two\n\nThe mill.\n"
    notes.put(a=text, b="two", c="three")
    notes.put(a="Intro.\n\n" + text.replace("mill", "weir"), b="two")
    notes.writer.sweep(notes.root(), ["a.md", "b.md"])
    (tmp_path / "fresh").mkdir()
    fresh = Notes(tmp_path / "fresh")
    with closing(fresh.index.connection):
        fresh.put(a="Intro.\n\n" + text.replace("mill", "weir"), b="two")
        assert stored(fresh) == stored(notes)


def stored(notes: Notes) -> tuple[object, ...]:
    """Tell all that an index holds, by ids that follow from the data."""
    connection = notes.index.connection
    named = dict(connection.execute("SELECT id, hex(record_id) FROM records").fetchall())
    return connection.execute(RECORDS).fetchall(), full_text(connection, "words", named, ("crane", "one"))


@pytest.mark.parametrize(("bound", "reached"), [("_BATCH_NOTES", 2), ("_BATCH_CHARS", 12)])
def test_many_notes_are_written_in_batches_and_an_error_keeps_the_finished_ones(
    notes: Notes, monkeypatch: pytest.MonkeyPatch, bound: str, reached: int
) -> None:
    monkeypatch.setattr(note_index, bound, reached)

    def many() -> Iterator[Note]:
        for number in range(5):
            if number == 4:
                raise DiskFull("no space left")
            yield notes.parsed(f"{number}.md", f"note {number}")

    with pytest.raises(DiskFull):
        notes.writer.put(notes.root(), many())
    assert len(notes.ids()) == 4
    assert notes.writer.put(notes.root(), [notes.parsed("0.md", "note 0")]).unchanged == 1


def test_a_change_is_counted_and_a_run_without_one_is_not(notes: Notes) -> None:
    notes.put(a="one")
    changes = notes.index.meta("note_changes")
    notes.put(a="one")
    notes.writer.sweep(notes.root(), ["a.md"])
    assert notes.index.meta("note_changes") == changes == 1
    notes.writer.sweep(notes.root(), [])
    assert notes.index.meta("note_changes") == 2
