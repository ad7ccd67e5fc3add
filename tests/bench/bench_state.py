"""Print what it costs to make everything derived anew, and whether digests and answers are what they were.

Run it as `python -m tests.bench.bench_state HOME [ENTRIES]`: all transcripts of the home are captured, and so
many entries of memory are kept beside them (100,000).  Then `derived/` is deleted twice: one time a node
starts, one time `atrium rebuild` runs alone.  The floor is the same bytes of the archive decompressed and
hashed, and its messages put into a bare FTS5 table.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import answers
from tests.bench.answers import Question, Standing
from tests.bench.bench_capture import plain_words, write_texts
from tests.bench.bench_feeds import read_and_hash
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
from tests.bench.processes import PORT, find_node, peak_mb

ENTRIES = 100_000
WORDS_MAX = 200


def fill(home: Path, state: Path, entries: int, words: Sequence[str]) -> None:
    """Keep entries in a captured state."""
    answers.fill(enter(home, state), entries, words, state.parent / "project")


def ask(home: Path, state: Path, words: Sequence[str]) -> list[Question]:
    """Make up the questions."""
    return answers.questions(enter(home, state), words, state.parent / "project")


def stand(home: Path, state: Path, asked: Sequence[Question]) -> Standing:
    """Ask them all, and for the digests."""
    return answers.standing(enter(home, state), asked)


def archive_bytes(home: Path, state: Path) -> int:
    """Measure the archive without compression."""
    return answers.archive_bytes(enter(home, state))


def size_mb(folder: Path) -> float:
    """Measure what a directory takes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MB


class Bench:
    """One state directory made from one home."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.home, self.state, self.folder = corpus.home, folder / "state", folder
        self.words = [needle["word"] for needle in corpus.needles[:WORDS_MAX]]
        self.variables = environment(self.home, self.state)

    def make(self, entries: int) -> None:
        """Capture and fill, and say how large it all is."""
        row("capture", whole(atrium("capture"), self.variables, self.home))
        row(f"{entries} entries, all searchable", apart(fill, self.home, self.state, entries, self.words))
        archive_mb = apart(archive_bytes, self.home, self.state).value / MB
        print(f"    archive {archive_mb:.0f} MB without compression, {self._sizes()}")

    def print_floors(self) -> None:
        """Print what reading the archive and indexing bare words cost."""
        read = apart(read_and_hash, self.state)
        row("floor: read, decompress, sha256", read, f"{read.value.size_bytes / MB:.0f} MB")
        texts = self.folder / "texts.json"
        apart(write_texts, self.home, self.state, texts)
        plain = apart(plain_words, texts, self.folder / "plain.db")
        row("floor: plain FTS5 of all texts", plain, f"{plain.value:.0f} MB of text")

    def stand(self, asked: Sequence[Question]) -> Measured[Standing]:
        """Ask every question in a process of its own."""
        return apart(stand, self.home, self.state, asked)

    def start(self) -> None:
        """Start a node over nothing derived; what looks for new transcripts at its start makes all anew."""
        shutil.rmtree(self.state / "derived")
        row(
            "up: all is level, a node answers", whole(atrium("up", "--port", PORT), self.variables, self.home)
        )
        try:
            row(
                "    prepare-context: nothing to do",
                whole(atrium("prepare-context"), self.variables, self.home),
            )
            print(
                f"    peak of the node's memory {peak_mb(find_node(self.variables)):.0f} MB, {self._sizes()}"
            )
        finally:
            whole(atrium("down"), self.variables, self.home)

    def rebuild(self) -> None:
        """Make all anew without a node."""
        shutil.rmtree(self.state / "derived")
        made = whole(atrium("rebuild", "--json"), self.variables, self.home)
        row("rebuild, alone", made, f"{json.loads(made.value)['records']} records", self._sizes())

    def _sizes(self) -> str:
        canonical_mb, derived_mb = size_mb(self.state / "canonical"), size_mb(self.state / "derived")
        return f"canonical {canonical_mb:.0f} MB, derived {derived_mb:.0f} MB"


def main() -> None:
    """Print the table; end with 1 where anything is not as it was."""
    corpus = corpus_of_arguments()
    entries = int(sys.argv[2]) if len(sys.argv) > 2 else ENTRIES
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        bench = Bench(corpus, Path(name))
        title(f"a state of {corpus.megabytes:.0f} MB of transcripts and {entries} entries")
        bench.make(entries)
        asked = apart(ask, bench.home, bench.state, bench.words).value
        before = bench.stand(asked)
        row(
            f"{len(asked)} questions and the digests",
            before,
            f"{len(answers.empty(before.value))} say nothing",
        )
        bench.print_floors()
        differences = []
        for make_anew in (bench.start, bench.rebuild):
            make_anew()
            found = before.value.differences(bench.stand(asked).value)
            print(f"    {'DIFFERENT: ' + ', '.join(found) if found else 'digests and answers are as before'}")
            differences += found
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
