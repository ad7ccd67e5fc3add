"""Which records stand in the place of which: a graph of record ids of the index, from newer to older.

Two nodes that know nothing of each other can close a circle, and nothing may vanish because of it: a record
is superseded when its chain comes to an end somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

RELATION = "supersedes"


class Supersession:
    """The edges that hold now, as (newer, older)."""

    def __init__(self, edges: Iterable[tuple[str, str]]) -> None:
        self._newer: dict[str, set[str]] = {}
        for newer, older in edges:
            if newer != older:
                self._newer.setdefault(older, set()).add(newer)

    def successor(self, record: str) -> str | None:
        """Name what stands at the end of the chain, the smallest id of several; None for a current record."""
        ends = [later for later in self._later(record) if later not in self._newer and later != record]
        return min(ends, default=None)

    def reaches(self, newer: str, older: str) -> bool:
        """Tell whether one stands in the place of the other, be it through a chain, or is the other."""
        return newer == older or newer in self._later(older)

    def _later(self, record: str) -> Iterator[str]:
        """Give what came after a record, each once."""
        seen: set[str] = set()
        waiting = [record]
        while waiting:
            for later in self._newer.get(waiting.pop(), ()):
                if later not in seen:
                    seen.add(later)
                    waiting.append(later)
                    yield later
