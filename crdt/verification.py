"""Check everything canonical against its own hashes and signatures, and say what is not as it was written.

An entry is checked by its header's hash of the body, by its place in the chain, and by its author's
signature.  One signature vouches for the whole run of entries before it, since each header holds the hash of
the entry before: so only the last entry of each branch is verified, unless every single one is asked for
(0.2 ms each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from crdt.archive import Archive
from crdt.entries import ZERO, Entry, FeedId, is_signed, parse
from crdt.errors import Damaged, EntryRefused
from crdt.feed_tables import StoredBytes
from crdt.keys import fingerprint

Report = Callable[[int, int], None]
"""Takes bytes that were checked, and bytes in all, 0 where that isn't known."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written: its kind, where it is, and what is wrong with it.

    `kind` is entry, chain, signature, segment or fragment; or what `store_indexes` says of the file.
    """

    kind: str
    where: str
    what: str


class Checked(msgspec.Struct, kw_only=True):
    """What was looked at, and what of it is damaged.  Sizes are of uncompressed bytes."""

    entries: int = 0
    erased: int = 0
    signatures: int = 0
    entry_bytes: int = 0
    segments: int = 0
    fragments: int = 0
    archive_bytes: int = 0
    absent: int = 0
    damage: list[Damage] = []


def check_feed(
    feed: FeedId, stored: Iterable[StoredBytes], checked: Checked, *, every_signature: bool = False
) -> None:
    """Check one feed, its entries given in order of seq, forks side by side, as the store holds them."""
    chain = _Chain(feed, checked, every_signature=every_signature)
    for item in stored:
        checked.entries += 1
        checked.erased += item.body is None
        checked.entry_bytes += len(item.header) + len(item.body or b"") + len(item.signature)
        chain.add(item)
    chain.close()


class _Chain:
    """The hashes at the last two numbers of a feed, and the entries that nothing has vouched for yet."""

    def __init__(self, feed: FeedId, checked: Checked, *, every_signature: bool) -> None:
        self._feed = feed
        self._checked = checked
        self._every_signature = every_signature
        self._seq = 0
        self._before: set[bytes] = {ZERO}
        self._here: set[bytes] = set()
        self._leaves: dict[bytes, Entry] = {}

    def add(self, stored: StoredBytes) -> None:
        self._step(stored.seq)
        self._here.add(stored.hash)
        entry = self._read(stored)
        if entry is None:
            return
        if entry.prev not in self._before:
            self._report("chain", stored.seq, "the entry before it is not the one that it names")
        self._leaves.pop(entry.prev, None)
        self._leaves[entry.hash] = entry
        if self._every_signature:
            self._verify(entry)

    def close(self) -> None:
        if not self._every_signature:
            for entry in self._leaves.values():
                self._verify(entry)

    def _step(self, seq: int) -> None:
        if seq == self._seq:
            return
        if seq != self._seq + 1:
            self._report("chain", seq, f"entries {self._seq + 1} to {seq - 1} before it are gone")
        self._before = self._here or {ZERO}
        self._here = set()
        self._seq = seq

    def _read(self, stored: StoredBytes) -> Entry | None:
        """Read an entry; None, and a report, for bytes that are not those of its hash and place."""
        raw = stored.header + (stored.body or b"") + stored.signature
        try:
            entry = parse(raw, erased=stored.body is None)
        except EntryRefused as error:
            self._report("entry", stored.seq, error.detail)
            return None
        if (entry.hash, entry.feed, entry.seq) != (stored.hash, self._feed, stored.seq):
            self._report("entry", stored.seq, "its bytes are those of another entry")
            return None
        return entry

    def _verify(self, entry: Entry) -> None:
        self._checked.signatures += 1
        if not is_signed(entry):
            self._report("signature", entry.seq, "its author's signature does not fit")

    def _report(self, kind: str, seq: int, what: str) -> None:
        where = f"entry {seq} of {fingerprint(self._feed.author)[:9]} in feed {self._feed.inc:016x}"
        self._checked.damage.append(Damage(kind=kind, where=where, what=what))


def check_archive(archive: Archive, checked: Checked, report: Report) -> None:
    """Check every segment that the log names, and every fragment that waits for one.

    A segment of another node whose bytes have not come yet is absent, not damaged.
    """
    current = archive.current()
    wanted = archive.wanted()
    total = sum(segment.size_bytes for segment in current.values())
    for sha256, segment in sorted(current.items()):
        report(checked.archive_bytes, total)
        if sha256 in wanted:
            checked.absent += 1
            continue
        checked.segments += 1
        checked.archive_bytes += segment.size_bytes
        try:
            loaded = archive.segments.load(sha256)
        except Damaged as error:
            checked.damage.append(Damage(kind="segment", where=f"segment {sha256}", what=error.detail))
            continue
        checked.fragments += len(loaded)
        named = {fragment.hex() for fragment, _ in segment.fragments}
        if named != {body.sha256 for body, _ in loaded}:
            what = "it has other fragments than its manifest says"
            checked.damage.append(Damage(kind="segment", where=f"segment {sha256}", what=what))
    checked.damage.extend(_waiting(archive, checked))


def _waiting(archive: Archive, checked: Checked) -> Iterator[Damage]:
    for sha256, _, size_bytes in archive.log.tails():
        checked.fragments += 1
        checked.archive_bytes += size_bytes
        try:
            archive.log.tail_body(sha256)
        except Damaged as error:
            yield Damage(kind="fragment", where=f"fragment {sha256.hex()}", what=error.detail)
