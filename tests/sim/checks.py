"""What must hold once everybody has heard everything."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from crdt import have
from crdt.entries import Entry, EntryKind
from crdt.records import state_sha256
from crdt.roster import Roster
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import reduced
from tests.crdt.signers import SeedSigner
from tests.sim.disk import Disk
from tests.sim.failures import Violation
from tests.sim.forger import FORGED
from tests.sim.machine import Clock, Machine
from tests.sim.world import World

ROUNDS_MAX = 12
View = dict[str, str]
"""The hash of each record's state, by id."""


def bring_level(world: World) -> None:
    """Let every member ask every other until nobody lacks anything, or for long enough."""
    world.ledger.left_to(_reachable(world))
    for _ in range(ROUNDS_MAX):
        machines = _reachable(world)
        lacked = [
            world.exchange(machine, peer)
            for machine in machines
            for peer in machines
            if machine is not peer and world.may_talk(peer, machine)
        ]
        if not any(lacked):
            break


def _reachable(world: World) -> list[Machine]:
    return [machine for machine in world.machines.values() if world.may_talk(world.owner, machine)]


def members(world: World) -> list[Machine]:
    """Give the machines of those who are members in the end, as the owner knows it."""
    roster = _roster(world)
    return [
        machine
        for machine in world.machines.values()
        if (member := roster.members.get(machine.key)) is not None and not member.removed
    ]


def check(world: World) -> int:
    """Check every invariant; return how many feeds are forked."""
    among = members(world)
    _same_entries(world, among)
    _acknowledged(world, among)
    views = [_view(world, machine) for machine in among]
    for machine, view in zip(among, views, strict=True):
        if view != views[0]:
            raise Violation("same view", f"{machine.name}: {_difference(view, views[0])}")
        _no_forgery(world, machine)
        _no_theft(world, machine)
        _nothing_erased_by_mallory(world, machine)
        _clocks_rise(machine)
        _nothing_private(world, machine)
    _as_reduced_from_nothing(world, views[0])
    _as_fresh(world, views[0])
    return _forks(world)


def _same_entries(world: World, among: list[Machine]) -> None:
    found = {machine.name: _counted(world, machine) for machine in among}
    digests = {have.digest(world.space, have.have_of(machine.store.heads(world.space))) for machine in among}
    first = found[world.owner.name]
    for name, entries in found.items():
        if entries != first:
            raise Violation("same entries", f"{name} and the owner differ by {len(entries ^ first)}")
    if len(digests) > 1:
        raise Violation("same digest", "equal entries have different digests")


def _counted(world: World, machine: Machine) -> set[bytes]:
    """Give the entries of the space, void ones apart, without trust in heads and counts."""
    heads = machine.store.heads(world.space)
    return {entry.hash for head in heads for entry in machine.store.feed_entries(head.feed)}


def _acknowledged(world: World, among: list[Machine]) -> None:
    roster, everything = _roster(world), _everything(world, among)
    for _, entry in world.ledger.kept.values():
        if entry.home != world.space or everything.is_void(entry):
            continue
        if not roster.may(entry.author, "append", entry.hlc):
            continue
        for machine in among:
            if machine.store.entry(entry.hash) is None:
                raise Violation("what is acknowledged is everywhere", f"{machine.name} lacks {_named(entry)}")


def _everything(world: World, among: list[Machine]) -> MemoryFeeds:
    """Give all that anybody has of the space, void or not, and what is acknowledged."""
    of_all = [item.entry for machine in among for item in machine.store.entries()]
    of_all += [entry for _, entry in world.ledger.kept.values()]
    return MemoryFeeds(entry for entry in of_all if entry.home == world.space)


def _are_within(roster: Roster, machine: Machine, ends: frozenset[bytes]) -> bool:
    """Tell whether all ends are here and none is cut off: what is beyond a cut is no end."""
    found = [machine.store.entry(end) for end in ends]
    return all(
        one is not None and not roster.is_void(one.entry.author, one.entry.inc, one.entry.seq)
        for one in found
    )


def _no_theft(world: World, machine: Machine) -> None:
    """See that nothing counts of what a thief put beside a removed member's words."""
    roster, counted = _roster(world), _counted(world, machine)
    for sha256, stolen in world.thief.stolen.items():
        is_still_cut = roster.ends(stolen.feed.author, stolen.feed.inc) == stolen.ends
        if is_still_cut and sha256 in counted and _are_within(roster, machine, stolen.ends):
            raise Violation("a thief adds nothing", f"feed {stolen.feed.inc:016x} on {machine.name}")


def _view(world: World, machine: Machine) -> View:
    return {view.id: state_sha256(view.state).hex() for view in machine.views() if view.space == world.space}


def _no_forgery(world: World, machine: Machine) -> None:
    forged = world.forger.forged.keys() & machine.hashes()
    for sha256 in forged:
        raise Violation("no forgery is committed", world.forger.forged[sha256])
    for view in machine.views():
        state = view.state
        shown = [state.text or "", *map(str, state.fields.values()), *state.tags]
        shown += [conflict.text for conflict in state.conflicts]
        if any(FORGED in text for text in shown):
            raise Violation("no forgery is visible", f"record {view.id[:8]} on {machine.name}")


def _nothing_erased_by_mallory(world: World, machine: Machine) -> None:
    mallory = world.forger.mallory.public_key
    erasures = [item.entry for item in machine.store.entries(0, (EntryKind.ERASE,))]
    by_others = {entry.body for entry in erasures if entry.author != mallory}
    for sha256 in sorted(world.forger.erased - by_others):
        found = machine.store.entry(sha256)
        if found is not None and found.entry.body is None:
            raise Violation("nobody erases what is another's", f"{_named(found.entry)} on {machine.name}")


def _clocks_rise(machine: Machine) -> None:
    known = {item.entry.hash: item.entry for item in machine.store.entries()}
    for entry in known.values():
        before = known.get(entry.prev)
        if entry.seq > 1 and (before is None or before.hlc >= entry.hlc):
            raise Violation("chains are whole and clocks rise", _named(entry))


def _nothing_private(world: World, machine: Machine) -> None:
    for space, roster in machine.store.spaces().items():
        if space != world.space and roster.owner not in machine.keys:
            raise Violation("what is private stays", f"{machine.name} has the {roster.kind} of another")


def _as_reduced_from_nothing(world: World, view: View) -> None:
    """Compare with what the entries amount to when they are reduced all at once."""
    feeds = MemoryFeeds(
        item.entry
        for item in world.owner.store.entries()
        if item.entry.home == world.space and item.entry.kind != EntryKind.ERASE
    )
    states = {name: sha256 for (_, name), sha256 in reduced(feeds).items()}
    if states != view:
        raise Violation("the view is what its entries amount to", _difference(view, states))


def _as_fresh(world: World, view: View) -> None:
    """Feed all entries to a new node, in any order, and compare."""
    entries = [item.entry.raw for item in world.owner.store.entries() if item.entry.home == world.space]
    fresh = _fresh(world)
    world.random.shuffle(entries)
    for part in _parts(entries, world.random):
        fresh.receive(part)
    for _ in range(ROUNDS_MAX):
        # It had to drop some of what waited, and asks again.
        if not world.exchange(fresh, world.owner):
            break
    if _counted(world, fresh) != _counted(world, world.owner):
        raise Violation("a fresh node has the same entries", f"{len(fresh.store.pending())} wait")
    if _view(world, fresh) != view:
        raise Violation("a fresh node has the same view", _difference(_view(world, fresh), view))


def _fresh(world: World) -> Machine:
    clock = Clock(lambda: world.true_ms)
    disk = Disk(world.owner.disk.marker.parent, "fresh")
    fresh = Machine("fresh", SeedSigner("fresh"), disk, clock, lambda *_: None)
    fresh.start()
    return fresh


def _parts(raws: list[bytes], random: Random) -> Iterator[list[bytes]]:
    at = 0
    while at < len(raws):
        size = random.randint(2, 30)
        yield raws[at : at + size]
        at += size


def _forks(world: World) -> int:
    """See that no feed is forked but by who went on from the same disk twice, by Mallory and by the thief."""
    forks = world.owner.store.forks()
    may_fork = world.may_fork | {stolen.feed.inc for stolen in world.thief.stolen.values()}
    for feed in forks:
        if feed.inc not in may_fork and feed.author != world.forger.mallory.public_key:
            raise Violation("no feed is forked by itself", f"feed {feed.inc:016x}")
    return len(forks)


def _roster(world: World) -> Roster:
    return world.owner.store.roster(world.space)


def _difference(one: View, other: View) -> str:
    differing = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    return f"{len(differing)} records differ, {', '.join(key[:8] for key in differing[:3])}"


def _named(entry: Entry) -> str:
    return f"entry {entry.seq} of {entry.author.hex()[:8]}"
