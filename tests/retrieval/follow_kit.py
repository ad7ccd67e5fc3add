"""An archive with its index and substring lane, and all that they hold in a form that can be compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from crdt.archive import Archive, decode_fragment
from crdt.canonical import encode_canonical
from crdt.events import Fragment
from crdt.segments import Body, SegmentDirectory, fragment_sha256
from retrieval.follow import Applied, ArchiveFollower
from retrieval.index_catalog import Catalog
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.substrings import SubstringFollower
from tests.crdt.logs import open_log

Rows = list[tuple[object, ...]]

RECORDS = """
SELECT hex(r.record_id), hex(c.conversation_id), r.population, w.path, r.role, r.event_id,
       hex(r.content_sha256), hex(r.source_sha256), r.authored_at, r.event_index, r.headings, t.text,
       (SELECT hex(record_id) FROM records WHERE id = r.before1),
       (SELECT hex(record_id) FROM records WHERE id = r.before2)
FROM records r LEFT JOIN texts t ON t.id = r.id JOIN conversations c ON c.id = r.conversation
LEFT JOIN workspaces w ON w.id = r.workspace ORDER BY r.record_id
"""
CONVERSATIONS = """
SELECT hex(c.conversation_id), c.source, c.source_id, c.title, w.path, c.parent_id, c.automation, c.captured,
       c.last_key, c.last_id, c.next_index, c.removed_hlc > 0,
       (SELECT hex(record_id) FROM records WHERE id = c.tail1),
       (SELECT hex(record_id) FROM records WHERE id = c.tail2)
FROM conversations c LEFT JOIN workspaces w ON w.id = c.workspace ORDER BY c.conversation_id
"""
STREAMS = """
SELECT hex(c.conversation_id), s.path, s.last_seq, s.carried
FROM streams s JOIN conversations c ON c.id = s.conversation ORDER BY 1, 2
"""
FRAGMENTS = """
SELECT hex(f.sha256), hex(c.conversation_id), f.hlc, f.redactor, hex(f.segment), f.frame_offset,
       f.frame_bytes, f.skip, f.size
FROM fragments f JOIN conversations c ON c.id = f.conversation ORDER BY f.sha256
"""
ORPHANS = "SELECT count(*) FROM texts WHERE id NOT IN (SELECT id FROM records)"
VOCABULARY = "CREATE VIRTUAL TABLE temp.instances USING fts5vocab('main', '{table}', 'instance')"
INSTANCES = "SELECT term, doc, col, offset FROM temp.instances"
CHECK = "INSERT INTO {table} ({table}) VALUES ('integrity-check')"
SIZES = "SELECT id, hex(sz) FROM {table}_docsize"
AVERAGES = "SELECT hex(block) FROM {table}_data WHERE id = 1"
RANKED = "SELECT rowid, bm25({table}) FROM {table} WHERE {table} MATCH ?"


class Kept:
    """An archive and what is derived from it, below one directory."""

    def __init__(self, root: Path) -> None:
        """Make or open all of it."""
        self.root = root
        (root / "segments").mkdir(parents=True, exist_ok=True)
        self.archive = Archive(open_log(root / "feeds.db"), SegmentDirectory(root / "segments"))
        self.index = IndexWriter(open_index_writer(root / "index.db"))

    @property
    def follower(self) -> ArchiveFollower:
        """Make what follows the archive."""
        return ArchiveFollower(self.index, self.archive)

    @property
    def catalog(self) -> Catalog:
        """Make what finds a conversation's fragments."""
        return Catalog(self.index.connection, self.archive)

    def follow(self) -> Applied:
        """Bring the index level with the archive."""
        return self.follower.catch_up()

    def letters(self) -> int:
        """Bring the substring lane level with the index."""
        return SubstringFollower(self.root / "substrings.db", self.root / "index.db").catch_up()

    def append(self, *fragments: Fragment, seal: bool = False) -> None:
        """Archive fragments and index them from memory, as capture does."""
        bodies = {body.sha256: body for body in map(body_of, fragments)}
        follower = self.follower
        appended = self.archive.append(list(bodies.values()), seal=seal)
        logged = next(self.archive.log.since(follower.watermark()), None)
        if logged is None or logged.seq != appended.seq:
            follower.catch_up()
            return
        made = {sha256: decode_fragment(body.data) for sha256, body in bodies.items()}
        follower.apply(logged, [(stored, made[stored.sha256]) for stored in appended.stored], Applied())

    def close(self) -> None:
        """Close the stores."""
        self.index.connection.close()
        self.archive.log.close()

    @contextmanager
    def rebuilt(self) -> Iterator[Kept]:
        """Give the same archive with an index and a lane made anew."""
        fresh = Kept.__new__(Kept)
        fresh.root = self.root / "fresh"
        fresh.root.mkdir()
        fresh.archive = self.archive
        fresh.index = IndexWriter(open_index_writer(fresh.root / "index.db"))
        try:
            fresh.follow()
            fresh.letters()
            yield fresh
        finally:
            fresh.index.connection.close()


def body_of(fragment: Fragment) -> Body:
    """Encode a fragment."""
    data = encode_canonical(fragment)
    return Body(sha256=fragment_sha256(data), data=data)


def contents(kept: Kept, queries: Sequence[str] = ()) -> dict[str, object]:
    """Tell everything that index and lane hold, by ids that follow from the data and not by rows."""
    connection = kept.index.connection
    named = dict(connection.execute("SELECT id, hex(record_id) FROM records").fetchall())
    found: dict[str, object] = {
        "records": connection.execute(RECORDS).fetchall(),
        "conversations": connection.execute(CONVERSATIONS).fetchall(),
        "streams": connection.execute(STREAMS).fetchall(),
        "fragments": connection.execute(FRAGMENTS).fetchall(),
        "texts without a record": connection.execute(ORPHANS).fetchone(),
    }
    with closing(sqlite3.connect(kept.root / "index.db", isolation_level=None)) as index:
        found["words"] = full_text(index, "words", named, queries)
    if (kept.root / "substrings.db").exists():
        with closing(sqlite3.connect(kept.root / "substrings.db", isolation_level=None)) as lane:
            found["substrings"] = full_text(lane, "substrings", named, queries)
    return found


def full_text(
    connection: sqlite3.Connection, table: str, named: dict[int, str], queries: Sequence[str]
) -> dict[str, object]:
    """Tell what an FTS5 table holds: every word at its place, sizes, averages, and the ranks of queries."""

    def rows(statement: str, *parameters: str) -> Rows:
        return connection.execute(statement.format(table=table), parameters).fetchall()

    def name(row: object) -> str:
        return named.get(int(str(row)), "of no record")

    rows(VOCABULARY)
    rows(CHECK)
    (averages,) = rows(AVERAGES)[0]
    ranks = {
        query: sorted((strength, name(row)) for row, strength in rows(RANKED, quoted(query)))
        for query in queries
    }
    return {
        "instances": sorted((term, name(row), col, offset) for term, row, col, offset in rows(INSTANCES)),
        "sizes": sorted((name(row), size) for row, size in rows(SIZES)),
        # A table that was emptied writes zeros, one that was always empty nothing.
        "averages": str(averages).strip("0"),
        "ranks": ranks,
    }


def quoted(query: str) -> str:
    """Make a phrase of a query."""
    return '"' + query.replace('"', '""') + '"'
