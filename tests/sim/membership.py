"""What owners of the space say about its members while everything is in flight."""

from __future__ import annotations

from crdt.feed_tables import FeedHead
from crdt.keys import commitment
from crdt.roster import Label, Remove, Revoke, Right, RosterOperation
from tests.crdt.signers import ALL_RIGHTS, SeedSigner, add
from tests.sim.machine import Machine, heir_of
from tests.sim.world import World

_RIGHTS: tuple[tuple[Right, ...], ...] = (("read",), ("read", "append"), ALL_RIGHTS, ALL_RIGHTS)
_RIGHTS_OF_MALLORY = 2
"""How many of these: what a moderator says of others' records is no forgery."""


def operation(world: World, machine: Machine) -> RosterOperation:
    """Choose what a machine says next: other rights, a removal with its cut, a return, another name.

    It may be about who is senior to it, and then has no effect, or about itself.
    """
    random = world.random
    signers = {one.key: one.signer for one in world.machines.values()}
    signers |= {world.forger.mallory.public_key: world.forger.mallory}
    if machine.key == world.owner.key:
        signers.pop(machine.key)
    signer = random.choice(list(signers.values()))
    fate = random.random()
    if fate < 0.4:
        said = world.random.choice((None, machine.store.roster(world.space).said_by(signer.public_key)))
        return Remove(member=signer.public_key, cut=_cut(world, machine, signer), said=said)
    if fate < 0.95:
        return _addition(world, signer)
    return Label(label=f"team {fate}")


def may_succeed(world: World, machine: Machine) -> bool:
    """Tell whether a machine has a promised key to take; the owner's machines keep theirs."""
    roster = world.roster_at(machine)
    promise = commitment(heir_of(machine.signer.name).public_key)
    is_free = world.plan.has_changes and machine.key != world.owner.key
    return is_free and roster is not None and roster.promise_of(machine.key) == promise


def succession(world: World, machine: Machine) -> None:
    """Have a machine revoke its key by the promised next one, and go on with that."""
    old = machine.signer
    machine.stop()
    machine.succeed()
    world.start(machine)
    cut = {head.feed.inc: head.seq for head in _feeds_of(world, machine, old)}
    promise = commitment(heir_of(machine.signer.name).public_key)
    said = machine.store.roster(world.space).said_by(old.public_key)
    machine.say([world.roster_draft(Revoke(old=old.public_key, cut=cut, said=said, next=promise))])


def _addition(world: World, signer: SeedSigner) -> RosterOperation:
    is_mallory = signer is world.forger.mallory
    rights = world.random.choice(_RIGHTS[:_RIGHTS_OF_MALLORY] if is_mallory else _RIGHTS)
    becomes_owner = not is_mallory and world.random.random() < 0.2
    return add(signer, rights, owner=becomes_owner, following=heir_of(signer.name))


def _cut(world: World, machine: Machine, signer: SeedSigner) -> dict[int, int]:
    """Cut where a machine sees the member's feeds end, or a little earlier, or one feed altogether."""
    cut = {
        head.feed.inc: max(head.seq - world.random.choice((0, 0, 0, 1, 3)), 0)
        for head in _feeds_of(world, machine, signer)
    }
    if len(cut) > 1 and world.random.random() < 0.2:
        cut.popitem()
    return cut


def _feeds_of(world: World, machine: Machine, signer: SeedSigner) -> list[FeedHead]:
    heads = machine.store.heads(world.space)
    return [head for head in heads if head.feed.author == signer.public_key]
