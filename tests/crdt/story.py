"""Stories: what a few people write into one space, with everything that makes merging hard, from a seed.

Rare things are common here: everybody works from an old view, clocks stand at the same few readings, people
are removed with cuts in the middle of what they said, or with one of its branches, and come back, feeds
fork, records are claimed by several, bodies are erased, and some of what is written is of no known type, not
allowed, or no operation.
"""

from __future__ import annotations

import random

from crdt.clock import pack
from crdt.edges import edge_id
from crdt.entries import Entry, EntryKind
from crdt.operations import Operation, encode
from crdt.roster import Label, Remove, Right, RosterOperation
from tests.crdt.projection_kit import Author, Said
from tests.crdt.signers import ALL_RIGHTS, START_MS, add

_TEXTS = ("one\ntwo\nthree", "one\n2\nthree", "one\ntwo\n3", "uno\ntwo\nthree", "another")
_TAGS = ("a", "b", "c")


class Story:
    """Tells one; `entries` begins with the genesis, and the others may come in any order."""

    def __init__(self, seed: int, steps: int = 40) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self.ann = Author("ann")
        self._others = [Author(name, self.ann.space) for name in ("ben", "cat", "dan")]
        self._authors = [self.ann, *self._others]
        self._records: list[list[Said]] = []
        self._branches: list[Entry] = []
        for author in self._others[:2]:
            self._add(author)
        for _ in range(steps):
            self._step()
        self.entries = [entry for author in self._authors for entry in author.entries] + self._branches

    def _step(self) -> None:
        tell = self._random.choices(
            (
                self._create,
                self._edit,
                self._claim,
                self._membership,
                self._nonsense,
                self._fork,
                self._erase,
            ),
            (5, 12, 2, 2, 1, 3, 1),
        )[0]
        tell()

    def _create(self) -> None:
        author = self._random.choice(self._authors)
        tags = self._random.sample(_TAGS, self._random.randint(0, 2))
        if self._random.random() < 0.2:
            said = author.create("task", {"title": "do", "state": "open"}, text=None, tags=tags)
        else:
            said = author.memory(self._text(), tags=tags, confidence=self._random.random())
        self._records.append([said])

    def _edit(self) -> None:
        if not self._records:
            return
        record = self._random.choice(self._records)
        seen = self._random.sample(record, self._random.randint(1, min(3, len(record))))
        record.append(self._random.choice(self._authors).change(*seen, **self._change(record)))

    def _change(self, record: list[Said]) -> dict[str, object]:
        dots = [(tag, one.entry.hash) for one in record for tag in one.operation.tag]
        return self._random.choice(
            (
                {"text": self._text()},
                {"set": {"project": self._random.choice("pq")}},
                {"set": {"state": "claimed", "claimed_by": "x", "confidence": 0.5}},
                {"tag": [self._random.choice(_TAGS)]},
                {"untag": self._random.sample(dots, min(2, len(dots)))},
                {"deleted": self._random.random() < 0.6},
            )
        )

    def _claim(self) -> None:
        ends = self._random.choice(_TAGS), self._random.choice(_TAGS)
        fields = {"from": ends[0], "to": ends[1], "relation": "supersedes"}
        operation = Operation(id=edge_id("supersedes", *ends), type="edge", set=dict(fields))
        self._records.append([self._random.choice(self._authors).say(operation)])

    def _membership(self) -> None:
        author = self._random.choice(self._others)
        fate = self._random.random()
        if fate < 0.5:
            self._add(author)
        elif fate < 0.9:
            here = len(author.entries)
            kept = self._random.choice((here, self._random.randint(0, here)))
            ends = self._ends(author, kept)
            removal = Remove(member=author.key, cut={author.feed.inc: kept}, said={}, ends=ends)
            self._by_ann(removal)
        else:
            self._by_ann(Label(label=f"label {fate}"))

    def _ends(self, author: Author, kept: int) -> dict[int, list[bytes]] | None:
        """Name the last entry within a cut, or some branch, or both, or nothing."""
        said = author.entries[max(kept - 1, 0) : kept]
        branches = [branch for branch in self._branches if branch.author == author.key]
        ends = self._random.choice((said, said, [*said, *branches[:1]], branches[-1:], None))
        return None if ends is None else {author.feed.inc: [entry.hash for entry in ends]}

    def _add(self, author: Author) -> None:
        rights: tuple[Right, ...] = self._random.choice((ALL_RIGHTS, ("read", "append")))
        self._by_ann(add(author.signer, rights))

    def _by_ann(self, operation: RosterOperation) -> None:
        self.ann.feed.roster(operation)

    def _nonsense(self) -> None:
        author = self._random.choice(self._authors)
        if self._random.random() < 0.5:
            author.create("hologram", {"kind": "x"})
        else:
            author.feed.say(EntryKind.RECORD, b"\xc1 no operation")

    def _fork(self) -> None:
        author = self._random.choice(self._others)
        if author.entries and self._records:
            after = self._random.choice(author.entries)
            record = self._random.choice(self._records)
            operation = Operation(
                id=record[0].id, type=record[0].operation.type, base=[record[0].entry.hash], text=self._text()
            )
            hlc = pack(START_MS + self._random.randint(1, 60))
            clock = max(hlc, after.hlc + 1)
            self._branches.append(author.feed.branch(after, EntryKind.RECORD, encode(operation), hlc=clock))

    def _erase(self) -> None:
        author = self._random.choice(self._authors)
        said = [entry for entry in author.entries if entry.kind == EntryKind.RECORD]
        if said:
            author.feed.say(EntryKind.ERASE, self._random.choice(said).hash)

    def _text(self) -> str:
        return self._random.choice(_TEXTS)
