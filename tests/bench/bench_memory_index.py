"""Print what the index of shared memory costs: made anew, followed again, and one memory more.

Run it as `python -m tests.bench.bench_memory_index [RECORDS]`, 100,000 without.  The feeds are those of
`bench_projection`.  The floor is the time in which a bare FTS5 table takes in the same texts.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crdt.entries import Draft, EntryKind
from crdt.operations import encode
from crdt.projection_reader import open_reader_of_projection
from retrieval.index_reader import open_reader
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.models import Deadline, Filter
from retrieval.query import parse_query
from retrieval.record_edges import Here
from retrieval.record_follow import RecordFollower
from retrieval.scope import Aliases
from retrieval.substrings import SubstringFollower
from tests.bench.bench_projection import RECORDS, SINGLE_WRITES, fill, operation, paths, projecting, rebuild
from tests.bench.corpus import apart, row, title
from tests.crdt.signers import SeedSigner

BATCH = 500
QUESTION_WORDS = 5
VISIBLE_MS_MAX = 50.0
"""From the acknowledgement of a write to a search that finds it."""
_FLOOR = "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')"


@contextmanager
def following(folder: Path) -> Iterator[RecordFollower]:
    """Open the projection with the index that follows it."""
    with projecting(folder, writable=False) as (store, _):
        index = IndexWriter(open_index_writer(folder / "derived" / "index.db"))
        reader = open_reader_of_projection(paths(folder)[1], store)
        with closing(index.connection), closing(reader):
            here = Here(author=store.author(), home=store.home())
            yield RecordFollower(index, reader, here, lambda _space, _key: "bench")


def follow(folder: Path) -> int:
    """Bring the index level; return how many records came."""
    with following(folder) as follower:
        return follower.catch_up()


def spell(folder: Path) -> int:
    """Bring the substring lane level; return how many records it took in."""
    derived = folder / "derived"
    return SubstringFollower(derived / "substrings.db", derived / "index.db").catch_up()


def follow_again(folder: Path) -> int:
    """Apply every change again, as after a rebuild of the projection; return how many records came."""
    with closing(sqlite3.connect(paths(folder)[1])) as projection:
        projection.execute("UPDATE meta SET value = 'another' WHERE key = 'generation'")
        projection.commit()
    return follow(folder)


def floor(folder: Path) -> int:
    """Insert the same texts into a bare FTS5 table."""
    with closing(sqlite3.connect(folder / "derived" / "index.db")) as source:
        texts = source.execute("SELECT text FROM texts").fetchall()
    with closing(sqlite3.connect(folder / "floor.db")) as plain:
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("PRAGMA synchronous = NORMAL")
        plain.execute(_FLOOR)
        for start in range(0, len(texts), BATCH):
            with plain:
                plain.executemany("INSERT INTO words (text) VALUES (?)", texts[start : start + BATCH])
    return len(texts)


def find(folder: Path) -> list[float]:
    """Write memories one by one; return the milliseconds from each acknowledgement until searches find it."""
    chance = random.Random(3)  # noqa: S311
    author = SeedSigner("bench").public_key
    index_path = folder / "derived" / "index.db"
    waits_ms = []
    with projecting(folder) as (store, projector), following(folder) as follower:
        for number in range(SINGLE_WRITES):
            said = operation(author, 10**9 + number, chance)
            store.write([Draft(space=store.home(), kind=EntryKind.RECORD, body=encode(said))])
            question = " ".join((said.text or "").split()[:QUESTION_WORDS])
            began_s = time.perf_counter()
            projector.catch_up()
            follower.catch_up()
            waits_ms.append((time.perf_counter() - began_s) * 1000)
            with closing(open_reader(index_path, folder / "derived" / "substrings.db", Aliases())) as reader:
                found = reader.words(parse_query(question), Filter(), 10, Deadline())
                assert said.text in [hit.text for hit in reader.hits(found.candidates, "words")]
    return sorted(waits_ms)


def main() -> None:
    """Print the table for so many records."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else RECORDS
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        title(f"the index of {records} records of shared memory")
        apart(fill, folder, records)
        apart(rebuild, folder)
        made = apart(follow, folder)
        row(f"index of {made.value} records", made, f"{made.value / made.cpu_s:.0f} a CPU second")
        row("    floor: bare FTS5", apart(floor, folder))
        row("    substring lane", apart(spell, folder))
        row("    again, nothing new", apart(follow_again, folder))
        waits_ms = apart(find, folder).value
        p50_ms, p99_ms = waits_ms[len(waits_ms) // 2], waits_ms[-2]
        verdict = "" if p99_ms <= VISIBLE_MS_MAX else ": TOO MUCH"
        row("acknowledged to searchable", None, f"p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} of 50 ms{verdict}")


if __name__ == "__main__":
    main()
