"""Three-way merge of texts by lines: both edits where they touch different lines, nothing otherwise.

A merge that can't be sure is none: the caller shows a conflict.  Where it is not sure: both sides changed
the same line, or inserted at the same place, or one inserted next to a line that the other changed, or a
change might as well have meant an equal neighbour that the other side changed.
"""

from __future__ import annotations

from crdt.line_diff import Hunk, TooDifferent, hunks
from crdt.operations import TEXT_BYTES_MAX

LINES_MAX = 10_000


def merge3(base: str, ours: str, theirs: str) -> str | None:
    """Merge two edits of a base; None if they touch the same lines or are too long to compare.

    Gives the same for (ours, theirs) as for (theirs, ours).
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if max(text.count("\n") for text in (base, ours, theirs)) >= LINES_MAX:
        return None
    lines = base.split("\n")
    try:
        mine, yours = hunks(lines, ours.split("\n")), hunks(lines, theirs.split("\n"))
    except TooDifferent:
        return None
    if _clash(mine, yours):
        return None
    merged = "\n".join(_applied(lines, sorted({*mine, *yours})))
    return merged if len(merged.encode("utf-8", "surrogatepass")) <= TEXT_BYTES_MAX else None


def _clash(mine: list[Hunk], yours: list[Hunk]) -> bool:
    """Tell whether a hunk of one side meets one of the other that is not the same change."""
    both = {*mine} & {*yours}
    sides = [(hunk, 0) for hunk in mine if hunk not in both] + [(h, 1) for h in yours if h not in both]
    reached, inserted = [-1, -1], [-1, -1]
    for hunk, side in sorted(sides, key=lambda one: (one[0].low, one[0].high, one[1])):
        other = 1 - side
        edge = reached[other] if hunk.is_insertion else inserted[other]
        if reached[other] > hunk.low or edge == hunk.low:
            return True
        reached[side] = max(reached[side], hunk.high)
        if hunk.is_insertion:
            inserted[side] = max(inserted[side], hunk.high)
    return False


def _applied(lines: list[str], changes: list[Hunk]) -> list[str]:
    merged: list[str] = []
    at = 0
    for hunk in changes:
        merged += lines[at : hunk.start]
        merged += hunk.lines
        at = hunk.stop
    return merged + lines[at:]
