"""Pages: the same bytes on every node, and nothing but such bytes is taken for one."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from pycrdt import Array, Doc, Map

from crdt import pages
from crdt.entries import BODY_BYTES_MAX, Entry, EntryKind, FeedId, parse
from crdt.errors import EntryRefused
from crdt.pages import PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, UPDATE_BYTES_MAX, Page, PageCut
from tests.crdt.memory_chains import MemoryChains
from tests.crdt.signers import Feed, SeedSigner, genesis

ANNA, BEN = SeedSigner("anna"), SeedSigner("ben")
SPACE = bytes(range(32))


def feed_of(count: int, size: int = 40) -> Feed:
    feed = Feed(ANNA, SPACE, inc=2**64 - 1)
    feed.records(count, size)
    return feed


def page_of(count: int) -> Page:
    """Make the first page of a small feed."""
    (page,) = pages.paginate(feed_of(count).entries)
    return page


def raws_of(page: Page) -> list[bytes]:
    return [entry.raw for entry in page.entries]


def document(raws: list[bytes], first: int = 1, *, writer: int | None = None) -> Doc[Map[bytes]]:
    """Build what a page should be, entry by entry, without the code under test."""
    made = Doc[Map[bytes]](
        client_id=pages.client_id(ANNA.public_key, 2**64 - 1, 1) if writer is None else writer
    )
    root = made.get("f", type=Map)
    for seq, raw in enumerate(raws, first):
        root[str(seq)] = raw
    return made


def read(update: bytes, before: list[bytes] | None = None) -> list[bytes]:
    return pages.read(update, FeedId(SPACE, ANNA.public_key, 2**64 - 1), 1, before or [])


def refused(update: bytes, before: list[bytes] | None = None) -> bool:
    try:
        read(update, before)
    except EntryRefused:
        return True
    return False


def varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + varint(number >> 7)


def test_a_page_is_sealed_at_a_thousand_entries() -> None:
    cut = list(pages.paginate(feed_of(2 * PAGE_ENTRIES_MAX + 1).entries))
    assert [(p.number, len(p.entries), p.is_sealed) for p in cut] == [
        (1, 1000, True),
        (2, 1000, True),
        (3, 1, False),
    ]
    assert [p.entries[0].seq for p in cut] == [1, 1001, 2001]
    assert next(pages.paginate(feed_of(PAGE_ENTRIES_MAX).entries)).is_sealed


def test_a_page_is_sealed_before_the_entry_that_would_take_it_past_768_kib() -> None:
    feed = Feed(ANNA, SPACE)
    exact = PAGE_BYTES_MAX - 2 * 224 - BODY_BYTES_MAX
    for size in (BODY_BYTES_MAX, exact, 0, BODY_BYTES_MAX, exact + 1):
        feed.say(EntryKind.RECORD, bytes(size))
    assert [[e.seq for e in p.entries] for p in pages.paginate(feed.entries)] == [[1, 2], [3, 4], [5]]


def test_an_erased_body_does_not_move_the_cut() -> None:
    feed = feed_of(4, size=300 << 10)
    erased = [parse(e.header + e.signature, erased=True) for e in feed.entries]
    cut = [[e.seq for e in p.entries] for p in pages.paginate(erased)]
    assert cut == [[e.seq for e in p.entries] for p in pages.paginate(feed.entries)] == [[1, 2], [3, 4]]


def test_the_cut_can_be_followed_entry_by_entry() -> None:
    cut = PageCut()
    for entry in feed_of(5, size=300 << 10).entries:
        cut = cut.after(entry)
    assert (cut.number, cut.entries, cut.is_full) == (3, 1, False)


def test_nothing_is_cut_into_no_page() -> None:
    assert list(pages.paginate([])) == []
    assert list(pages.linear([])) == []


def test_pages_end_before_the_first_fork() -> None:
    feed = feed_of(4)
    fork = feed.branch(feed.entries[1], EntryKind.RECORD, b"fork")
    in_order = sorted([*feed.entries, fork], key=lambda e: (e.seq, e.hash))
    assert list(pages.linear(in_order)) == feed.entries[:2]
    assert list(pages.linear(feed.entries)) == feed.entries
    first = feed.branch(None, EntryKind.RECORD, b"fork")
    assert list(pages.linear([first, *feed.entries])) == []


def test_the_client_id_follows_from_author_incarnation_and_page() -> None:
    ids = {
        pages.client_id(author, inc, number)
        for author in (ANNA.public_key, BEN.public_key)
        for inc in (1, 2**64 - 1)
        for number in (1, 2)
    }
    assert len(ids) == 8
    assert all(0 < one < 2**53 for one in ids)


def test_a_page_has_the_same_bytes_however_it_was_built_up() -> None:
    page = page_of(200)
    at_once, raws = pages.encode(page), raws_of(page)
    assert document(raws).get_update() == at_once
    foreign = Doc[Map[bytes]]()
    foreign.apply_update(
        pages.encode(Page(feed=page.feed, number=1, entries=page.entries[:70], is_sealed=False))
    )
    foreign.apply_update(pages.encode(page, since=70))
    assert foreign.get_update() == at_once
    again = [parse(raw) for raw in read(at_once)]
    assert pages.encode(Page(feed=page.feed, number=1, entries=again, is_sealed=False)) == at_once


def test_pycrdt_reads_a_page_as_a_map_of_entries() -> None:
    page = page_of(130)
    mirror = Doc[Map[bytes]]()
    mirror.apply_update(pages.encode(page))
    assert {key: bytes(raw) for key, raw in mirror.get("f", type=Map).items()} == {
        str(entry.seq): entry.raw for entry in page.entries
    }
    assert mirror.get_state() == pages.state_vector(page)


def test_a_sealed_page_is_read_back_and_fits_a_message() -> None:
    for page in pages.paginate(feed_of(1_001, size=500).entries):
        update = pages.encode(page)
        assert len(update) < UPDATE_BYTES_MAX
        assert pages.read(update, page.feed, page.number) == raws_of(page)


def test_the_later_pages_of_a_feed_keep_its_numbers() -> None:
    *_, last = pages.paginate(feed_of(1_003).entries)
    update = pages.encode(last)
    assert [parse(raw).seq for raw in pages.read(update, last.feed, 2)] == [1001, 1002, 1003]
    assert refused(update)


def test_an_open_page_travels_from_a_state_vector_on() -> None:
    page = page_of(10)
    some = Page(feed=page.feed, number=1, entries=page.entries[:6], is_sealed=False)
    count = pages.read_state_vector(pages.state_vector(some), page.feed, 1)
    assert count == 6
    update = pages.encode(page, since=count)
    assert len(update) < len(pages.encode(page)) / 2
    assert read(update, raws_of(some)) == raws_of(page)[6:]
    assert refused(update)
    assert refused(update, raws_of(page)[:5])
    assert refused(pages.encode(page), raws_of(some))


def test_state_vectors_of_other_documents_are_refused() -> None:
    page = page_of(3)
    good = pages.state_vector(page)
    for odd in (
        b"",
        b"\0",
        good[:-1],
        good + b"\0",
        good[:-1] + b"\0",
        good[:-1] + b"\xff\x7f",
        b"\2" + good[1:],
    ):
        with pytest.raises(EntryRefused):
            pages.read_state_vector(odd, page.feed, 1)
    with pytest.raises(EntryRefused):
        pages.read_state_vector(good, page.feed, 2)


def test_entries_with_erased_bodies_travel_as_header_and_signature() -> None:
    page = page_of(3)
    bare = parse(page.entries[1].header + page.entries[1].signature, erased=True)
    entries = [page.entries[0], bare, page.entries[2]]
    raws = read(pages.encode(Page(feed=page.feed, number=1, entries=entries, is_sealed=False)))
    assert raws == [entries[0].raw, bare.header + bare.signature, entries[2].raw]
    assert [parse(raw, erased=True).hash for raw in raws] == [entry.hash for entry in page.entries]


def test_a_forged_client_id_is_refused() -> None:
    raws = raws_of(page_of(3))
    for writer in (1, pages.client_id(BEN.public_key, 2**64 - 1, 1), pages.client_id(ANNA.public_key, 1, 1)):
        assert refused(document(raws, writer=writer).get_update())
    assert not refused(document(raws).get_update())


def test_entries_of_a_second_writer_are_refused() -> None:
    doc = document(raws_of(page_of(3)))
    other = Doc[Map[bytes]](client_id=5)
    other.apply_update(doc.get_update())
    other.get("f", type=Map)["4"] = b"x"
    assert refused(other.get_update())


def test_deletions_are_refused() -> None:
    doc = document(raws_of(page_of(3)))
    mirror = Doc[Map[bytes]](client_id=5)
    mirror.apply_update(doc.get_update())
    before = mirror.get_state()
    del mirror.get("f", type=Map)["2"]
    assert refused(mirror.get_update())
    assert refused(mirror.get_update(before))
    replaced = document(raws_of(page_of(3)))
    replaced.get("f", type=Map)["2"] = b"x"
    assert refused(replaced.get_update())


def test_other_roots_and_other_values_are_refused() -> None:
    raws = raws_of(page_of(2))

    def with_more(name: str, key: str, value: object) -> bytes:
        doc = document(raws)
        root: Map[object] = doc.get(name, type=Map)
        root[key] = value
        return doc.get_update()

    assert refused(with_more("g", "3", b"x"))
    assert refused(with_more("f", "x", b"x"))
    assert refused(with_more("f", "4", b"x"))
    assert refused(with_more("f", "03", b"x"))
    assert refused(with_more("f", "3", "text"))
    assert refused(with_more("f", "3", 7))
    assert refused(with_more("f", "3", {"deep": [1]}))
    assert refused(with_more("f", "3", Map({"a": 1})))
    assert refused(with_more("f", "3", Array([1])))
    assert not refused(with_more("f", "3", b"x"))


def test_more_than_a_page_holds_is_refused() -> None:
    assert refused(document([b"x"] * (PAGE_ENTRIES_MAX + 1)).get_update())
    assert not refused(document([b"x"] * PAGE_ENTRIES_MAX).get_update())
    assert refused(document([bytes(PAGE_BYTES_MAX // 2)] * 2 + [b"x"]).get_update())
    assert refused(document([bytes(BODY_BYTES_MAX + 225)]).get_update())
    assert refused(bytes(UPDATE_BYTES_MAX + 1))


def test_second_spellings_of_the_same_page_are_refused() -> None:
    update = pages.encode(page_of(2))
    assert refused(b"\x81\x00" + update[1:])
    assert refused(update + b"\0")
    assert refused(update[:-1] + b"\x80\x00")
    assert refused(update[:-1])
    assert refused(b"")
    assert refused(b"\0\0")


def test_huge_numbers_cost_nothing() -> None:
    writer = pages.client_id(ANNA.public_key, 2**64 - 1, 1)
    for huge in (2**32, 2**53, 2**63, 2**70):
        assert refused(varint(huge))
        assert refused(b"\1" + varint(huge))
        assert refused(b"\1\1" + varint(writer) + varint(huge))
        assert refused(b"\1\1" + varint(writer) + b"\0\x28\1\1f" + varint(huge))
        assert refused(b"\1\1" + varint(writer) + b"\0\x28\1\1f\1\x31\1\x74" + varint(huge))


NESTED = """
import sys
from pycrdt import Doc
Doc().apply_update(b"\\1\\1\\5\\0\\x28\\1\\1f\\1\\x31\\1" + b"\\x75\\1" * 500_000)
"""


def test_what_would_end_the_process_is_refused_before_pycrdt_sees_it() -> None:
    """The reason why foreign updates are not applied: should this pass one day, `read` may be simplified."""
    died = subprocess.run([sys.executable, "-c", NESTED], capture_output=True, timeout=60, check=False)
    assert died.returncode < 0
    writer = pages.client_id(ANNA.public_key, 2**64 - 1, 1)
    assert refused(b"\1\1" + varint(writer) + b"\0\x28\1\1f\1\x31\1" + b"\x75\1" * 500_000)


def committed(update: bytes, feed: FeedId) -> set[Entry]:
    """Receive an update as a node does: read the page, parse its entries, judge them."""
    node = MemoryChains()
    node.receive([parse(raw) for raw in pages.read(update, feed, 1)])
    return set(node.committed.values())


def test_of_2000_flipped_bits_none_is_accepted_with_other_content() -> None:
    draw = random.Random(11)  # noqa: S311
    home = genesis(ANNA)
    home.records(8)
    (page,) = pages.paginate(home.entries)
    update, good = pages.encode(page), set(home.entries)
    assert committed(update, home.id) == good
    different = []
    for _ in range(2_000):
        flipped = bytearray(update)
        flipped[draw.randrange(len(update))] ^= 1 << draw.randrange(8)
        try:
            different += committed(bytes(flipped), home.id) - good
        except EntryRefused:
            continue
    assert different == []
