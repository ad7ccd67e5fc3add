"""Manifests of several nodes, and the bytes that they name, come in any order: the index says the same.

Four nodes know overlapping parts of two conversations, under different clocks.  They seal, replace,
bury and revive, each in the order of its own feed.  How the feeds interleave, when bytes come, and when the
index looks is by chance; in the end all are there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crdt.clock import milliseconds_of
from crdt.entries import Draft, Entry, EntryKind
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifest_log import FeedManifests
from crdt.manifests import Manifest, Segment, Supersede, Tail, Tombstone, encode, kind_of
from crdt.roster import encode as encode_roster
from crdt.segments import Body, Built, build
from crdt.store import FeedStore
from tests.crdt.signers import Feed, SeedSigner, add
from tests.retrieval.follow_kit import Kept, body_of, contents

SEEDS = range(25)
XENA, YORK, ZOE, WENDY = NODES = [SeedSigner(name) for name in ("xena", "york", "zoe", "wendy")]
CLOCKS = "SELECT hex(sha256), conversation, hlc, redactor FROM fragments ORDER BY sha256"


@dataclass
class Said:
    """What the nodes say, each feed in its order, and the bytes by name."""

    feeds: list[list[Entry]] = field(default_factory=list)
    segments: dict[str, Built] = field(default_factory=dict)
    fragments: dict[str, Body] = field(default_factory=dict)


def fragment(name: str, first: int, count: int, *, version: int = 1, path: str = "one.jsonl") -> Body:
    """Make a fragment of a conversation; a newer redactor says less."""
    conversation = conversation_id("codex", name)
    events = [
        Event(
            id=event_id(conversation, f"m{place}"), kind=Kind.MESSAGE, role=Role.USER,
            text=f"the crane of {name} turns {place}" + (" with a secret" if version == 1 else ""),
            seq=place, timestamp=f"2026-03-01T08:00:{place:02d}.000Z",
        )
        for place in range(first, first + count)
    ]  # fmt: skip
    return body_of(
        Fragment(
            conversation_id=conversation, source="codex", source_id=name, origin=Origin.CAPTURE,
            relative_path=path, workspace=f"/srv/{path[:3]}", redactor_version=version, events=events,
        )
    )  # fmt: skip


def story(home: bytes, start_ms: int) -> Said:
    """Say it."""
    a = [fragment("a", place, 2) for place in range(0, 6, 2)]
    b = [fragment("b", place, 2) for place in range(0, 6, 2)]
    clean, copy = fragment("a", 0, 2, version=2), fragment("a", 3, 5, path="two.jsonl")
    old, merged, other = build([*a, b[0]]), build([clean, *a[1:], b[0]]), build([b[0], b[1], a[1]])
    said = Said(segments={built.sha256: built for built in (old, merged, other)})
    said.fragments = {body.sha256: body for body in (*a, *b, clean, copy)}

    def segment(built: Built, hlc: int = 0) -> Segment:
        names = [(bytes.fromhex(name), hlc) for name in built.fragment_sha256s]
        return Segment(sha256=built.sha256, size_bytes=built.size_bytes, stored_bytes=1, fragments=names)

    def tail(*bodies: Body) -> Tail:
        return Tail(fragments=[bytes.fromhex(body.sha256) for body in bodies])

    both = [conversation_id("codex", name) for name in "ab"]
    redacted = Supersede(replaced=[old.sha256], by=[merged.sha256], reason="redacted")
    steps: dict[SeedSigner, list[Manifest]] = {
        XENA: [tail(a[0]), tail(a[1], b[0]), segment(old), tail(b[2])],
        ZOE: [segment(merged), redacted, tail(b[1])],
        YORK: [tail(copy), segment(other, (start_ms - 9) << 16), Tombstone(removed=both)],
        WENDY: [Tombstone(revived=both[:1])],
    }  # fmt: skip
    for number, (signer, manifests) in enumerate(steps.items()):
        feed = Feed(signer, home, start_ms=start_ms + number * 10)
        said.feeds.append([feed.say(kind_of(manifest), encode(manifest)) for manifest in manifests])
    return said


class Node:
    """A node that hears of it all."""

    def __init__(self, root: Path) -> None:
        self.kept = Kept(root)
        log = self.kept.archive.log
        assert isinstance(log, FeedManifests)
        self.store: FeedStore = log.store
        home = self.store.home()
        drafts = [Draft(space=home, kind=EntryKind.ROSTER, body=encode_roster(add(who))) for who in NODES]
        last = self.store.write(drafts)[-1]
        self.said = story(home, milliseconds_of(last.entry.hlc) + 1_000)

    def hear(self, choose: random.Random) -> None:
        """Hear of all of it, in an order by chance."""
        heads = [list(feed) for feed in self.said.feeds]
        actions: list[Callable[[], object]] = [self.take, self.kept.follow, lambda: self.next(heads, choose)]
        while any(heads):
            choose.choice(actions)()
        while self.kept.archive.wanted():
            choose.choice([self.take, self.kept.follow])()
        self.kept.follow()
        self.kept.letters()

    def next(self, heads: list[list[Entry]], choose: random.Random) -> None:
        """Take the next entry of some feed."""
        feed = choose.choice([feed for feed in heads if feed])
        self.store.receive([feed.pop(0).raw])

    def take(self) -> None:
        """Take one of the blobs that are wanted, where there is one."""
        for name, kind in list(self.kept.archive.wanted().items())[:1]:
            if kind == "segment":
                built = self.said.segments[name]
                assert self.kept.archive.take_segment(name, b"".join(built.frames))
            else:
                assert self.kept.archive.take_tail(bytes.fromhex(name), self.said.fragments[name].data)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Callable[[str], Node]]:
    made: list[Node] = []

    def make(name: str) -> Node:
        (tmp_path / name).mkdir()
        made.append(Node(tmp_path / name))
        return made[-1]

    yield make
    for node in made:
        node.kept.close()


def told(kept: Kept) -> dict[str, object]:
    """Give what an index says, wherever it found it; clocks count from the first one."""
    found = contents(kept, ["the crane"])
    clocks = kept.index.connection.execute(CLOCKS).fetchall()
    first = min(hlc for _, _, hlc, _ in clocks)
    found["fragments"] = [(name, hlc - first, redactor) for name, _, hlc, redactor in clocks]
    return found


def test_the_order_in_which_manifests_and_bytes_come_does_not_show(
    nodes: Callable[[str], Node],
) -> None:
    choose = random.Random(0)  # noqa: S311 - a replayable order
    first = nodes("first")
    first.hear(choose)
    expected = told(first.kept)
    assert expected["records"], "something is left to compare"
    for seed in SEEDS:
        node = nodes(str(seed))
        node.hear(random.Random(seed))  # noqa: S311 - a replayable order
        found = told(node.kept)
        for part, what in expected.items():
            assert found[part] == what, f"seed {seed}: {part}"
        with node.kept.rebuilt() as fresh:
            assert told(fresh)["fragments"] == expected["fragments"], f"seed {seed}: made anew"
            assert contents(fresh)["records"] == expected["records"], f"seed {seed}: made anew"
