"""The words that simulated nodes exchange, bytes on the wire, made and read by the real code.

Have     what the sender has of a space                 answered by  Want, or nothing
Want     which feeds of that the receiver lacks         answered by  PageOf and Loose
PageOf   a page of a feed, or what follows a part of it
Loose    entries that are in no page
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from crdt import have, pages
from crdt.entries import Entry, FeedId, parse
from crdt.errors import EntryRefused
from crdt.have import Missing
from crdt.store import FeedStore

LOOSE_ENTRIES = 3


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="word"):
    """Anything that travels."""


class Have(_Message, frozen=True, kw_only=True, tag="have"):
    """What a node has of a space."""

    space: bytes
    have: bytes


class FeedWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is lacking of a feed: what follows `after` from `first` on, or all but what `hashes` name."""

    author: bytes
    inc: int
    first: int
    after: bytes | None = None
    hashes: list[bytes] | None = None


class Want(_Message, frozen=True, kw_only=True, tag="want"):
    """What a node asks another for."""

    space: bytes
    feeds: list[FeedWanted]


class PageOf(_Message, frozen=True, kw_only=True, tag="page"):
    """The update of a page for who has its first `since` entries."""

    space: bytes
    author: bytes
    inc: int
    number: int
    since: int
    update: bytes


class Loose(_Message, frozen=True, kw_only=True, tag="loose"):
    """Entries one by one."""

    entries: list[bytes]


Message = Have | Want | PageOf | Loose
_DECODER = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """Write a message."""
    return msgspec.msgpack.encode(message)


def decode(data: bytes) -> Message | None:
    """Read a message; None for what is none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def offered(store: FeedStore, space: bytes) -> Have:
    """Say what a node has."""
    return Have(space=space, have=have.encode(have.have_of(store.heads(space))))


def wanted(store: FeedStore, offer: Have) -> Want | None:
    """Say what a node lacks of an offer; raises `EntryRefused` for an offer that can't be read."""
    mine = have.have_of(store.heads(offer.space))
    lacking = have.missing(mine, have.decode(offer.have), lambda sha256: store.entry(sha256) is not None)
    feeds = [_wanted(store, offer.space, one) for one in lacking]
    return Want(space=offer.space, feeds=feeds) if feeds else None


def answers(store: FeedStore, want: Want) -> Iterator[PageOf | Loose]:
    """Give what is asked for."""
    for one in want.feeds:
        feed = FeedId(want.space, one.author, one.inc)
        entries = list(store.feed_entries(feed))
        if one.hashes is not None:
            yield from _loose([entry for entry in entries if entry.hash not in set(one.hashes)])
        elif one.first > 1 and all(entry.hash != one.after for entry in entries):
            yield from _loose(entries)
        else:
            yield from _from(entries, one.first)


def raws_of(store: FeedStore, part: PageOf | Loose) -> list[bytes]:
    """Take the entries out of what came; raises `EntryRefused` for what no honest node sends."""
    if isinstance(part, Loose):
        return part.entries
    feed = FeedId(part.space, part.author, part.inc)
    return pages.read(part.update, feed, part.number, _before(store, feed, part))


def home_of(raw: bytes) -> bytes | None:
    """Tell the space that bytes are about; None for what can't be read, which the store refuses by name."""
    try:
        return parse(raw, erased=True).home
    except EntryRefused:
        return None


def _wanted(store: FeedStore, space: bytes, one: Missing) -> FeedWanted:
    hashes = None
    if one.by_hash:
        hashes = [entry.hash for entry in store.feed_entries(FeedId(space, one.author, one.inc))]
    return FeedWanted(author=one.author, inc=one.inc, first=one.first, after=one.after, hashes=hashes)


def _from(entries: list[Entry], first: int) -> Iterator[PageOf | Loose]:
    last = 0
    for page in pages.paginate(pages.linear(entries)):
        last = page.entries[-1].seq
        since = max(first - page.entries[0].seq, 0)
        if last >= first:
            yield PageOf(
                space=page.feed.space,
                author=page.feed.author,
                inc=page.feed.inc,
                number=page.number,
                since=since,
                update=pages.encode(page, since=since),
            )
    yield from _loose([entry for entry in entries if entry.seq > last and entry.seq >= first])


def _loose(entries: list[Entry]) -> Iterator[Loose]:
    for start in range(0, len(entries), LOOSE_ENTRIES):
        yield Loose(entries=[entry.raw for entry in entries[start : start + LOOSE_ENTRIES]])


def _before(store: FeedStore, feed: FeedId, part: PageOf) -> list[bytes]:
    if not part.since:
        return []
    for page in pages.paginate(pages.linear(store.feed_entries(feed))):
        if page.number == part.number and len(page.entries) >= part.since:
            return [entry.raw for entry in page.entries[: part.since]]
    raise EntryRefused("an update of a page follows entries that are not here")
