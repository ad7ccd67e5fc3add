"""Put the promised key in the place of the present one, in the key's file and in every space.

The file comes first, and says whose place its key takes until all spaces have been told: whoever finds it so
goes on here.  There is thus no moment without a key, and none in which the old one signs what is void
already.  Telling the spaces is one write, all of them or none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crdt import roster
from crdt.departure import departure_of
from crdt.entries import Draft, EntryKind
from crdt.errors import AtriumError
from crdt.keys import commitment
from crdt.roster import Revoke, Roster

if TYPE_CHECKING:
    from crdt.store import FeedStore
    from mesh.identity import Identity
    from node.composition import Local


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """Spaces that know a key: where its heir can take its place, and where none was promised.

    Of the latter an owner has to remove the old key and add the new one.
    """

    inherited: list[Roster]
    unpromised: list[Roster]


def own_keys(local: Local) -> set[bytes]:
    """Name the keys of this node that its feeds know: a private space never comes from elsewhere."""
    try:
        rosters = local.feeds.spaces().values()
    except AtriumError:
        # Feeds that are absent or can't be read are told by whoever needs them.
        return set()
    return {roster.owner for roster in rosters if roster.kind == "private"}


def reach_of(feeds: FeedStore, old: bytes, heir: bytes) -> Reach:
    """Tell where a key is a member, and what its revocation by the heir would do there."""
    known = [found for found in feeds.spaces().values() if _is_member(found, old)]
    inherited = [found for found in known if found.promise_of(old) == commitment(heir)]
    return Reach(inherited=inherited, unpromised=[found for found in known if found not in inherited])


def settle(feeds: FeedStore, heir: Identity, path: Path) -> Identity:
    """Tell the spaces that this key took another's place, then take that out of its file.

    What the old key said counts as far as it is here.  Done again after a crash it says nothing twice.
    `feeds` must sign with `heir`, and the caller hold the state's lock.
    """
    from mesh import identity

    if heir.replaces is None:
        return heir
    inherited = reach_of(feeds, heir.replaces, heir.public_key).inherited
    if inherited:
        # A revocation has to be the first entry of a feed.
        feeds.renew()
        feeds.write([_revocation(feeds, found, heir.replaces, heir.next_commitment) for found in inherited])
    settled = heir.settled()
    identity.replace(path, settled)
    return settled


def _revocation(feeds: FeedStore, found: Roster, old: bytes, next_commitment: bytes) -> Draft:
    cut, ends = departure_of(feeds, found.space, old)
    revoke = Revoke(old=old, cut=cut, said=found.said_by(old), ends=ends, next=next_commitment)
    body = roster.encode(revoke)
    return Draft(space=found.space, kind=EntryKind.ROSTER, body=body)


def _is_member(found: Roster, key: bytes) -> bool:
    member = found.members.get(key)
    return member is not None and not member.removed
