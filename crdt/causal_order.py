"""The operations of one record in an order in which nothing comes before what it builds on.

An operation's clock is its hybrid clock, or one more than the highest clock of what it builds on where that
is ahead: an author whose wall clock is slow still comes after what he saw.  Order is (clock, author, hash).
Whatever has no part in the record's state still links what was built on it to what came before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from crdt.operations import Stamped


class CausalOrder:
    """Distinct operations of one record, `order` oldest first, and who is whose ancestor."""

    def __init__(self, stamped: Iterable[Stamped]) -> None:
        """Sort operations, given in any order and any number of times."""
        known = {one.hash: one for one in stamped}
        self._parents = {
            one.hash: [name for name in one.operation.base if name in known] for one in known.values()
        }
        self.clocks = _clocks(known, self._parents)
        # Whoever names his own descendant would have found a cycle of SHA-256; he has no clock and no say.
        ranked = sorted((clock, known[name].author, name) for name, clock in self.clocks.items())
        self.order = [known[name] for _, _, name in ranked]

    def heads(self, hashes: set[bytes]) -> set[bytes]:
        """Give those of some operations that are no ancestor of another of them."""
        return hashes if len(hashes) < 2 else hashes - self._below(hashes)

    def ancestors(self, name: bytes) -> set[bytes]:
        """Give an operation and all that it builds on."""
        return {name} | self._below({name})

    def _below(self, hashes: set[bytes]) -> set[bytes]:
        below: set[bytes] = set()
        waiting = list(hashes)
        while waiting:
            fresh = [name for name in self._parents[waiting.pop()] if name not in below]
            below.update(fresh)
            waiting.extend(fresh)
        return below


def _clocks(known: dict[bytes, Stamped], parents: dict[bytes, list[bytes]]) -> dict[bytes, int]:
    children: dict[bytes, list[bytes]] = {}
    waiting = {name: len(above) for name, above in parents.items()}
    for name, above in parents.items():
        for parent in above:
            children.setdefault(parent, []).append(name)
    clocks: dict[bytes, int] = {}
    ready = deque(name for name, count in waiting.items() if count == 0)
    while ready:
        name = ready.popleft()
        clocks[name] = max([known[name].hlc, *(clocks[parent] + 1 for parent in parents[name])])
        for child in children.get(name, ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return clocks
