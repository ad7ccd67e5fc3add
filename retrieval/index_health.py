"""What status and doctor ask of the index: how much is in it, its digests, whether it holds together.

Everything is read; nothing is mended here.  Counting is quick at any size (a million records: a tenth of a
second), the digests read every record (a million: three to four seconds), so `Revision` tells whether
digests that were made before still hold.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import NewType

from crdt.sqlite import faults
from retrieval.index_reader import IndexReader
from retrieval.index_schema import MEMORY_GENERATION, MEMORY_WATERMARK, NAME, UNREAD

Revision = NewType("Revision", tuple[object, ...])
"""Equal for as long as no record comes, goes or changes, whichever process asks."""

_LAST_RETIRED = "SELECT coalesce(max(id), 0) FROM retired"
_RECORDS = "SELECT count(*) FROM records"
_TEXTS = "SELECT count(*) FROM texts"
_CONVERSATIONS = "SELECT count(*) FROM conversations WHERE population = 0 AND removed_hlc = 0"
_NEWEST = """
SELECT max(authored_at) FROM records
WHERE authored_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*'
"""
_HAS_LANE = "SELECT 1 FROM pragma_database_list WHERE name = 'lane'"
_LANE_RECORD = "SELECT value FROM lane.meta WHERE key = 'record'"
_LANE_RECORDS_LEFT = "SELECT count(*) FROM texts WHERE id > ?"
_INTEGRITY = "PRAGMA main.integrity_check(20)"
_TRY_FTS5 = "CREATE VIRTUAL TABLE temp.probe USING fts5 (text, tokenize = 'trigram')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the index holds.  `newest_authored_at` is the source's own text and starts with a date."""

    digest: str
    notes_digest: str
    by_source: dict[str, int]
    conversations: int
    newest_authored_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the index's parts agree: `watermark` is the last manifest of the archive that it applied.

    `memory` is the making of the projection that it follows, None for none, and the last change that it has
    applied of it.  `substrings_left` counts the records that the substring lane has not taken in, `unread`
    the manifests whose bytes the index could not read when it last tried.
    """

    watermark: int
    records: int
    texts: int
    substrings_left: int
    memory: tuple[str | None, int] = (None, 0)
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The SQLite that this Python brings, and whether it has full-text search with trigrams."""

    version: str
    has_fts5: bool


@contextmanager
def one_state(reader: IndexReader) -> Iterator[None]:
    """Let every statement of a block see the same state of the index, whatever is written meanwhile."""
    with faults(NAME):
        reader.connection.execute("BEGIN")
        try:
            yield
        finally:
            reader.connection.execute("COMMIT")


def revision(reader: IndexReader) -> Revision:
    """Tell which state of the records this is, in microseconds.

    A record that comes raises the next row id, one that goes leaves a row in `retired`; a change is both.
    """
    with faults(NAME):
        (retired,) = reader.connection.execute(_LAST_RETIRED).fetchone()
    keys = ("generation", "archive_seq", "next_record")
    return Revision((*(reader.meta(key) for key in keys), retired))


def contents(reader: IndexReader) -> Contents:
    """Count and hash all there is."""
    return Contents(
        digest=reader.digest(),
        notes_digest=reader.digest(notes=True),
        by_source=reader.by_source(),
        conversations=int(str(_one(reader, _CONVERSATIONS))),
        newest_authored_at=_text_or_none(_one(reader, _NEWEST)),
    )


def health(reader: IndexReader) -> Health:
    """Compare the index's parts by counting."""
    with one_state(reader):
        seen = _lane_record(reader)
        texts = int(str(_one(reader, _TEXTS)))
        return Health(
            watermark=int(reader.meta("archive_seq") or 0),
            records=int(str(_one(reader, _RECORDS))),
            texts=texts,
            substrings_left=int(str(_one(reader, _LANE_RECORDS_LEFT, seen))) if seen else texts,
            memory=(
                _text_or_none(reader.meta(MEMORY_GENERATION)),
                int(reader.meta(MEMORY_WATERMARK) or 0),
            ),
            unread=int(reader.meta(UNREAD) or 0),
        )


def findings(reader: IndexReader) -> list[str]:
    """Read every page and row of the index: at most 20 findings, empty when it is whole."""
    with faults(NAME):
        rows = reader.connection.execute(_INTEGRITY).fetchall()
    found = [str(row[0]) for row in rows]
    return [] if found == ["ok"] else found


def engine() -> Engine:
    """Look at the SQLite of this process."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(_TRY_FTS5)
        except sqlite3.OperationalError:
            # The module or its tokenizer is not compiled in, which is what was asked.
            return Engine(version=sqlite3.sqlite_version, has_fts5=False)
    return Engine(version=sqlite3.sqlite_version, has_fts5=True)


def _lane_record(reader: IndexReader) -> int:
    """Tell the last record that the substring lane took in; 0 where there is no lane."""
    with faults("derived/substrings.db"):
        if reader.connection.execute(_HAS_LANE).fetchone() is None:
            return 0
        row = reader.connection.execute(_LANE_RECORD).fetchone()
    return int(row[0]) if row else 0


def _one(reader: IndexReader, statement: str, *parameters: object) -> object:
    with faults(NAME):
        return reader.connection.execute(statement, parameters).fetchone()[0]


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)
