"""What a node has of a space, so that two can tell what each lacks.

Per feed: the highest number, the count of entries, and the hash of the last one.  The hash is needed since
two branches of a fork have the same numbers.  Behind all of it stands one digest of 32 bytes; nodes that are
level exchange nothing more.  Void entries count nowhere, else nodes that met a removal earlier or later would
never be level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Protocol

import msgspec

from crdt.entries import SEQ_MAX, FeedId
from crdt.errors import EntryRefused

FEEDS_MAX = 16_384
"""Of one space; each member has one per incarnation.  As many take 1.5 MB, which fits a message."""
_CONTEXT = b"atrium-v1\0have\0"
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
_Seq = Annotated[int, msgspec.Meta(ge=1, le=SEQ_MAX)]


class Head(Protocol):
    """The end of a feed, as the store gives it."""

    @property
    def feed(self) -> FeedId:
        """Which feed it is."""
        ...

    @property
    def seq(self) -> int:
        """The highest number."""
        ...

    @property
    def count(self) -> int:
        """How many entries there are; more than `seq` in a forked feed."""
        ...

    @property
    def head(self) -> bytes:
        """The hash of the last entry, or `head_of` all that nothing follows."""
        ...


class Held(msgspec.Struct, frozen=True):
    """What there is of one feed."""

    seq: int
    count: int
    head: bytes

    @property
    def is_forked(self) -> bool:
        """Tell whether some number has two entries."""
        return self.count > self.seq


Have = dict[tuple[bytes, int], Held]
"""By author and incarnation, within one space."""


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of one feed that another node has and this one lacks.

    The numbers `first` to `last`, behind the entry `after` (None: from the start), forks included.  Where
    `by_hash`, numbers can't say it: the hashes of the whole feed must be compared.  That is also the answer
    to give to who asks for what follows an `after` that is not here.
    """

    author: bytes
    inc: int
    first: int
    last: int
    after: bytes | None = None
    by_hash: bool = False


class _Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A feed in an encoded have-vector."""

    author: _Bytes32
    inc: Annotated[int, msgspec.Meta(ge=0)]
    seq: _Seq
    count: _Seq
    head: _Bytes32


_DECODER = msgspec.msgpack.Decoder(list[_Row])


def have_of(heads: Iterable[Head]) -> Have:
    """Collect the ends of the feeds of one space."""
    return {(end.feed.author, end.feed.inc): Held(end.seq, end.count, end.head) for end in heads}


def head_of(leaves: Iterable[bytes]) -> bytes:
    """Name the end of a feed by the hashes of the entries that nothing follows."""
    ends = sorted(set(leaves))
    return ends[0] if len(ends) == 1 else hashlib.sha256(b"".join(ends)).digest()


def encode(have: Mapping[tuple[bytes, int], Held]) -> bytes:
    """Write a have-vector, in the order of authors and incarnations."""
    rows = [_Row(*feed, held.seq, held.count, held.head) for feed, held in sorted(have.items(), key=_by_feed)]
    return msgspec.msgpack.encode(rows)


def decode(data: bytes) -> Have:
    """Read a have-vector; raises `EntryRefused` for anything but what `encode` writes."""
    try:
        rows = _DECODER.decode(data)
    except msgspec.MsgspecError as error:
        raise EntryRefused(f"a have-vector can't be read ({error})") from error
    have = {(row.author, row.inc): Held(row.seq, row.count, row.head) for row in rows}
    if len(rows) > FEEDS_MAX or any(row.count < row.seq for row in rows) or encode(have) != data:
        raise EntryRefused("a have-vector has what no node has")
    return have


def digest(space: bytes, have: Mapping[tuple[bytes, int], Held]) -> bytes:
    """Hash what there is of a space; equal only where the entries are the same."""
    return hashlib.sha256(_CONTEXT + space + encode(have)).digest()


def missing(
    mine: Mapping[tuple[bytes, int], Held],
    theirs: Mapping[tuple[bytes, int], Held],
    is_here: Callable[[bytes], bool],
) -> list[Missing]:
    """Say what this node lacks of what another has, in the order of feeds.

    `is_here` tells whether this node has the entry of a hash: then it has all that leads to it.
    """
    found = []
    for feed, held in sorted(theirs.items(), key=_by_feed):
        own = mine.get(feed)
        if own != held and not is_here(held.head):
            found.append(_missing(feed, own, held))
    return found


def _missing(feed: tuple[bytes, int], own: Held | None, held: Held) -> Missing:
    author, inc = feed
    if own is None:
        return Missing(author=author, inc=inc, first=1, last=held.seq)
    if own.seq < held.seq and not own.is_forked and not held.is_forked:
        return Missing(author=author, inc=inc, first=own.seq + 1, last=held.seq, after=own.head)
    return Missing(author=author, inc=inc, first=1, last=held.seq, by_hash=True)


def _by_feed(item: tuple[tuple[bytes, int], Held]) -> tuple[bytes, int]:
    return item[0]
