"""Print what status and its digest cost, and whether the order in which transcripts came shows in it.

Run it as `python -m tests.bench.bench_digest HOME`.  The million records are made up: they have the size of
real ones, ids by chance, and no words, of which the digest knows nothing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from archivist.capture import CaptureOptions, Roots, capture
from archivist.providers.base import Cursor, Increment, Provider, Source
from node.composition import open_local
from node.services.status import describe
from retrieval.index_health import contents, one_state
from tests.bench.bench_capture import capture_words, roots, whereto
from tests.bench.corpus import apart, atrium, corpus_of_arguments, enter, environment, row, title, whole

MILLION = 1_000_000
_FILL = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
INSERT INTO records (id, record_id, conversation, population, workspace, role, event_id, content_sha256,
                     source_sha256, authored_at, event_index, before1, before2)
SELECT n, randomblob(32), 1, 0, NULL, 'user', lower(hex(randomblob(32))), randomblob(32), randomblob(32),
       '2026-01-01T00:00:00.000Z', n, n - 1, n - 2 FROM numbers
"""
_TEXTS = "INSERT INTO texts (id, text) SELECT id, event_id FROM records"
_CONVERSATION = """
INSERT INTO conversations (id, conversation_id, population, source, source_id, title, automation, captured,
                           last_key, last_id, next_index, removed_hlc)
VALUES (1, randomblob(32), 0, 'claude-code', 'made up', '', 0, 1, '', '', 0, 0)
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """A digest, the records that it covers, and the CPU seconds that it took."""

    digest: str
    records: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class _Backwards:
    """A provider whose sources come last first."""

    provider: Provider

    @property
    def name(self) -> str:
        """Name the provider."""
        return self.provider.name

    def sources(self, root: Path) -> Iterator[Source]:
        """List the sources the other way round."""
        return reversed(list(self.provider.sources(root)))

    def read(self, source: Source, cursor: Cursor | None) -> Iterator[Increment]:
        """Read as usual."""
        return self.provider.read(source, cursor)


def capture_backwards(home: Path, state: Path) -> None:
    """Capture a home with its providers and their sources the other way round."""
    with closing(open_local(enter(home, state), writable=True)) as local:
        turned = [
            Roots(provider=_Backwards(place.provider), root=place.root)  # type: ignore[arg-type]
            for place in reversed(roots(home))
        ]
        capture(whereto(local, local.archive, local.follower), turned, CaptureOptions())


def fill(home: Path, state: Path, records: int) -> None:
    """Put made-up records into an empty index."""
    with closing(open_local(enter(home, state), writable=True)) as local:
        local.archive.log.head()
        with local.index.transaction():
            for statement, values in ((_CONVERSATION, ()), (_FILL, (records,)), (_TEXTS, ())):
                local.index.connection.execute(statement, values)


def count(home: Path, state: Path) -> Counted:
    """Count and hash an index, as status does."""
    with closing(open_local(enter(home, state), writable=False)) as local, local.reader() as reader:
        began_s = time.process_time()
        with one_state(reader):
            found = contents(reader)
        spent_s = time.process_time() - began_s
    return Counted(found.digest, sum(found.by_source.values()), spent_s)


def describe_twice(home: Path, state: Path) -> float:
    """Make status a second time in one process, as a node does; return its CPU seconds."""
    with closing(open_local(enter(home, state), writable=False)) as local:
        describe(local, time.time())
        began_s = time.process_time()
        describe(local, time.time())
        return time.process_time() - began_s


def main() -> None:
    """Print the table for the home on the command line."""
    corpus = corpus_of_arguments()
    home = corpus.home
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        states = {name: Path(folder) / name for name in ("forwards", "backwards", "million")}
        apart(capture_words, home, states["forwards"])
        apart(capture_backwards, home, states["backwards"])
        apart(fill, home, states["million"], MILLION)
        title("status and its digest")
        digests = {name: _print(home, state) for name, state in states.items()}
    is_equal = digests["forwards"] == digests["backwards"]
    print(f"transcripts taken in two orders: {'equal digests' if is_equal else 'DIFFERENT digests'}")
    sys.exit(not is_equal)


def _print(home: Path, state: Path) -> str:
    counted = apart(count, home, state)
    found = counted.value
    status = whole(atrium("status", "--json"), environment(home, state), home)
    again_s = apart(describe_twice, home, state).value
    row(f"status of {found.records} records", status, f"of which counting and digest {found.cpu_s:.2f} CPU-s")
    print(f"    again in the same process {1000 * again_s:.1f} ms; digest {found.digest[:16]} ({state.name})")
    return found.digest


if __name__ == "__main__":
    main()
