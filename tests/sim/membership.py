"""What owners of the space say about its members while everything is in flight."""

from __future__ import annotations

from crdt.departure import departure_of
from crdt.keys import commitment
from crdt.roster import Cut, Ends, Label, Remove, Revoke, Right, RosterOperation
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
    fate = random.random()
    if fate < 0.5:
        speakers = _speakers(world, machine) if random.random() < 0.7 else []
        if speakers:
            speaker = random.choice(speakers)
            world.exchange(machine, speaker)
            signer = speaker.signer
        else:
            signer = random.choice(list(signers.values()))
        said = world.random.choice((None, machine.store.roster(world.space).said_by(signer.public_key)))
        cut, ends = _departure(world, machine, signer)
        return Remove(member=signer.public_key, cut=cut, said=said, ends=ends)
    if fate < 0.95:
        return _addition(world, random.choice(list(signers.values())))
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
    cut, ends = departure_of(machine.store, world.space, old.public_key)
    promise = commitment(heir_of(machine.signer.name).public_key)
    said = machine.store.roster(world.space).said_by(old.public_key)
    machine.say([world.roster_draft(Revoke(old=old.public_key, cut=cut, said=said, ends=ends, next=promise))])


def _addition(world: World, signer: SeedSigner) -> RosterOperation:
    is_mallory = signer is world.forger.mallory
    rights = world.random.choice(_RIGHTS[:_RIGHTS_OF_MALLORY] if is_mallory else _RIGHTS)
    becomes_owner = not is_mallory and world.random.random() < 0.2
    return add(signer, rights, owner=becomes_owner, following=heir_of(signer.name))


def _speakers(world: World, machine: Machine) -> list[Machine]:
    """Give those whom a machine can hear out before it removes them; the others are mostly cut to nothing."""
    others = [peer for peer in world.running() if peer.key not in (machine.key, world.owner.key)]
    return [
        peer
        for peer in others
        if world.may_talk(machine, peer)
        and any(head.feed.author == peer.key for head in peer.store.heads(world.space))
    ]


def _departure(world: World, machine: Machine, signer: SeedSigner) -> tuple[Cut, Ends | None]:
    """Cut where a machine sees the member's feeds end, or a little earlier, or one feed altogether.

    Of what is cut earlier, and of forks now and then, not all ends are named; an older version names none.
    """
    cut, ends = departure_of(machine.store, world.space, signer.public_key)
    for inc in sorted(cut):
        earlier = world.random.choice((0, 0, 0, 1, 3))
        cut[inc] = max(cut[inc] - earlier, 0)
        if earlier or world.random.random() < 0.1:
            ends[inc] = ends.get(inc, [])[: world.random.randint(0, 1)]
    if len(cut) > 1 and world.random.random() < 0.2:
        cut.pop(max(cut))
    return cut, ends if world.random.random() < 0.8 else None
