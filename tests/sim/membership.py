"""What the owner of the space says about its members while everything is in flight."""

from __future__ import annotations

from crdt.entries import FeedId
from crdt.roster import Label, Remove, Right, RosterOperation
from tests.crdt.signers import ALL_RIGHTS, SeedSigner, add
from tests.sim.world import World

_RIGHTS: tuple[tuple[Right, ...], ...] = (("read",), ("read", "append"), ALL_RIGHTS, ALL_RIGHTS)
_RIGHTS_OF_MALLORY = 2
"""How many of these: what a moderator says of others' records is no forgery."""


def operation(world: World) -> RosterOperation:
    """Choose the next operation: other rights, a removal with its cut, a return, another name."""
    random = world.random
    signers = {machine.key: machine.signer for machine in world.machines.values()}
    signers |= {world.forger.mallory.public_key: world.forger.mallory}
    signers.pop(world.owner.key)
    signer = random.choice(list(signers.values()))
    fate = random.random()
    if fate < 0.45:
        return Remove(member=signer.public_key, cut=_cut(world, signer))
    if fate < 0.9:
        is_mallory = signer is world.forger.mallory
        return add(signer, random.choice(_RIGHTS[:_RIGHTS_OF_MALLORY] if is_mallory else _RIGHTS))
    return Label(label=f"team {fate}")


def _cut(world: World, signer: SeedSigner) -> dict[int, int]:
    """Cut where the owner sees the member's feeds end, or a little earlier, or one feed altogether."""
    cut = {
        head.feed.inc: max(head.seq - world.random.choice((0, 0, 0, 1, 3)), 0)
        for head in world.owner.store.heads(world.space)
        if head.feed == FeedId(world.space, signer.public_key, head.feed.inc)
    }
    if len(cut) > 1 and world.random.random() < 0.2:
        cut.popitem()
    return cut
