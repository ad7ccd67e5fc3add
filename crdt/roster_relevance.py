"""Tell what can have no effect on a roster, so that it is folded neither now nor again and again.

A plain member may say anything about members, and none of it applies.  An operation can apply only if its
author is an owner, is a promised key that takes another's place, or removes itself.  Who may ever be an owner
is what can be reached from the founder: whom an owner names as one, and who takes an owner's place.  Nothing
is asked about order and cuts, so that what is left out applies in no fold.
"""

from __future__ import annotations

from collections.abc import Sequence

from crdt.entries import Entry
from crdt.keys import commitment
from crdt.roster_operations import Add, Remove, Revoke, RosterOperation, genesis_of

Said = tuple[Entry, RosterOperation]


class Reach:
    """Who may ever be an owner of a space, and which keys may ever be promised."""

    def __init__(self, genesis: Entry, said: Sequence[Said]) -> None:
        self._owners = {genesis.author}
        self._promises = {genesis_of(genesis).next}
        reached = 0
        while reached != (reached := len(self._owners) + len(self._promises)):
            for entry, operation in said:
                self._follow(entry.author, operation)

    def may_apply(self, author: bytes, operation: RosterOperation) -> bool:
        """Tell whether an operation can have an effect in any fold; if not, the reach stays."""
        match operation:
            case Revoke():
                return commitment(author) in self._promises
            case Remove(member=member) if member == author:
                return True
        return author in self._owners

    def _follow(self, author: bytes, operation: RosterOperation) -> None:
        if not isinstance(operation, Add | Revoke) or not self.may_apply(author, operation):
            return
        self._promises.add(operation.next)
        if isinstance(operation, Add):
            self._owners |= {operation.member} if operation.owner else set()
        elif operation.old in self._owners:
            self._owners.add(author)
