"""Which lines two texts share, found the same way on every node and in bounded time.

Lines that occur once on both sides anchor the comparison; between anchors the shortest edit script is
sought, breadth first (Myers, "An O(ND) difference algorithm and its variations", 1986).  Effort is counted
in steps instead of seconds, so that a fast node and a slow one give up on the same texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

STEPS_MAX = 120_000
"""Comparisons and table cells for one pair of texts: about 30 ms."""
STEPS_A_LINE = 2
"""What counting a line weighs against comparing two."""


class TooDifferent(Exception):
    """The comparison would take more steps than it may."""


@dataclass(frozen=True, slots=True, order=True)
class Hunk:
    """Lines `start` to `stop` (exclusive) of the old text give way to `lines`; either may be none.

    `low` to `high` is where the same change could as well be said to be: taking out one of two equal
    neighbours may mean either.
    """

    start: int
    stop: int
    lines: tuple[str, ...]
    low: int
    high: int

    @property
    def is_insertion(self) -> bool:
        """Tell whether it takes nothing out."""
        return self.start == self.stop


@dataclass(slots=True)
class _Area:
    """A part of both texts that is still to be compared: old lines `a` to `b`, new ones `c` to `d`."""

    a: int
    b: int
    c: int
    d: int


def hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Give what changed from old to new, in order, with a shared line between any two.

    Raises `TooDifferent`.
    """
    pairs = _Comparison(old, new).pairs()
    found = []
    i = j = 0
    for at, to in [*pairs, (len(old), len(new))]:
        if at > i or to > j:
            found.append((i, at, j, to))
        i, j = at + 1, to + 1
    return [_placed(old, new, span, _room(found, at, len(old))) for at, span in enumerate(found)]


_Span = tuple[int, int, int, int]


def _room(spans: Sequence[_Span], at: int, lines: int) -> tuple[int, int]:
    """Give how far a hunk may move in the old text before it meets its neighbours."""
    above = spans[at - 1][1] if at else 0
    below = spans[at + 1][0] if at + 1 < len(spans) else lines
    return above, below


def _placed(old: Sequence[str], new: Sequence[str], span: _Span, room: tuple[int, int]) -> Hunk:
    start, stop, first, last = span
    low, high = start, stop
    if start == stop or first == last:
        moved, begin, end = (new, first, last) if start == stop else (old, start, stop)
        up = down = 0
        while start - up > room[0] and moved[begin - 1 - up] == moved[end - 1 - up]:
            up += 1
        while stop + down < room[1] and moved[begin + down] == moved[end + down]:
            down += 1
        low, high = start - up, stop + down
    return Hunk(start, stop, tuple(new[first:last]), low, high)


class _Comparison:
    """Finds the shared lines of two texts as rising pairs of line numbers."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old = old
        self._new = new
        self._steps = 0
        self._found: list[tuple[int, int]] = []

    def pairs(self) -> list[tuple[int, int]]:
        """Compare everything; raises `TooDifferent`."""
        areas = [_Area(0, len(self._old), 0, len(self._new))]
        while areas:
            area = areas.pop()
            self._trim(area)
            if area.a < area.b and area.c < area.d:
                areas.extend(self._divided(area))
        return sorted(self._found)

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS_MAX:
            raise TooDifferent

    def _trim(self, area: _Area) -> None:
        old, new = self._old, self._new
        while area.a < area.b and area.c < area.d and old[area.a] == new[area.c]:
            self._found.append((area.a, area.c))
            area.a, area.c = area.a + 1, area.c + 1
        while area.a < area.b and area.c < area.d and old[area.b - 1] == new[area.d - 1]:
            area.b, area.d = area.b - 1, area.d - 1
            self._found.append((area.b, area.d))

    def _divided(self, area: _Area) -> list[_Area]:
        """Split an area at its anchors; without any, find its shared lines at once."""
        self._spend(STEPS_A_LINE * (area.b - area.a + area.d - area.c))
        old = Counter(self._old[area.a : area.b])
        new = Counter(self._new[area.c : area.d])
        if old.keys().isdisjoint(new):
            return []
        once = {line for line, count in old.items() if count == 1 and new.get(line) == 1}
        if not once:
            self._found.extend(self._shortest(area))
            return []
        return self._between(area, _rising(self._places(area, once)))

    def _places(self, area: _Area, once: set[str]) -> list[tuple[int, int]]:
        to = {self._new[j]: j for j in range(area.c, area.d) if self._new[j] in once}
        return [(i, to[self._old[i]]) for i in range(area.a, area.b) if self._old[i] in once]

    def _between(self, area: _Area, anchors: list[tuple[int, int]]) -> list[_Area]:
        self._found.extend(anchors)
        areas, a, c = [], area.a, area.c
        for i, j in [*anchors, (area.b, area.d)]:
            areas.append(_Area(a, i, c, j))
            a, c = i + 1, j + 1
        return areas

    def _shortest(self, area: _Area) -> list[tuple[int, int]]:
        """Find the shared lines that a shortest edit script keeps."""
        old, new = self._old[area.a : area.b], self._new[area.c : area.d]
        reach = {1: 0}
        history: list[dict[int, int]] = []
        for edits in range(len(old) + len(new) + 1):
            history.append(dict(reach))
            self._spend(2 * edits + 1)
            for diagonal in range(-edits, edits + 1, 2):
                i = _step(reach, diagonal, edits)
                begun = i
                while i < len(old) and i - diagonal < len(new) and old[i] == new[i - diagonal]:
                    i += 1
                self._spend(i - begun)
                reach[diagonal] = i
                if i >= len(old) and i - diagonal >= len(new):
                    return [(area.a + x, area.c + y) for x, y in _traced(history, len(old), len(new))]
        raise AssertionError("deleting all and inserting all is a script")


def _step(reach: dict[int, int], diagonal: int, edits: int) -> int:
    """Give how far a diagonal is reached by one more insertion or deletion."""
    is_insertion = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
    return reach[diagonal + 1] if is_insertion else reach[diagonal - 1] + 1


def _traced(history: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
    """Walk a script back from its end and give the lines that it keeps."""
    kept = []
    for edits in range(len(history) - 1, -1, -1):
        reach, diagonal = history[edits], i - j
        begun = _step(reach, diagonal, edits)
        while i > begun:
            i, j = i - 1, j - 1
            kept.append((i, j))
        if diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1]):
            j -= 1
        else:
            i -= 1
    return kept


def _rising(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pick the longest run of places that rises on both sides; the first number rises already."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(places):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        at[length : length + 1] = [number]
    run = []
    number = at[-1] if at else -1
    while number >= 0:
        run.append(places[number])
        number = before[number]
    return run[::-1]
