"""Print what durable writes and `atrium verify` cost, beside what the disk and SHA-256 allow.

Run it as `python -m tests.bench.bench_feeds [SECONDS] [MEGABYTES]`: seconds of each writing (5), megabytes
of archive to verify (100).  Every write is one entry of about 350 bytes, acknowledged after its commit with
synchronous=FULL; floors are the same bytes written by a bare loop to the same disk, in the same run.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import zstandard

from crdt.archive import Archive
from crdt.entries import Draft, EntryKind
from crdt.manifest_log import FeedManifests
from crdt.operations import encode
from crdt.segments import Body, SegmentDirectory
from crdt.sqlite import open_writer, transaction
from crdt.store import FeedStore
from tests.bench.bench_projection import operation, paths, writing
from tests.bench.corpus import MB, apart, atrium, environment, row, title, whole
from tests.bench.processes import percentile
from tests.crdt.signers import SeedSigner

SECONDS = 5
MEGABYTES = 100
WRITERS = 8
WRITES_S_MIN = 1_200
VERIFY_MB_S_MIN = 50
ENTRIES = 20_000
GROUP = 500
BODY_BYTES = 4_000
_CREATE = "CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL) STRICT"
_INSERT = "INSERT INTO entries (body) VALUES (?)"

Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Rate:
    """Writes that were acknowledged, and how long each took."""

    writes: int
    seconds: float
    waits_ms: list[float]

    def __str__(self) -> str:
        p50, p99 = percentile(self.waits_ms, 0.5), percentile(self.waits_ms, 0.99)
        return f"{self.writes / self.seconds:6.0f} writes/s   p50 {p50:.2f} ms, p99 {p99:.2f} ms"


def bodies(writer: int) -> Callable[[], bytes]:
    """Make what words one writer's entries, each another."""
    chance = random.Random(writer)  # noqa: S311
    author = SeedSigner("bench").public_key
    numbers = iter(range(writer * 10**9, (writer + 1) * 10**9))
    return lambda: encode(operation(author, next(numbers), chance))


def rate(writes: list[Write], seconds: float) -> Rate:
    """Let every writer write one after the other for so many seconds, each in a thread of its own."""
    waits_ms: list[list[float]] = [[] for _ in writes]
    deadline_s = time.perf_counter() + seconds

    def work(number: int) -> None:
        word = bodies(number)
        while time.perf_counter() < deadline_s:
            body = word()
            began_s = time.perf_counter()
            writes[number](body)
            waits_ms[number].append(1000 * (time.perf_counter() - began_s))

    began_s = time.perf_counter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(writes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - began_s
    return Rate(sum(map(len, waits_ms)), took_s, [wait for waits in waits_ms for wait in waits])


def feeds(folder: Path, writers: int, seconds: float) -> Rate:
    """Write to a store."""
    with writing(folder) as store:
        home = store.home()

        def write(body: bytes) -> object:
            return store.write([Draft(space=home, kind=EntryKind.RECORD, body=body)])

        return rate([write] * writers, seconds)


def plain_fsync(folder: Path, seconds: float) -> Rate:
    """Append to a file and flush it, once for each."""
    with (folder / "plain").open("ab", buffering=0) as file:

        def write(body: bytes) -> None:
            file.write(body)
            os.fsync(file.fileno())

        return rate([write], seconds)


def plain_commits(folder: Path, rows: int, seconds: float) -> Rate:
    """Commit so many rows at a time to a bare table with synchronous=FULL; a write is one row."""
    with ExitStack() as stack:
        connection = stack.enter_context(closing(open_writer(folder / f"plain-{rows}.db", durable=True)))
        connection.execute(_CREATE)

        def write(body: bytes) -> None:
            with transaction(connection):
                connection.executemany(_INSERT, [(body,)] * rows)

        made = rate([write], seconds)
    return Rate(made.writes * rows, made.seconds, made.waits_ms)


def fill(state: Path, entries: int, megabytes: int) -> None:
    """Write entries and an archive of made-up fragments, as large as said without compression."""
    word = bodies(0)
    with writing(state) as store:
        home = store.home()
        for start in range(0, entries, GROUP):
            drafts = [
                Draft(space=home, kind=EntryKind.RECORD, body=word())
                for _ in range(min(GROUP, entries - start))
            ]
            store.write(drafts)
        _fill_archive(store, state / "canonical" / "segments", megabytes)


def _fill_archive(store: FeedStore, folder: Path, megabytes: int) -> None:
    chance = random.Random(9)  # noqa: S311
    words = [f"{chance.randrange(1 << 40):x}" for _ in range(5_000)]
    folder.mkdir(mode=0o700, parents=True)
    archive = Archive(FeedManifests(store), SegmentDirectory(folder))
    left_bytes = megabytes * int(MB)
    while left_bytes > 0:
        fragments = [_fragment(chance, words) for _ in range(min(GROUP, -(-left_bytes // BODY_BYTES)))]
        archive.append(fragments, seal=True)
        left_bytes -= sum(len(body.data) for body in fragments)


def _fragment(chance: random.Random, words: list[str]) -> Body:
    data = json.dumps({"text": " ".join(chance.choices(words, k=BODY_BYTES // 11))}).encode()
    return Body(sha256=hashlib.sha256(data).hexdigest(), data=data)


@dataclass(frozen=True, slots=True)
class Hashed:
    """Bytes that were read, and the seconds that hashing them took."""

    size_bytes: int
    hashing_s: float


def read_and_hash(state: Path) -> Hashed:
    """Do what no verification can do without: read all rows and segments, and hash them."""
    size_bytes, hashing_s = 0, 0.0
    with closing(sqlite3.connect(paths(state)[0])) as connection:
        chunks = [b"".join(row) for row in connection.execute("SELECT header, body, signature FROM entries")]
    decompressor = zstandard.ZstdDecompressor()
    segments = sorted((state / "canonical" / "segments").rglob("*.zst"))
    for number in range(-1, len(segments)):
        if number >= 0:
            reader = decompressor.stream_reader(segments[number].read_bytes(), read_across_frames=True)
            chunks = [reader.read()]
        began_s = time.perf_counter()
        for chunk in chunks:
            hashlib.sha256(chunk).digest()
        hashing_s += time.perf_counter() - began_s
        size_bytes += sum(map(len, chunks))
    return Hashed(size_bytes, hashing_s)


def main() -> None:
    """Print both tables."""
    given = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    seconds, megabytes = (*given, *(SECONDS, MEGABYTES)[len(given) :])[:2]
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        _print_writes(Path(name), seconds)
        _print_verify(Path(name), megabytes)


def _print_writes(folder: Path, seconds: int) -> None:
    title(f"acknowledged durable writes, {seconds} s each")
    for label, made in (
        ("floor: write, fsync", apart(plain_fsync, folder, seconds)),
        ("floor: SQLite, 1 row a commit", apart(plain_commits, folder, 1, seconds)),
        ("one writer", apart(feeds, folder / "one", 1, seconds)),
        (f"floor: SQLite, {WRITERS} rows a commit", apart(plain_commits, folder, WRITERS, seconds)),
        (f"{WRITERS} writers", apart(feeds, folder / "many", WRITERS, seconds)),
    ):
        cpu_us = 1e6 * made.cpu_s / made.value.writes
        row(label, made, str(made.value), f"{cpu_us:.0f} CPU-us a write")
    rate_s = made.value.writes / made.value.seconds
    print(f"    target {WRITES_S_MIN} writes/s{'' if rate_s >= WRITES_S_MIN else ': TOO FEW'}")


def _print_verify(folder: Path, megabytes: int) -> None:
    state = folder / "verified"
    apart(fill, state, ENTRIES, megabytes)
    title(f"verify {ENTRIES} entries and {megabytes} MB of archive")
    floor = apart(read_and_hash, state)
    size_mb = floor.value.size_bytes / MB
    row("floor: read, decompress, sha256", floor, f"{size_mb / floor.wall_s:.0f} MB/s of {size_mb:.0f} MB")
    row("    sha256 alone", None, f"{size_mb / floor.value.hashing_s:.0f} MB/s")
    variables = environment(folder, state)
    for words in (("verify", "--json"), ("verify", "--every-signature", "--json")):
        done = whole(atrium(*words), variables, folder)
        document = json.loads(done.value)
        assert document["ok"], document
        mb_s = document["bytes"] / MB / done.cpu_s
        judged = "" if mb_s >= VERIFY_MB_S_MIN or len(words) > 2 else ": TOO SLOW"
        figures = f"{document['bytes'] / MB / done.wall_s:.0f} MB/s, {mb_s:.0f} MB per CPU-s"
        row(" ".join(words[:-1]), done, f"{figures} (target {VERIFY_MB_S_MIN}){judged}")


if __name__ == "__main__":
    main()
