"""Pages: a feed cut into pycrdt documents, the form in which entries travel and are mirrored.

A page is a pure function of the entries in it.  Its document has one root, the map `f` of decimal seq to the
bytes of an entry, and one writer, whose client id follows from author, incarnation and page number.  So
every node makes the same bytes of it, a state vector says exactly what is missing, and a sealed page travels
as one update.  An entry whose body was erased travels as header and signature; where a page is cut follows
from the sizes in the headers, and so stays the same.  The pages of a feed end before its first fork, since
what lies behind has no one order; those entries travel loose.

Foreign updates never reach pycrdt.  It accepts forged client ids and deletions without an author, and a value
nested deep enough (200 kB of lists in lists) overflows its stack and ends the process: measured.  `read`
takes what it understands from the bytes, puts that into a document of our own to be thrown away, and accepts
the update only if it is, byte for byte, what that document gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from crdt.entries import BODY_BYTES_MAX, HEADER_BYTES, SIGNATURE_BYTES, Entry, FeedId
from crdt.errors import EntryRefused

PAGE_ENTRIES_MAX = 1_000
PAGE_BYTES_MAX = 768 << 10
"""Of entries; both limits by FEEDS.md 3 and DECISIONS.md 9."""
UPDATE_BYTES_MAX = 2 << 20
FIRST_PAGE = 1
_ROOT = "f"
_INSERTS_PER_TRANSACTION = 64
"""A page of 1,000 entries takes 4 ms; one by one it takes 50 ms."""
_ENTRY_BYTES_MAX = HEADER_BYTES + BODY_BYTES_MAX + SIGNATURE_BYTES
_CLIENT_ID_BITS = 53
_ITEM = b"\x28\x01\x01f"
"""In an update: an item with a key and of plain values, whose parent is the root of that name."""
_ONE_BUFFER = b"\x01\x74"
_NOTHING_DELETED = b"\0"


class PageCut(msgspec.Struct, frozen=True):
    """How full a page is, which decides whether the next entry still goes to it."""

    number: int = FIRST_PAGE
    entries: int = 0
    size_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Tell whether the page is sealed whatever comes next."""
        return self.entries == PAGE_ENTRIES_MAX

    def after(self, entry: Entry) -> PageCut:
        """Give the page that the feed's next entry goes to, with it counted."""
        size = HEADER_BYTES + entry.body_size + SIGNATURE_BYTES
        if self.is_full or (self.entries and self.size_bytes + size > PAGE_BYTES_MAX):
            return PageCut(self.number + 1, 1, size)
        return PageCut(self.number, self.entries + 1, self.size_bytes + size)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Successive entries of a feed; `is_sealed` once no entry can come to it any more."""

    feed: FeedId
    number: int
    entries: list[Entry]
    is_sealed: bool


def paginate(entries: Iterable[Entry]) -> Iterator[Page]:
    """Cut a feed, given in the order of seq from its first entry and without forks, page by page."""
    cut, held = PageCut(), list[Entry]()
    for entry in entries:
        following = cut.after(entry)
        if following.number != cut.number:
            yield _page(cut, held, is_sealed=True)
            held = []
        held.append(entry)
        cut = following
    if held:
        yield _page(cut, held, is_sealed=cut.is_full)


def linear(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Take a feed, given in the order of seq, up to its first fork; what `paginate` can cut."""
    before: Entry | None = None
    for entry in entries:
        if before is not None:
            if entry.seq == before.seq:
                return
            yield before
        before = entry
    if before is not None:
        yield before


def client_id(author: bytes, inc: int, number: int) -> int:
    """Derive the one client id that may write a page: the top 53 bits of a hash."""
    digest = hashlib.sha256(author + inc.to_bytes(8) + number.to_bytes(8)).digest()
    return int.from_bytes(digest[:8]) >> (64 - _CLIENT_ID_BITS)


def encode(page: Page, *, since: int = 0) -> bytes:
    """Make the update of a page, or of what follows its first `since` entries."""
    raws = [entry.raw for entry in page.entries]
    writer = client_id(page.feed.author, page.feed.inc, page.number)
    return _update(writer, page.entries[0].seq, raws, since)


def state_vector(page: Page) -> bytes:
    """Say as pycrdt does what a page has: how many entries of its one client id."""
    return _state_vector(client_id(page.feed.author, page.feed.inc, page.number), len(page.entries))


def read_state_vector(data: bytes, feed: FeedId, number: int) -> int:
    """Tell how many entries of a page somebody has; raises `EntryRefused` for that of another document."""
    count = _Reader(data).counted(client_id(feed.author, feed.inc, number))
    if data != _state_vector(client_id(feed.author, feed.inc, number), count):
        raise _refused("a state vector of something else")
    return count


def read(update: bytes, feed: FeedId, number: int, before: Sequence[bytes] = ()) -> list[bytes]:
    """Take the entries from a foreign update of a page; their truth is for `chains` to judge.

    `before` has the entries of the page that are here already, which an update since a state vector follows.
    Raises `EntryRefused` for everything that `encode` would not have made.
    """
    writer = client_id(feed.author, feed.inc, number)
    if len(update) > UPDATE_BYTES_MAX:
        raise _refused(f"{len(update)} bytes, at most {UPDATE_BYTES_MAX}")
    first, raws = _Reader(update).items(writer, len(before))
    everything = [*before, *raws]
    if len(everything) > PAGE_ENTRIES_MAX or sum(map(len, everything)) > PAGE_BYTES_MAX:
        raise _refused("more entries than a page holds")
    if _update(writer, first - len(before), everything, len(before)) != update:
        raise _refused("something else beside its entries")
    return raws


def _page(cut: PageCut, entries: list[Entry], *, is_sealed: bool) -> Page:
    return Page(feed=entries[0].feed, number=cut.number, entries=entries, is_sealed=is_sealed)


def _update(writer: int, first: int, raws: Sequence[bytes], since: int) -> bytes:
    # Imported here, since readers of a store need no pycrdt.
    from pycrdt import Doc, Map

    document = Doc[Map[bytes]](client_id=writer)
    root = document.get(_ROOT, type=Map)
    for start in range(0, len(raws), _INSERTS_PER_TRANSACTION):
        with document.transaction():
            for position, raw in enumerate(raws[start : start + _INSERTS_PER_TRANSACTION], first + start):
                root[str(position)] = raw
    return bytes(document.get_update(_state_vector(writer, since) if since else None))


def _state_vector(writer: int, count: int) -> bytes:
    return _varint(1) + _varint(writer) + _varint(count)


def _varint(number: int) -> bytes:
    spelled = bytearray()
    while number > 0x7F:
        spelled.append(number & 0x7F | 0x80)
        number >>= 7
    spelled.append(number)
    return bytes(spelled)


def _refused(what: str) -> EntryRefused:
    return EntryRefused(f"a page's update has {what}")


class _Reader:
    """Walks an update of the one shape that a page has."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def items(self, writer: int, count_before: int) -> tuple[int, list[bytes]]:
        """Give the seq of the first entry, and all entries up to the end."""
        clients, count = self._varint(), self._varint()
        if clients != 1 or not 1 <= count <= PAGE_ENTRIES_MAX:
            raise _refused("not one writer, or too many entries")
        if self._varint() != writer:
            raise _refused("another writer than the page's author")
        if self._varint() != count_before:
            raise _refused("entries that don't follow those that are here")
        items = [self._item() for _ in range(count)]
        if self._data[self._at :] != _NOTHING_DELETED:
            raise _refused("deletions or bytes behind its end")
        return items[0][0], [raw for _, raw in items]

    def counted(self, writer: int) -> int:
        """Read a state vector of the one writer."""
        if self._varint() != 1 or self._varint() != writer:
            raise _refused("another writer than the page's author")
        count = self._varint()
        if not 1 <= count <= PAGE_ENTRIES_MAX:
            raise _refused("too many entries")
        return count

    def _item(self) -> tuple[int, bytes]:
        self._expect(_ITEM)
        key = self._take(self._varint(), len(str(1 << 48)))
        self._expect(_ONE_BUFFER)
        raw = self._take(self._varint(), _ENTRY_BYTES_MAX)
        if not key.isdigit():
            raise _refused("a key that is no number")
        return int(key), raw

    def _expect(self, what: bytes) -> None:
        if self._take(len(what), len(what)) != what:
            raise _refused("something other than entries")

    def _take(self, size: int, size_max: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if size > size_max or len(taken) != size:
            raise _refused("a value that is cut or too large")
        self._at += size
        return taken

    def _varint(self) -> int:
        number = shift = 0
        while shift <= _CLIENT_ID_BITS:
            (byte,) = self._take(1, 1)
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
        raise _refused("a number that is too large")
