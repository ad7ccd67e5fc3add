"""What the simulator finds."""

from __future__ import annotations


class Violation(AssertionError):
    """An invariant that does not hold; `invariant` names it."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant, self.detail = invariant, detail
