"""Whatever is changed in a feed or a segment is found and named; what is whole is not complained about."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from crdt.entries import ZERO, Entry, EntryKind, FeedId, Position, hash_of, seal
from crdt.feed_tables import StoredBytes
from crdt.verification import Checked, check_feed
from tests.crdt.signers import SeedSigner

SPACE = b"s" * 32
BOB = SeedSigner("bob")
FEED = FeedId(SPACE, BOB.public_key, 7)


def chain(count: int, *, start: int = 1, prev: bytes = ZERO, word: str = "said") -> list[Entry]:
    entries = []
    for seq in range(start, start + count):
        position = Position(feed=FEED, seq=seq, prev=prev, hlc=seq << 16)
        entries.append(seal(EntryKind.RECORD, f"{word} {seq}".encode(), position, BOB))
        prev = entries[-1].hash
    return entries


def stored(entry: Entry) -> StoredBytes:
    return StoredBytes(entry.seq, entry.hash, entry.header, entry.body, entry.signature)


def checked(entries: Sequence[Entry], *, every_signature: bool = False) -> Checked:
    found = Checked()
    check_feed(FEED, map(stored, entries), found, every_signature=every_signature)
    return found


def kinds(found: Checked) -> set[str]:
    return {item.kind for item in found.damage}


def test_a_whole_chain_costs_one_signature() -> None:
    found = checked(chain(50))
    assert (found.entries, found.signatures, found.damage) == (50, 1, [])
    assert checked(chain(5), every_signature=True).signatures == 5


def test_both_branches_of_a_fork_are_verified() -> None:
    trunk = chain(3)
    left = chain(2, start=4, prev=trunk[-1].hash)
    right = chain(2, start=4, prev=trunk[-1].hash, word="contradicted")
    entries = sorted([*trunk, *left, *right], key=lambda entry: (entry.seq, entry.hash))
    found = checked(entries)
    assert (found.entries, found.signatures, found.damage) == (7, 2, [])


def test_an_erased_body_is_counted_and_the_chain_stays_whole() -> None:
    entries = chain(4)
    entries[1] = msgspec.structs.replace(entries[1], body=None)
    found = checked(entries)
    assert (found.erased, found.damage) == (1, [])


def test_an_entry_that_is_gone_is_missed() -> None:
    entries = chain(5)
    del entries[2]
    assert kinds(checked(entries)) == {"chain"}
    assert "3" in checked(entries).damage[0].what


def test_a_beginning_that_is_gone_is_missed() -> None:
    assert "chain" in kinds(checked(chain(5)[2:]))


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("part", ["header", "body", "signature"])
def test_every_flipped_bit_is_found(part: str) -> None:
    entries = chain(4)
    generator = random.Random(part)  # noqa: S311
    for _ in range(100):
        at = generator.randrange(len(entries))
        data: bytes = getattr(entries[at], part)
        damaged = list(entries)
        damaged[at] = msgspec.structs.replace(
            entries[at], **{part: flipped(data, generator.randrange(len(data) * 8))}
        )
        assert checked(damaged).damage, (part, at)


def test_a_forged_entry_at_the_end_is_found_by_its_signature() -> None:
    entries = chain(3)
    last = entries[-1]
    forged = seal(EntryKind.RECORD, b"forged", Position(feed=FEED, seq=3, prev=last.prev, hlc=last.hlc), BOB)
    signature = bytes(64)
    entries[-1] = msgspec.structs.replace(forged, signature=signature, hash=hash_of(forged.header, signature))
    assert kinds(checked(entries)) == {"signature"}


def test_an_entry_of_another_feed_in_its_place_is_found(tmp_path: Path) -> None:
    entries = chain(3)
    other = Position(feed=FeedId(SPACE, BOB.public_key, 8), seq=2, prev=entries[0].hash, hlc=2 << 16)
    entries[1] = seal(EntryKind.RECORD, b"elsewhere", other, BOB)
    assert {"entry", "chain"} <= kinds(checked(entries))
