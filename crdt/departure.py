"""What a removal or a revocation says of the feeds of who leaves: how far they count, and with which ends.

Both are as this node has them.  An entry holds a limited number of either, while a thief of the key may begin
any number of feeds and branches: of too many those count that were met first, since what the member said
itself mostly came before what the thief did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crdt.branches import ENDS_MAX
from crdt.feed_branches import BranchTables
from crdt.roster import Cut, Ends

if TYPE_CHECKING:
    from crdt.feed_tables import FeedRow, FeedTables
    from crdt.store import FeedStore

FEEDS_MAX = 4_000
ENDS_OF_ALL_MAX = 3_500
"""Beside 6,000 hashes of what was said about members, this fills the 512 KiB of an entry's body."""


class Departure(NamedTuple):
    """The last number that counts of each incarnation, and the hashes of the entries that it ends with."""

    cut: Cut
    ends: Ends


def departure_of(feeds: FeedStore, space: bytes, author: bytes) -> Departure:
    """Say how far each feed of an author in a space is here, which is how far it will count."""
    return feeds.read(lambda tables: _departure(tables, space, author))


def _departure(tables: FeedTables, space: bytes, author: bytes) -> Departure:
    here = [row for row in tables.feeds(space) if row.head.feed.author == author and row.head.count]
    rows = sorted(here, key=_when_met)[:FEEDS_MAX]
    branches, ends, room = BranchTables(tables.connection), Ends(), ENDS_OF_ALL_MAX
    for row in rows:
        leaves = branches.leaves(row.id)
        if len(leaves) <= min(ENDS_MAX, room):
            ends[row.head.feed.inc] = leaves
            room -= len(leaves)
    return Departure({row.head.feed.inc: row.head.seq for row in rows}, ends)


def _when_met(row: FeedRow) -> int:
    return row.id
