"""All machines of one schedule with what joins them: true time, network, space, and what was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random

from crdt.entries import ZERO, Draft, Entry, EntryKind
from crdt.errors import EntryRefused
from crdt.feed_tables import Committed
from crdt.keys import commitment
from crdt.roster import Genesis, Roster, RosterOperation, encode
from tests.crdt.signers import ALL_RIGHTS, START_MS, SeedSigner, add
from tests.sim import wire
from tests.sim.disk import Disk, Image
from tests.sim.failures import Violation
from tests.sim.forger import Forger
from tests.sim.machine import Clock, Machine, heir_of
from tests.sim.network import Network
from tests.sim.thief import Thief
from tests.sim.workload import User
from tests.sim.writer import Moment

NAMES = ("ann", "ben", "cat", "dan", "eve", "fay")
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
SKEWS_MS = ((0, 0), (0, 0), (-2_000, 2_000), (-HOUR_MS, 4 * MINUTE_MS))


class Theme(StrEnum):
    """What a schedule has more of than others."""

    PLAIN = "a little of everything"
    CRASHES = "crashes"
    TWINS = "disks that are copied and rolled back"
    TIES = "changes of one record at one reading of the clock"
    MEMBERS = "changes of membership"
    APART = "partitions"
    FORGERY = "forgery"
    THEFT = "removed members' keys in a thief's hands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What kind of schedule it is; all of it is drawn from the seed.

    `has_changes` says that members come, go and change.  Then only the owner erases: an erasure that some
    nodes have carried out before they hear that its author might not can't be taken back there.
    """

    theme: Theme
    machines: int
    has_changes: bool
    grain_ms: int
    skew_ms: tuple[int, int]
    loss: float
    repetition: float
    damage: float

    @classmethod
    def draw(cls, random: Random) -> Plan:
        """Draw one, with what is rare in the world made common."""
        theme = random.choice(tuple(Theme))
        is_exact = theme is Theme.TIES
        return cls(
            theme=theme,
            machines=random.randint(3, 6),
            has_changes=theme in (Theme.MEMBERS, Theme.THEFT) or random.random() < 0.5,
            grain_ms=MINUTE_MS if is_exact else random.choice((1, 1, 1_000, MINUTE_MS)),
            skew_ms=(0, 0) if is_exact else random.choice(SKEWS_MS),
            loss=random.choice((0.0, 0.1, 0.4)),
            repetition=random.choice((0.0, 0.1, 0.4)),
            damage=random.choice((0.0, 0.0, 0.05)),
        )


@dataclass(slots=True)
class Ledger:
    """What users were told is kept, by hash, with the machine that said so."""

    kept: dict[bytes, tuple[str, Entry]] = field(default_factory=dict)

    def acknowledge(self, machine: Machine, committed: Sequence[Committed]) -> None:
        """Note it."""
        self.kept.update({item.entry.hash: (machine.name, item.entry) for item in committed})

    def of(self, machine: Machine) -> list[Entry]:
        """Give what one machine confirmed, and must have."""
        return [entry for said_by, entry in self.kept.values() if said_by == machine.name]

    def restored(self, machine: Machine, somewhere: set[bytes]) -> None:
        """Expect no longer what is nowhere, nor of this machine what it lost and others still have."""
        here = machine.hashes()
        for sha256, (said_by, entry) in list(self.kept.items()):
            if sha256 not in somewhere:
                del self.kept[sha256]
            elif said_by == machine.name and sha256 not in here:
                self.kept[sha256] = ("", entry)

    def left_to(self, machines: Sequence[Machine]) -> None:
        """Expect no longer what none of these has of what a machine lost, or of who is not among them."""
        among = {sha256 for machine in machines for sha256 in machine.hashes()}
        keys = {machine.key for machine in machines}
        for sha256, (said_by, entry) in list(self.kept.items()):
            is_out_of_reach = not said_by or entry.author not in keys
            if is_out_of_reach and sha256 not in among:
                del self.kept[sha256]


class World:
    """A space that the first machine owns and the others are members of, and Mallory, who has no machine."""

    def __init__(self, random: Random, folder: Path, plan: Plan) -> None:
        self.random, self._folder, self.plan = random, folder, plan
        self.true_ms = START_MS
        self.network = Network(random=random, loss=plan.loss, repetition=plan.repetition, damage=plan.damage)
        self.ledger = Ledger()
        self.machines: dict[str, Machine] = {}
        self.users: dict[str, User] = {}
        self.backups: list[Image] = []
        self.may_fork: set[int] = set()
        self.counts: dict[str, int] = {}
        signers = [SeedSigner(name) for name in NAMES[: plan.machines]]
        for signer in signers:
            self.machines[signer.name] = self._machine(signer.name, signer)
            self.machines[signer.name].start()
        self.space = self._found(signers)
        self.forger = Forger(random, self.space, self._known, lambda: self.true_ms)
        heirs = [heir_of(signer.name) for signer in signers]
        self.thief = Thief(random, self._known, {one.public_key: one for one in (*signers, *heirs)})
        self.owner.say([self.roster_draft(add(self.forger.mallory, ("read", "append")))])
        self.owner.commit()
        for machine in self.machines.values():
            self.users[machine.name] = self._user(machine)
            if machine is not self.owner and self.may_talk(self.owner, machine) and random.random() < 0.8:
                self.exchange(machine, self.owner)

    @property
    def owner(self) -> Machine:
        """The machine that made the space, whose ownership nobody can end."""
        return next(iter(self.machines.values()))

    def running(self) -> list[Machine]:
        """Give the machines that are on."""
        return [machine for machine in self.machines.values() if machine.is_on]

    def count(self, what: str) -> None:
        """Count something for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def roster_draft(self, operation: RosterOperation) -> Draft:
        """Word what is said about members."""
        return Draft(space=self.space, kind=EntryKind.ROSTER, body=encode(operation))

    def roster_at(self, machine: Machine) -> Roster | None:
        """Give the space's roster as a machine knows it."""
        return machine.store.spaces().get(self.space)

    def may_talk(self, machine: Machine, peer: Machine) -> bool:
        """Tell whether a machine would talk to a peer: a member that it knows of, or who may follow one."""
        roster = self.roster_at(machine)
        if roster is None:
            return False
        named = [key for key, member in roster.members.items() if not member.removed]
        return peer.key in named or commitment(peer.key) in map(roster.promise_of, named)

    def whom_to_deceive(self) -> Machine:
        """Give a machine that is on, if possible one that lacks an end of what the thief continued last."""
        *_, last = self.thief.stolen.values()
        running = self.running()
        return self.random.choice([one for one in running if not last.ends <= one.hashes()] or running)

    def is_owner(self, machine: Machine) -> bool:
        """Tell whether a machine owns the space, as far as it knows."""
        roster = self.roster_at(machine)
        member = None if roster is None else roster.members.get(machine.key)
        return member is not None and member.owner

    def offer(self, machine: Machine, peer: Machine) -> None:
        """Have a machine tell a peer what it has."""
        if self.may_talk(machine, peer):
            self.network.send(machine.name, peer.name, wire.encode(wire.offered(machine.store, self.space)))

    def handle(self, machine: Machine, sender: str, message: wire.Message, failure: Moment | None) -> None:
        """Let a machine do with a message what a node does."""
        peer = self.machines.get(sender)
        try:
            for answer in self._handled(machine, peer, message, failure):
                self.network.send(machine.name, sender, wire.encode(answer))
        except EntryRefused:
            self.count("refused messages")

    def exchange(self, machine: Machine, peer: Machine) -> bool:
        """Bring a machine level with a peer over a perfect link; tell whether it lacked anything."""
        try:
            want = wire.wanted(machine.store, wire.offered(peer.store, self.space))
            parts = () if want is None else wire.answers(peer.store, want)
            raws = [raw for part in parts for raw in wire.raws_of(machine.store, part)]
        except EntryRefused as refusal:
            raise Violation("honest nodes understand each other", refusal.detail) from refusal
        machine.receive(raws)
        return want is not None

    def restore(self, machine: Machine, image: Image, how: str) -> None:
        """Put a backup in the place of a machine's disk, and expect no more than can still be anywhere."""
        if machine.is_on:
            machine.fail()
        put = {
            "rolled back": machine.disk.roll_back,
            "copied": machine.disk.copy_in,
            "canonical": machine.disk.copy_canonical,
        }
        put[how](image)
        if how == "rolled back":
            self.may_fork |= image.incarnations()
        machine.start()
        somewhere = {sha256 for other in self.machines.values() for sha256 in other.hashes()}
        self.ledger.restored(machine, somewhere)
        self.count("restores")

    def clone(self, machine: Machine, how: str) -> None:
        """Start a second machine from a copy of a disk; both go on with the same key."""
        image = machine.image()
        name = f"{machine.name}{len(self.machines)}"
        twin = self.machines[name] = self._machine(name, machine.signer)
        if how == "rolled back":
            twin.disk.roll_back(image)
            self.may_fork |= image.incarnations()
        else:
            twin.disk.copy_in(image)
        twin.keys |= machine.keys
        twin.start()
        self.users[name] = self._user(twin)
        self.count("clones")

    def start(self, machine: Machine) -> None:
        """Switch a machine on, and see that it has what it acknowledged."""
        machine.start()
        here = machine.hashes()
        lost = [entry for entry in self.ledger.of(machine) if entry.hash not in here]
        if lost:
            raise Violation("what is acknowledged survives a crash", f"{machine.name} lost {len(lost)}")

    def machine_named(self, name: str) -> Machine | None:
        """Find a machine that is on."""
        machine = self.machines.get(name)
        return machine if machine is not None and machine.is_on else None

    def _machine(self, name: str, signer: SeedSigner) -> Machine:
        clock = Clock(lambda: self.true_ms)
        clock.grain_ms = self.plan.grain_ms
        clock.skew_ms = self.random.randint(*self.plan.skew_ms)
        return Machine(name, signer, Disk(self._folder, name), clock, self.ledger.acknowledge)

    def _user(self, machine: Machine) -> User:
        may_erase = not self.plan.has_changes or machine.key == self.owner.key
        return User(self.random, machine, self.space, may_erase=may_erase)

    def _found(self, signers: Sequence[SeedSigner]) -> bytes:
        """Make the space and its members: some moderate, some only append, and some come later."""
        first = Genesis(label="team", kind="space", name=signers[0].name, made_ms=self.true_ms)
        draft = Draft(space=ZERO, kind=EntryKind.GENESIS, body=encode(first))
        space = self.owner.store.write([draft])[0].entry.home
        for signer in signers[1:]:
            if self.plan.has_changes and self.random.random() < 0.15:
                continue
            rights = ALL_RIGHTS if self.random.random() < 0.6 else ALL_RIGHTS[:2]
            said = add(signer, rights, following=heir_of(signer.name))
            self.owner.store.write([Draft(space=space, kind=EntryKind.ROSTER, body=encode(said))])
        return space

    def _known(self) -> list[Entry]:
        """Give what some running machine has of the space, in an order that a replay repeats."""
        running = self.running()
        if not running:
            return []
        store = self.random.choice(running).store
        return [entry for head in store.heads(self.space) for entry in store.feed_entries(head.feed)]

    def _handled(
        self, machine: Machine, peer: Machine | None, message: wire.Message, failure: Moment | None
    ) -> Iterator[wire.Message]:
        match message:
            case wire.Have(space=space):
                if space == self.space and (want := self._wanted(machine, message)) is not None:
                    yield want
            case wire.Want(space=space):
                if space == self.space and peer is not None and self.may_talk(machine, peer):
                    yield from wire.answers(machine.store, message)
            case wire.PageOf() | wire.Loose():
                self.take(machine, message, failure)

    def take(self, machine: Machine, part: wire.PageOf | wire.Loose, failure: Moment | None = None) -> None:
        """Let a machine take entries in; a page that nobody made must not pass."""
        raws = wire.raws_of(machine.store, part)
        if part in self.forger.forged_pages:
            raise Violation("no forged page is opened", f"page {part.number} of {part.author.hex()[:12]}")
        welcome = [raw for raw in raws if wire.home_of(raw) in (None, self.space)]
        machine.receive(welcome, failure)

    def _wanted(self, machine: Machine, offer: wire.Have) -> wire.Want | None:
        want = wire.wanted(machine.store, offer)
        if want is not None and any(one.author == machine.key for one in want.feeds):
            # Somebody holds entries of this node's that are not here: it must not contradict them.
            machine.store.renew()
        return want
