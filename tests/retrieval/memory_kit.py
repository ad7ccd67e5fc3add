"""Shared memory in feeds, its projection, and an index that follows it, for the tests of what is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from crdt.edges import SUPERSEDES, edge_id
from crdt.ids import conversation_id, event_id, record_id
from crdt.operations import Operation, Value, mint
from crdt.projection import Projector
from crdt.sessions import session_key
from crdt.statements import job_key, render
from retrieval.index_reader import IndexReader, open_reader
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from retrieval.models import Deadline, Filter, Hit
from retrieval.query import parse_query
from retrieval.record_edges import Here
from retrieval.record_follow import RecordFollower
from retrieval.scope import Aliases
from retrieval.substrings import SubstringFollower
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, Said, reader_of
from tests.crdt.signers import START_MS, Feed, add

LATER_MS = START_MS + 1_000
"""After whatever a founder says in a test."""


def index_id(source: str, record: str) -> str:
    """Name the index record of a piece of memory."""
    conversation = conversation_id(source, record)
    return record_id(conversation, event_id(conversation, "1"))


class Shared:
    """Feeds of one home with one founder, what is derived of them, and names of nodes that can change."""

    def __init__(self, root: Path, founder: str = "desk") -> None:
        self.root = root
        self.desk = Author(founder)
        self.authors = [self.desk]
        self.feeds = MemoryFeeds()
        self.projector = Projector(root / "projection.db", self.feeds)
        self.index = IndexWriter(open_index_writer(root / "index.db"))
        self.names: dict[bytes, str] = {self.desk.signer.public_key: founder}

    def space(self, name: str, *, kind: str = "home") -> Author:
        """Found another space."""
        made = Author(name, kind=kind)
        self.authors.append(made)
        self.names[made.signer.public_key] = name
        return made

    def member(self, name: str) -> Author:
        """Add a node to the home, which says things later than its founder."""
        made = Author(name, self.desk.space)
        made.feed = Feed(made.signer, self.desk.space, start_ms=LATER_MS)
        self.authors.append(made)
        self.names[made.signer.public_key] = name
        self.desk.feed.roster(add(made.signer))
        return made

    @contextmanager
    def follower(self) -> Iterator[RecordFollower]:
        """Bring the projection level with what was said, and make what follows it."""
        for author in self.authors:
            self.feeds.take(author.entries)
        self.projector.catch_up()
        with reader_of(self.root / "projection.db", self.feeds) as reader:
            yield RecordFollower(self.index, reader, self.here, self.name_of)

    @property
    def here(self) -> Here:
        """Say that the node is the founder's."""
        return Here(author=self.desk.signer.public_key, home=self.desk.space)

    def name_of(self, space: bytes, key: bytes) -> str:
        """Name a node; raises `KeyError` for a space or a key that is not of these feeds."""
        return {author.space: self.names for author in self.authors}[space][key]

    def follow(self) -> int:
        """Bring projection and index level."""
        with self.follower() as follower:
            return follower.catch_up()

    def letters(self) -> int:
        """Bring the substring lane level with the index."""
        return SubstringFollower(
            self.root / "substrings.db", self.root / "index.db", self.index.forget_retired
        ).catch_up()

    @contextmanager
    def reader(self, now_ms: int = START_MS) -> Iterator[IndexReader]:
        """Read the index at an instant."""
        opened = open_reader(self.root / "index.db", self.root / "substrings.db", Aliases(), lambda: now_ms)
        try:
            yield opened
        finally:
            opened.close()

    def found(
        self, text: str, wanted: Filter | None = None, *, limit: int = 50, now_ms: int = START_MS
    ) -> list[Hit]:
        """Search by words."""
        with self.reader(now_ms) as reader:
            answer = reader.words(parse_query(text), wanted or Filter(), limit, Deadline(60))
            return reader.hits(answer.candidates, "words")

    def spelled(self, text: str, *, limit: int = 50, now_ms: int = START_MS) -> list[Hit]:
        """Search by letters."""
        with self.reader(now_ms) as reader:
            answer = reader.substrings(text, Filter(), limit, Deadline(60))
            return reader.hits(answer.candidates, "substrings")

    def close(self) -> None:
        """Close what is open."""
        self.index.connection.close()
        self.projector.close()


def state_it(author: Author, title: str, summary: str, **fields: Value) -> Said:
    """Make a statement."""
    said: dict[str, Value] = {"title": title, "summary": summary, "workspace": "[HOME]/yard", **fields}
    return author.say(Operation(id=job_key(said), type="statement", set=said, text=render(said)))


def record_session(author: Author, title: str, summary: str, **fields: Value) -> Said:
    """Make the record of a session."""
    said: dict[str, Value] = {"title": title, "summary": summary, "conversation_id": "c1", **fields}
    return author.say(Operation(id=session_key(said), type="session-record", set=said, text=render(said)))


def write(author: Author, kind: str, text: str | None, **fields: Value) -> Said:
    """Make a record of a type whose ids are minted."""
    record, nonce = mint(author.signer.public_key)
    return author.say(Operation(id=record, type=kind, set=fields, text=text, nonce=nonce))


def link(author: Author, newer: str, older: str, relation: str = SUPERSEDES) -> Said:
    """Make an edge between two index records."""
    fields: dict[str, Value] = {"from": newer, "to": older, "relation": relation}
    return author.say(Operation(id=edge_id(relation, newer, older), type="edge", set=fields))


def texts(hits: Sequence[Hit]) -> list[str]:
    """Give the texts of hits."""
    return [hit.text for hit in hits]
