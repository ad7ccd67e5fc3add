"""Bytes that other nodes' manifests name: wanted, taken when they are the right ones, and refused else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import zstandard

from crdt.archive import Archive
from crdt.entries import Draft
from crdt.errors import BlobAbsent, Damaged
from crdt.manifest_log import FeedManifests
from crdt.manifests import Manifest, Segment, Supersede, Tail, Tombstone, encode, kind_of
from crdt.roster import Right
from crdt.roster import encode as encode_roster
from crdt.segments import Body, Built, build
from crdt.store import FeedStore
from tests.crdt.samples import archive_in, bodies
from tests.crdt.signers import ALL_RIGHTS, Feed, SeedSigner, add

OTHER = SeedSigner("other")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    opened = archive_in(tmp_path)
    yield opened
    opened.log.close()


@pytest.fixture
def peer(archive: Archive) -> Peer:
    return Peer(archive)


class Peer:
    """Another member of this node's home, and what it says about its archive."""

    def __init__(self, archive: Archive, rights: Sequence[Right] = ALL_RIGHTS) -> None:
        self._store = store_of(archive)
        home = self._store.home()
        (added,) = self._store.write([Draft(space=home, kind=2, body=encode_roster(add(OTHER, rights)))])
        self._feed = Feed(OTHER, home, start_ms=(added.entry.hlc >> 16) + 1)

    def says(self, *manifests: Manifest) -> list[int]:
        """Send manifests; give their clocks."""
        entries = [self._feed.say(kind_of(manifest), encode(manifest)) for manifest in manifests]
        received = self._store.receive(entry.raw for entry in entries)
        assert len(received.committed) == len(entries)
        return [entry.hlc for entry in entries]


def store_of(archive: Archive) -> FeedStore:
    assert isinstance(archive.log, FeedManifests)
    return archive.log.store


def segment_of(built: Built, hlc: int = 0) -> Segment:
    return Segment(
        sha256=built.sha256,
        size_bytes=built.size_bytes,
        stored_bytes=1,
        fragments=[(bytes.fromhex(name), hlc) for name in built.fragment_sha256s],
    )


def stored(built: Built) -> bytes:
    return b"".join(built.frames)


def sha(body: Body) -> bytes:
    return bytes.fromhex(body.sha256)


def test_a_foreign_segment_is_wanted_until_its_very_bytes_come(archive: Archive, peer: Peer) -> None:
    built = build(bodies(30, 9_000))
    peer.says(segment_of(built))
    (logged,) = archive.log.since(0)
    assert archive.wanted() == {built.sha256: "segment"}
    with pytest.raises(BlobAbsent, match=built.sha256):
        list(archive.load(logged))
    for wrong in (b"", stored(built)[:-9], stored(build(bodies(29, 9_000))), stored(built) + stored(built)):
        with pytest.raises(Damaged, match=built.sha256):
            archive.take_segment(built.sha256, wrong)
    assert list(archive.segments.names()) == []
    assert archive.take_segment(built.sha256, stored(built)) is True
    assert archive.wanted() == {}
    assert [found.sha256 for found, _ in archive.load(logged)] == list(built.fragment_sha256s)
    assert archive.take_segment(built.sha256, stored(built)) is False


def test_a_segment_in_one_large_frame_is_laid_out_anew(archive: Archive, peer: Peer) -> None:
    built = build(bodies(30, 9_000))
    peer.says(segment_of(built))
    plain = b"".join(zstandard.ZstdDecompressor().decompress(frame) for frame in built.frames)
    assert archive.take_segment(built.sha256, zstandard.ZstdCompressor().compress(plain))
    assert archive.segments.path(built.sha256).read_bytes() == stored(built)


def test_no_more_is_decompressed_than_the_manifest_says(archive: Archive, peer: Peer) -> None:
    built = build(bodies(3))
    peer.says(segment_of(built))
    bomb = zstandard.ZstdCompressor().compress(bytes(300 << 20))
    with pytest.raises(Damaged, match="another size"):
        archive.take_segment(built.sha256, bomb)


def test_what_nobody_names_is_not_taken(archive: Archive, peer: Peer) -> None:
    peer.says(Tail(fragments=[]))
    built, (body,) = build(bodies(3)), bodies(1)
    assert archive.take_segment(built.sha256, stored(built)) is False
    assert archive.take_tail(sha(body), body.data) is False
    assert (list(archive.segments.names()), archive.log.tails()) == ([], [])


def test_fragments_of_a_foreign_tail_come_one_by_one_with_its_clock(archive: Archive, peer: Peer) -> None:
    made = bodies(2)
    (hlc,) = peer.says(Tail(fragments=[sha(body) for body in made]))
    (logged,) = archive.log.since(0)
    assert archive.wanted() == {body.sha256: "fragment" for body in made}
    assert list(archive.load(logged)) == []
    with pytest.raises(Damaged, match=made[0].sha256):
        archive.take_tail(sha(made[0]), made[1].data)
    assert archive.take_tail(sha(made[0]), made[0].data) is True
    assert archive.take_tail(sha(made[0]), made[0].data) is False
    assert archive.wanted() == {made[1].sha256: "fragment"}
    assert [(found.sha256, found.hlc) for found, _ in archive.load(logged)] == [(made[0].sha256, hlc)]
    assert archive.log.lacking() == {logged.seq}


def test_only_own_fragments_are_sealed_here(archive: Archive, peer: Peer) -> None:
    mine, theirs = bodies(2)
    peer.says(Tail(fragments=[sha(theirs)]))
    archive.take_tail(sha(theirs), theirs.data)
    archive.append([mine], seal=False)
    assert archive.seal() == 1
    assert [name for name, _, _ in archive.log.tails()] == [sha(theirs)]
    assert archive.log.own_tails() == []


def test_a_foreign_segment_ends_the_waiting_of_its_fragments_when_it_comes(
    archive: Archive, peer: Peer
) -> None:
    made = bodies(2)
    built = build(made)
    peer.says(Tail(fragments=[sha(body) for body in made]))
    archive.take_tail(sha(made[0]), made[0].data)
    peer.says(segment_of(built))
    assert archive.wanted() == {built.sha256: "segment"}, "the fragments come with it"
    assert archive.read(made[0].sha256, None) == made[0].data, "what is here stays until then"
    archive.take_segment(built.sha256, stored(built))
    assert archive.log.tails() == []


def test_a_segment_that_is_named_before_its_tail_has_its_fragments(archive: Archive, peer: Peer) -> None:
    made = bodies(2)
    built = build(made)
    peer.says(segment_of(built), Tail(fragments=[sha(body) for body in made]))
    assert archive.wanted() == {built.sha256: "segment"}
    archive.sweep()
    assert archive.log.wanted().fragments == frozenset()


def test_a_replaced_segment_is_kept_until_its_replacement_comes(archive: Archive) -> None:
    made = bodies(4)
    archive.append(made[:2], seal=True)
    peer = Peer(archive)
    (old,) = archive.current()
    newer = build(made[:3])
    peer.says(segment_of(newer), Supersede(replaced=[old], by=[newer.sha256], reason="merged"))
    assert list(archive.current()) == [newer.sha256]
    archive.sweep()
    assert list(archive.segments.names()) == [old]
    archive.take_segment(newer.sha256, stored(newer))
    archive.sweep()
    assert list(archive.segments.names()) == [newer.sha256]


def test_what_is_replaced_is_not_wanted_whatever_was_said_first(archive: Archive, peer: Peer) -> None:
    older, newer = build(bodies(1)), build(bodies(2))
    replaced = Supersede(replaced=[older.sha256], by=[newer.sha256], reason="merged")
    peer.says(segment_of(older), segment_of(newer), replaced)
    assert archive.wanted() == {newer.sha256: "segment"}
    assert archive.take_segment(older.sha256, stored(older)) is False


def test_a_missing_segment_of_our_own_is_damage_and_not_wanted(archive: Archive) -> None:
    archive.append(bodies(2), seal=True)
    (logged,) = archive.log.since(0)
    assert isinstance(logged.manifest, Segment)
    archive.segments.remove(logged.manifest.sha256)
    assert archive.wanted() == {}
    with pytest.raises(Damaged):
        list(archive.load(logged))


def test_only_who_may_moderate_takes_away_from_the_archive(archive: Archive) -> None:
    archive.append(bodies(2), seal=True)
    (mine,) = archive.current()
    peer = Peer(archive, ("read", "append"))
    newer = build(bodies(3))
    peer.says(segment_of(newer), Supersede(replaced=[mine], by=[newer.sha256], reason="mine now"))
    peer.says(Tombstone(removed=["0" * 64]))
    assert set(archive.current()) == {mine, newer.sha256}
    assert [type(logged.manifest) for logged in archive.log.since(0)] == [Segment, Segment]
