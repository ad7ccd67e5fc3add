"""Authors who write signed records, for the tests of the projection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crdt.entries import Entry, EntryKind
from crdt.operations import NONCE_BYTES, Operation, Stamped, Value, encode, minted
from crdt.projection import Projector
from crdt.projection_feeds import FeedReader, stamp, valid
from crdt.projection_reader import ProjectionReader, open_reader_of_projection
from crdt.records import RecordState, state_sha256
from crdt.reducer import reduce
from crdt.roster import SpaceKind
from tests.crdt.signers import START_MS, Feed, SeedSigner, genesis

States = dict[tuple[bytes, str], str]
"""The hash of a record's state, by space and id."""


@dataclass(frozen=True, slots=True)
class Said:
    """An operation with the entry that carries it."""

    entry: Entry
    operation: Operation

    @property
    def id(self) -> str:
        return self.operation.id

    @property
    def stamped(self) -> Stamped:
        return stamp(self.entry, self.operation)


class Author:
    """Somebody with a key: the founder of a space, or a writer in another's."""

    def __init__(
        self, name: str, space: bytes | None = None, *, kind: SpaceKind = "home", later_ms: int = 0
    ) -> None:
        self.signer = SeedSigner(name)
        start_ms = START_MS + later_ms
        if space is None:
            self.feed = genesis(self.signer, name, kind=kind, start_ms=start_ms)
        else:
            self.feed = Feed(self.signer, space, start_ms=start_ms)
        self.space = self.feed.space

    @property
    def entries(self) -> list[Entry]:
        return self.feed.entries

    @property
    def key(self) -> bytes:
        return self.signer.public_key

    def say(self, operation: Operation, *, hlc: int | None = None) -> Said:
        """Write an operation."""
        return Said(self.feed.say(EntryKind.RECORD, encode(operation), hlc=hlc), operation)

    def create(
        self, type_: str, fields: dict[str, Value], *, text: str | None = "text", tags: Sequence[str] = ()
    ) -> Said:
        """Create a record of any type; its id follows from its place in the feed, so that runs are alike."""
        place = len(self.entries).to_bytes(8, "big")
        nonce = hashlib.sha256(self.space + self.key + place).digest()[:NONCE_BYTES]
        record = minted(self.key, nonce)
        return self.say(Operation(id=record, type=type_, set=fields, tag=list(tags), text=text, nonce=nonce))

    def memory(self, text: str = "text", *, tags: Sequence[str] = (), **fields: Value) -> Said:
        """Create a memory."""
        return self.create("memory", {"kind": "memory", **fields}, text=text, tags=tags)

    def change(self, *on: Said, **parts: object) -> Said:
        """Build on operations of a record, at least one."""
        first = on[0].operation
        draft = {"id": first.id, "type": first.type, "base": sorted(one.entry.hash for one in on), **parts}
        return self.say(Operation(**draft))  # type: ignore[arg-type]


def project(path: Path, feeds: FeedReader) -> Projector:
    """Bring a projection level."""
    projector = Projector(path, feeds)
    projector.catch_up()
    return projector


@contextmanager
def reader_of(path: Path, feeds: FeedReader) -> Iterator[ProjectionReader]:
    """Read a projection."""
    with closing(open_reader_of_projection(path, feeds)) as reader:
        yield reader


def projected(path: Path, feeds: FeedReader) -> States:
    """Give the states that a projection holds."""
    with reader_of(path, feeds) as reader:
        rows = [change.row for change in reader.changes(0, 1_000) if not change.is_gone]
        return {(view.space, view.id): _hash(view.state) for view in reader.views(rows)}


def reduced(feeds: FeedReader) -> States:
    """Work the states out from nothing but what the feeds hold now: what any projection must come to."""
    said: dict[tuple[bytes, str], list[Stamped]] = {}
    for item in feeds.entries():
        for stamped in valid({item.id: item.entry}, feeds.voids([item.id])):
            said.setdefault((item.entry.home, stamped.operation.id), []).append(stamped)
    states = {key: reduce(stamped, feeds.roster(key[0])) for key, stamped in said.items()}
    return {key: _hash(state) for key, state in states.items() if state is not None}


def _hash(state: RecordState) -> str:
    return state_sha256(state).hex()
