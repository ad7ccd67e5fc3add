"""Authors who write signed records, for the tests of the projection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crdt.entries import Entry, EntryKind
from crdt.operations import Operation, Stamped, Value, encode, mint
from crdt.projection_feeds import FeedReader, stamp
from crdt.projection_reader import ProjectionReader, open_reader_of_projection
from tests.crdt.signers import Feed, SeedSigner, genesis


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
    """Somebody with a key; the founder of a space, or a writer in another's."""

    def __init__(self, name: str, space: bytes | None = None, *, kind: str = "home") -> None:
        self.signer = SeedSigner(name)
        self.feed = genesis(self.signer, name, kind=kind) if space is None else Feed(self.signer, space)  # type: ignore[arg-type]
        self.space = self.feed.space

    @property
    def entries(self) -> list[Entry]:
        return self.feed.entries

    def say(self, operation: Operation, *, hlc: int | None = None) -> Said:
        """Write an operation."""
        return Said(self.feed.say(EntryKind.RECORD, encode(operation), hlc=hlc), operation)

    def memory(
        self, text: str = "text", *, tags: Sequence[str] = (), hlc: int | None = None, **fields: Value
    ) -> Said:
        """Create a memory."""
        record, nonce = mint(self.signer.public_key)
        return self.say(
            Operation(
                id=record, type="memory", set={"kind": "memory", **fields}, tag=list(tags), text=text,
                nonce=nonce,
            ),
            hlc=hlc,
        )  # fmt: skip

    def change(self, first: Said, *on: Said, hlc: int | None = None, **parts: object) -> Said:
        """Build on operations of a record that exists."""
        base = sorted(one.entry.hash for one in on)
        draft = {"id": first.id, "type": first.operation.type, "base": base, **parts}
        return self.say(Operation(**draft), hlc=hlc)  # type: ignore[arg-type]


@contextmanager
def reader_of(path: Path, feeds: FeedReader) -> Iterator[ProjectionReader]:
    """Read a projection."""
    with closing(open_reader_of_projection(path, feeds)) as reader:
        yield reader


def states_of(path: Path, feeds: FeedReader) -> dict[tuple[bytes, str], bytes]:
    """Give the hash of every state that a projection holds."""
    found = {}
    with reader_of(path, feeds) as reader:
        for change in reader.changes(0, 1_000):
            for view in reader.views([change.row]):
                found[view.space, view.id] = view.state
    return found  # type: ignore[return-value]
