"""Which branch of a removed member's feed counts, told by the ends that its removal names.

Whoever has the key of a removed member can still sign, and put another branch beside what the member said
before the cut.  A removal therefore names the ends that it knows of each feed: once all of them are here, an
entry that leads to none of them is void.  Until then the numbers of the cut alone decide, since the ends
come with the feed, and what leads to them can't be told before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

ENDS_MAX = 64
"""A feed with more ends than this is cut by its numbers alone: its member's own branch may be any of them."""


def strays(named: Collection[bytes], previous: Mapping[bytes, bytes]) -> set[bytes]:
    """Name the entries of a feed that lead to none of the named ends; none while one of these is missing.

    `previous` has the hash of every entry of the feed with that of the entry before it.
    """
    if not named or not all(end in previous for end in named):
        return set()
    leading: set[bytes] = set()
    for end in named:
        at = end
        while at in previous and at not in leading:
            leading.add(at)
            at = previous[at]
    return previous.keys() - leading
