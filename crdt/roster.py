"""Who belongs to a space and may do what there, as a pure function of the signed entries that say so.

The author of the genesis is the first owner.  An operation applies if its author is an owner at that place
of the order (hlc, author, hash).  Four rules keep every node at the same answer, whatever arrives first:

- Owners have seniority, the order in which they became owners.  Nobody changes or removes an owner but a
  senior one, the owner itself, or the key that it promised to be followed by.  Without this, a removed owner
  could remove its remover with an operation dated back.
- What a removed or revoked author says beyond the cut of its removal is void, its roster operations too.
  Since voiding these can change who was an owner, the fold is repeated until the cuts stay the same.
  Of its roster operations up to the cut only those count that the removal names, since a thief of the key
  can fork the feed there as well.
- The entries of other kinds that lie before a cut are told apart by the ends that a removal names
  (`branches`): no thief can put a branch beside them.
- The promise of a next key is made once; whoever steals the present key can't make another.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crdt.entries import Entry, EntryKind, FeedId
from crdt.errors import NotFound
from crdt.roster_fold import Fold, Named, is_beyond
from crdt.roster_operations import (
    NAME_CHARS_MAX,
    RIGHTS,
    SAID_MAX,
    Add,
    Alias,
    Cut,
    Ends,
    Genesis,
    Label,
    Remove,
    Revoke,
    Right,
    RosterOperation,
    Said,
    SpaceKind,
    encode,
    genesis_of,
    operation_of,
)
from crdt.roster_relevance import Reach

__all__ = [
    "NAME_CHARS_MAX",
    "RIGHTS",
    "Add",
    "Alias",
    "Cut",
    "Ends",
    "Genesis",
    "Label",
    "Member",
    "Remove",
    "Revoke",
    "Right",
    "Roster",
    "RosterOperation",
    "SpaceKind",
    "encode",
    "genesis_of",
    "operation_of",
]

FOLDS_MAX = 32
"""Each fold settles one more rank of seniority; a deeper roster is cut here, on every node alike."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """How one key stands in a space; `since_hlc` is when it was last added or changed, or removed."""

    name: str
    rights: frozenset[str]
    owner: bool
    since_hlc: int
    removed: bool


class Roster:
    """The members of one space and their rights, as of all the entries that were given."""

    def __init__(self, fold: Fold, reach: Reach, entries: dict[bytes, Entry]) -> None:
        self._fold, self._reach, self._entries = fold, reach, entries

    @classmethod
    def of(cls, space: bytes, entries: Iterable[Entry]) -> Roster:
        """Fold the genesis and the roster entries of a space, in any order; others are passed over.

        Raises `NotFound` without the genesis.
        """
        given = {entry.hash: entry for entry in entries}
        genesis = given.get(space)
        if genesis is None or genesis.kind != EntryKind.GENESIS:
            raise NotFound(f"there is no space {space.hex()[:12]} here", hint="run `atrium spaces`")
        operations = {name: entry for name, entry in given.items() if _is_of_roster(entry, space)}
        ranked = sorted(operations.values(), key=lambda entry: (entry.hlc, entry.author, entry.hash))
        said = [(entry, operation) for entry in ranked if (operation := operation_of(entry)) is not None]
        reach = Reach(genesis, said)
        said = [(entry, operation) for entry, operation in said if reach.may_apply(entry.author, operation)]
        cuts: dict[bytes, Cut] = {}
        counting: dict[bytes, frozenset[Named]] = {}
        for _ in range(FOLDS_MAX):
            fold = Fold(genesis, cuts, counting)
            for entry, operation in said:
                fold.apply(entry, operation)
            if (fold.cuts, fold.counting) == (cuts, counting):
                break
            cuts, counting = fold.cuts, fold.counting
        return cls(fold, reach, {space: genesis} | operations)

    def extended(self, entries: Iterable[Entry]) -> Roster:
        """Fold in what else was said; nothing is folded again for what can have no effect."""
        given = [entry for entry in entries if _is_of_roster(entry, self.space)]
        known = self._entries | {entry.hash: entry for entry in given}
        said = [
            (entry.author, operation) for entry in given if (operation := operation_of(entry)) is not None
        ]
        if any(self._reach.may_apply(author, operation) for author, operation in said):
            return Roster.of(self.space, known.values())
        return Roster(self._fold, self._reach, known)

    @property
    def space(self) -> bytes:
        """The id of the space."""
        return self._fold.space

    @property
    def label(self) -> str:
        """What people call the space."""
        return self._fold.label

    @property
    def kind(self) -> SpaceKind:
        """Whether it is a home, private (never replicated) or another space."""
        return self._fold.kind

    @property
    def owner(self) -> bytes:
        """The key that made the space, or the last that took its place."""
        return self._fold.owner

    @property
    def alias(self) -> bytes | None:
        """The space that this one is treated as one with."""
        return self._fold.alias

    @property
    def members(self) -> dict[bytes, Member]:
        """Everybody who is or was a member, by key, in the order of joining."""
        return {
            key: Member(
                name=standing.name,
                rights=standing.rights,
                owner=standing.seniority is not None,
                since_hlc=standing.since_hlc,
                removed=standing.removed,
            )
            for key, standing in self._fold.standings.items()
        }

    def knows(self, author: bytes) -> bool:
        """Tell whether this key is or was a member."""
        return author in self._fold.standings

    def may(self, author: bytes, right: str, hlc: int) -> bool:
        """Tell whether this key had a right at that reading of the clock."""
        standing = self._fold.standings.get(author)
        return standing is not None and right in standing.rights_at(hlc)

    def may_add(self, author: bytes, member: bytes) -> bool:
        """Tell whether an `Add` of this key by that author, or a change of its rights, would apply now."""
        return self._fold.may_add(author, member)

    def may_remove(self, author: bytes, member: bytes) -> bool:
        """Tell whether a `Remove` would apply now."""
        return self._fold.may_remove(author, member)

    def said_by(self, author: bytes) -> Said:
        """Name what a key has said about members, the oldest first, for its removal (`Remove.said`)."""
        said = [entry for entry in self._entries.values() if entry.author == author]
        said.sort(key=lambda entry: (entry.kind != EntryKind.GENESIS, entry.hlc, entry.hash))
        named: Said = {}
        for entry in said[:SAID_MAX]:
            named.setdefault(entry.inc, []).append(entry.hash)
        return named

    def promise_of(self, member: bytes) -> bytes | None:
        """Give the commitment of the key that may take a member's place, None where there is none."""
        standing = self._fold.standings.get(member)
        return None if standing is None else standing.promise

    def is_void(self, author: bytes, inc: int, seq: int) -> bool:
        """Tell whether an entry lies beyond the cut of its author's removal or revocation.

        All is void of who was never let in: it may have come while something void said that he was.  So may
        be what lies before the cut and leads to none of its `ends`, which only who has the feed can tell.
        """
        return not self.is_writer(author) or is_beyond(self._fold.cuts.get(author), inc, seq)

    def ends(self, author: bytes, inc: int) -> frozenset[bytes]:
        """Give where one feed ends of who was removed (`branches`); none where its numbers alone decide."""
        return self._fold.ends.get(author, {}).get(inc, frozenset())

    def all_ends(self) -> dict[FeedId, frozenset[bytes]]:
        """Give where the feeds end of all who were removed, as far as their removals name that."""
        return {
            FeedId(self.space, author, inc): ends
            for author, of_author in self._fold.ends.items()
            for inc, ends in of_author.items()
        }

    def standings(self) -> dict[bytes, bytes]:
        """Sum up each key's rights over time and its cut: equal bytes, equal answers about its entries.

        Given which of the feeds that `all_ends` names are decided, about which the bytes say nothing.
        """
        return {
            key: msgspec.msgpack.encode(
                (standing.history, standing.is_writer, self._spelled_cut(key), *self._spelled_ends(key))
            )
            for key, standing in self._fold.standings.items()
        }

    def is_writer(self, author: bytes) -> bool:
        """Tell whether this key may append now or might at any time before, or took another's place."""
        standing = self._fold.standings.get(author)
        return standing is not None and standing.is_writer

    def admits(self, entry: Entry) -> bool:
        """Tell whether an entry is taken: its author is a writer, or the promised key that takes over.

        Not whether it counts, which its clock decides (`may`).  Were a writer refused for what he said while
        he might not append, nobody who met the roster in another order would ever be level, and all that he
        says after his return would wait for what was refused.
        """
        return self.is_writer(entry.author) or self.takes_over(entry)

    def takes_over(self, entry: Entry) -> bool:
        """Tell whether this is the revocation of a key by the promised next one, which no cut keeps out.

        Whoever meets a removal of the next key first would else refuse what others have.
        """
        operation = operation_of(entry) if entry.kind == EntryKind.ROSTER and entry.seq == 1 else None
        return isinstance(operation, Revoke) and self._fold.is_promised(entry.author, operation.old)

    def _spelled_ends(self, key: bytes) -> list[list[tuple[int, list[bytes]]]]:
        """Spell the ends; nothing where there are none, as before there were any."""
        ends = self._fold.ends.get(key)
        return [sorted((inc, sorted(hashes)) for inc, hashes in ends.items())] if ends else []

    def _spelled_cut(self, key: bytes) -> list[tuple[int, int]] | None:
        cut = self._fold.cuts.get(key)
        return None if cut is None else sorted(cut.items())


def _is_of_roster(entry: Entry, space: bytes) -> bool:
    return entry.kind == EntryKind.ROSTER and entry.space == space
