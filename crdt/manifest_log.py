"""The archive's log as signed entries: a manifest is an entry of kind 4 to 7 in this node's home space.

The walk gives the manifests of every author.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crdt.entries import Draft
from crdt.feed_blobs import BlobTables
from crdt.feed_tables import Committed, FeedTables
from crdt.manifests import Logged, Manifest, Supersede, Tombstone, Wanted, decode, encode, kind_of, split
from crdt.segments import Body
from crdt.store import FeedStore


class FeedManifests:
    """`ManifestLog` over the feeds; a manifest's place is that of its entry."""

    def __init__(self, store: FeedStore) -> None:
        self.store = store

    def append(self, manifests: Sequence[Manifest], tails: Sequence[Body] = ()) -> list[Logged]:
        """Add manifests and waiting fragments in one durable transaction; see `manifests.ManifestLog`."""
        parts = [part for manifest in manifests for part in split(manifest)]
        home = self.store.home()
        drafts = [Draft(space=home, kind=kind_of(part), body=encode(part)) for part in parts]
        committed = self.store.write(drafts, tails)
        return [
            Logged(seq=item.id, hlc=item.entry.hlc, manifest=part)
            for item, part in zip(committed, parts, strict=True)
        ]

    def since(self, seq: int) -> Iterator[Logged]:
        """Walk the manifests after a place; what this version can't read has no effect."""
        for item in self.store.manifests(seq):
            logged = self._logged(item)
            if logged is not None:
                yield logged

    def head(self) -> int:
        """Tell the place of the newest manifest, 0 when there is none."""
        return self.store.manifest_head()

    def tail_body(self, fragment: bytes) -> bytes | None:
        """Give the bytes of a waiting fragment, checked against its hash."""
        return self.store.tail_body(fragment)

    def tails(self) -> list[tuple[bytes, int, int]]:
        """List waiting fragments, oldest first."""
        return self.store.tails()

    def own_tails(self) -> list[tuple[bytes, int, int]]:
        """List those of the waiting fragments that this node has to seal."""
        return self.store.read(lambda tables: BlobTables(tables.connection).own_tails())

    def wanted(self) -> Wanted:
        """Tell what manifests of other nodes name whose bytes have not come."""
        return self.store.read(_wanted)

    def lacking(self) -> set[int]:
        """Tell the places of the manifests that name bytes that have not come."""
        return self.store.read(lambda tables: BlobTables(tables.connection).lacking())

    def take_fragment(self, body: Body) -> bool:
        """Keep the bytes of a wanted fragment, which were checked; tell whether it was one."""
        name = bytes.fromhex(body.sha256)
        return self.store.run(lambda committer: committer.blobs.take_fragment(name, body.data))

    def take_segment(self, segment: str, fragments: Sequence[bytes]) -> None:
        """Want a segment no longer, whose file is durable, nor the fragments in it."""
        name = bytes.fromhex(segment)
        self.store.run(lambda committer: committer.blobs.take_segment(name, fragments))

    def forget_fragments(self, fragments: Sequence[bytes]) -> None:
        """Want fragments of other nodes no longer, and drop those that came: segments have or had them."""
        self.store.run(lambda committer: committer.blobs.forget_taken(fragments))

    def fold(self) -> None:
        """Leave nothing readable of what was dropped; raises `Unavailable` while another reads it."""
        self.store.fold()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _logged(self, item: Committed) -> Logged | None:
        """Read a manifest; what takes away from the archive counts from who may moderate there."""
        entry = item.entry
        manifest = decode(entry.kind, entry.body)
        if manifest is None:
            return None
        if isinstance(manifest, Supersede | Tombstone):
            roster = self.store.roster(entry.space)
            if not roster.may(entry.author, "moderate", entry.hlc):
                return None
        return Logged(seq=item.id, hlc=entry.hlc, manifest=manifest)


def _wanted(tables: FeedTables) -> Wanted:
    blobs = BlobTables(tables.connection)
    return Wanted(
        segments=frozenset(name.hex() for name in blobs.wanted_segments()),
        fragments=frozenset(blobs.wanted_fragments()),
    )
