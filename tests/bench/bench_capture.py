"""Print what capture and ingest cost, from transcripts to a searchable state, beside their floors.

Run it as `python -m tests.bench.bench_capture HOME`.  MB/s are per CPU second of the whole process, all
its threads together.
"""

from __future__ import annotations

import hashlib
import json
import socket
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from archivist.capture import CaptureOptions, CaptureState, Roots, capture
from archivist.fragments import FragmentMaker
from archivist.providers import PROVIDERS
from archivist.providers.claude_wire import DECODER as CLAUDE
from archivist.providers.codex_wire import DECODER as CODEX
from crdt.archive import Appended, Archive, Stored
from crdt.events import Fragment
from crdt.manifests import Logged
from crdt.segments import Body
from node.composition import Local, open_local
from node.services import export, ingest
from node.services.catalog import Document
from node.services.requests import ExportRequest, IngestRequest
from retrieval.follow import Applied, ArchiveFollower
from retrieval.scope import workspace_of
from tests.bench.corpus import (
    MB,
    Corpus,
    Measured,
    apart,
    atrium,
    corpus_of_arguments,
    enter,
    environment,
    row,
    title,
    whole,
)
from tests.bench.planted import missed_needles, secrets_left


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture made, and where its CPU seconds went: the reading thread, the archive, the index."""

    events: int
    redactions: int
    records: int
    reading_s: float
    archive_s: float
    index_s: float


class _TimedFollower(ArchiveFollower):
    """A follower that counts the CPU time of its thread."""

    spent_s = 0.0

    def apply(self, logged: Logged, items: Sequence[tuple[Stored, Fragment]], done: Applied) -> None:
        """Apply as usual."""
        began_s = time.thread_time()
        super().apply(logged, items, done)
        self.spent_s += time.thread_time() - began_s


class _TimedArchive(Archive):
    """An archive that counts the CPU time of its thread."""

    spent_s = 0.0

    def append(self, bodies: Sequence[Body], *, seal: bool) -> Appended:
        """Append as usual."""
        began_s = time.thread_time()
        made = super().append(bodies, seal=seal)
        self.spent_s += time.thread_time() - began_s
        return made


def capture_words(home: Path, state: Path) -> Captured:
    """Capture a home until all is searchable by words."""
    with closing(open_local(enter(home, state), writable=True)) as local:
        archive = _TimedArchive(local.archive.log, local.archive.segments)
        follower = _TimedFollower(local.index, archive)
        began_s = time.thread_time()
        report = capture(whereto(local, archive, follower), roots(home), CaptureOptions())
        reading_s = time.thread_time() - began_s
    made = (report.events, report.redactions, report.applied.written)
    return Captured(*made, reading_s, archive.spent_s, follower.spent_s)


def whereto(local: Local, archive: Archive, follower: ArchiveFollower) -> CaptureState:
    """Say where a capture writes to, as the use-case does."""
    home = local.home
    maker = FragmentMaker(local.redactor, socket.gethostname(), home, lambda path: workspace_of(path, home))
    return CaptureState(
        archive=archive,
        follower=follower,
        catalog=local.catalog(),
        cursors=local.local_store,
        maker=maker,
    )


def roots(home: Path) -> list[Roots]:
    """List the directories with transcripts that are there."""
    return [
        Roots(provider=PROVIDERS[name], root=Path(folder))
        for name, folders in Corpus(home).roots.items()
        for folder in folders
        if Path(folder).is_dir()
    ]


def catch_up_substrings(home: Path, state: Path) -> int:
    """Bring the substring lane level with the index."""
    with closing(open_local(enter(home, state), writable=True)) as local:
        return local.substrings.catch_up()


def parse_and_hash(home: Path) -> int:
    """Do what no capture can do without: read, hash and decode every line."""
    lines = 0
    for path in Corpus(home).files:
        data = path.read_bytes()
        hashlib.sha256(data).digest()
        decoder = CODEX if path.name.startswith("rollout-") else CLAUDE
        for line in data.split(b"\n")[:-1]:
            decoder.decode(line)
            lines += 1
    return lines


def plain_words(texts: Path, database: Path) -> float:
    """Index the bare texts of the messages with FTS5 and nothing else; return their size in MB."""
    rows: list[tuple[int, str]] = msgspec.json.decode(texts.read_bytes(), type=list[tuple[int, str]])
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            "CREATE VIRTUAL TABLE plain USING fts5 (text, content = '', "
            "tokenize = 'unicode61 remove_diacritics 2')"
        )
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    return sum(len(text.encode()) for _, text in rows) / MB


def write_texts(home: Path, state: Path, path: Path) -> float:
    """Write the texts of an index to a file; return their size in MB."""
    with closing(open_local(enter(home, state), writable=False)) as local, local.reader() as reader:
        rows = reader.connection.execute("SELECT id, text FROM texts").fetchall()
    path.write_bytes(msgspec.json.encode(rows))
    return sum(len(text.encode()) for _, text in rows) / MB


def export_archive(home: Path, state: Path, path: Path) -> Document:
    """Write the archive to a file."""
    with closing(open_local(enter(home, state), writable=False)) as local:
        return export.handle(local, ExportRequest(path=str(path)), lambda _document: None)


def ingest_archive(home: Path, state: Path, path: Path) -> Document:
    """Take an archive file in."""
    with closing(open_local(enter(home, state), writable=True)) as local:
        return ingest.handle(local, IngestRequest(path=str(path)), lambda _document: None)


def main() -> None:
    """Print the table for the home on the command line."""
    corpus = corpus_of_arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        base = Path(folder)
        title(f"capture of {corpus.megabytes:.1f} MB in {len(corpus.files)} transcripts")
        lane_s = _print_capture(corpus, base)
        _print_noop(corpus, base)
        _print_ingest(corpus, base, lane_s)
        _print_planted(corpus, base)


def _print_capture(corpus: Corpus, base: Path) -> float:
    """Print what a capture costs; return the CPU seconds of the substring lane."""
    size_mb = corpus.megabytes
    floor = apart(parse_and_hash, corpus.home)
    row("floor: read, hash, decode", floor, f"{size_mb / floor.cpu_s:.0f} MB/s", f"{floor.value} lines")
    captured = apart(capture_words, corpus.home, base / "state")
    parts = captured.value
    text_mb = apart(write_texts, corpus.home, base / "state", base / "texts.json").value
    row(
        "capture to words-searchable",
        captured,
        f"{size_mb / captured.cpu_s:.1f} MB/s of transcript (target 8)",
        f"{text_mb / captured.cpu_s:.2f} MB/s of message text",
        f"{captured.cpu_s / floor.cpu_s:.1f} times the floor",
    )
    print(f"    {parts.events} events, {parts.redactions} redactions, {parts.records} records")
    print(
        f"    reading thread {parts.reading_s:.2f} CPU-s, archive {parts.archive_s:.2f}, "
        f"index {parts.index_s:.2f} ({text_mb / parts.index_s:.2f} MB/s of message text, target 2)"
    )
    peer = apart(plain_words, base / "texts.json", base / "plain.db")
    row("peer: plain FTS5 of the messages", peer, f"{text_mb / peer.cpu_s:.2f} MB/s of {text_mb:.1f} MB")
    lane = apart(catch_up_substrings, corpus.home, base / "state")
    row("substring lane", lane, f"{text_mb / lane.cpu_s:.2f} MB/s of message text")
    return lane.cpu_s


def _print_noop(corpus: Corpus, base: Path) -> None:
    variables = environment(corpus.home, base / "state")
    for number in (1, 2):
        again = whole(atrium("capture", "--json"), variables, corpus.home)
        document = json.loads(again.value)
        said = f"{document['unchanged']} unchanged, {document['events']} new events"
        row(f"warm no-op capture, process {number}", again, said, "target 2 s")


def _print_ingest(corpus: Corpus, base: Path, lane_s: float) -> None:
    file = base / "archive.jsonl"
    exported = apart(export_archive, corpus.home, base / "state", file)
    size_mb = file.stat().st_size / MB
    row("export", exported, f"{size_mb:.1f} MB", f"{size_mb / exported.cpu_s:.1f} MB/s")
    first = apart(ingest_archive, corpus.home, base / "fresh", file)
    to_words = f"{size_mb / (first.cpu_s - lane_s):.1f} MB/s without these (target 8)"
    row("ingest, substrings too", first, f"{size_mb / first.cpu_s:.1f} MB/s, {to_words}", _ingested(first))
    again = apart(ingest_archive, corpus.home, base / "fresh", file)
    share = f"{100 * again.cpu_s / first.cpu_s:.1f}% of the first (target 10%)"
    row("ingest again", again, share, _ingested(again))


def _ingested(measured: Measured[Document]) -> str:
    return f"{measured.value['written']} written, {measured.value['unchanged']} unchanged"


def _print_planted(corpus: Corpus, base: Path) -> None:
    searched = apart(missed_needles, corpus.home, base / "state")
    missed, bent = searched.value
    row("needles", searched, f"{len(corpus.needles)} sought, {len(missed)} missed, {len(bent)} not alone")
    for word in [*missed, *bent][:5]:
        print(f"    {word}")
    for name in ("state", "fresh"):
        left = apart(secrets_left, corpus.home, base / name)
        row(f"secrets in {name}", left, f"{len(corpus.secrets)} sought, {len(left.value)} found")
        for where in left.value[:5]:
            print(f"    {where}")


if __name__ == "__main__":
    main()
