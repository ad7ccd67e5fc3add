"""One schedule: a world that does random things for a while, is healed, and must be as it should."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest import mock

from tests.sim import checks, membership, wire
from tests.sim.disk import DiskFault
from tests.sim.machine import Machine
from tests.sim.world import HOUR_MS, MINUTE_MS, Plan, Theme, World
from tests.sim.writer import Moment

STEPS = 100
SMALL = {
    "crdt.pages.PAGE_ENTRIES_MAX": 4,
    "crdt.pages.PAGE_BYTES_MAX": 4_000,
    "crdt.feed_writer.RETRY_S": 0.0,
    "crdt.store.PAGE_ENTRIES": 20,
    "crdt.store.RECEIVE_ENTRIES_MAX": 7,
    "crdt.pending.ENTRIES_OF_AUTHOR_MAX": 12,
    "crdt.projection_follow.BATCH_ENTRIES": 10,
    "crdt.projection_follow.LOOKUP_PLACES": 5,
    "crdt.projection_ledger.STALE_BATCH": 3,
}
"""Limits of the real code, made small, so that their borders are met all the time."""
WEIGHTS = {
    "write": 16,
    "write_several": 4,
    "write_at_once": 1,
    "write_own": 0.7,
    "commit": 3,
    "offer": 12,
    "deliver": 16,
    "wait": 5,
    "fail": 1,
    "disk_error": 0.6,
    "start": 6,
    "restart": 1.2,
    "back_up": 1.2,
    "restore": 0.8,
    "clone": 0.4,
    "part": 1.2,
    "rejoin": 1.2,
    "change_members": 1.5,
    "succeed": 0.2,
    "forge": 5,
    "steal": 2,
    "set_clock": 0.7,
    "retry": 1,
}
"""How often each thing happens."""
THEMES: dict[Theme, dict[str, float]] = {
    Theme.PLAIN: {},
    Theme.CRASHES: {"fail": 4, "restart": 3, "start": 2},
    Theme.TWINS: {"back_up": 4, "restore": 5, "clone": 6, "write_at_once": 4, "fail": 0.3},
    Theme.TIES: {"write_at_once": 8, "forge": 0.3},
    Theme.MEMBERS: {"change_members": 4, "succeed": 2},
    Theme.APART: {"part": 5, "rejoin": 2, "write_at_once": 3},
    Theme.FORGERY: {"forge": 4},
    Theme.THEFT: {"steal": 15, "change_members": 6, "write": 1.5, "deliver": 2, "offer": 2, "forge": 0.2},
}
"""What a theme changes about that."""
CRASH_RATE = 0.02
BACKUPS_MAX = 6
DELIVERED_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a schedule consisted of."""

    seed: int
    steps: int
    entries: int
    forks: int
    counts: dict[str, int]


class _Secrets:
    """Random numbers for incarnations and openings that come from the seed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def randbits(self, bits: int) -> int:
        return self._random.getrandbits(bits)

    def token_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


@contextmanager
def replayable(random: Random) -> Iterator[Path]:
    """Take chance from the seed and shrink limits; gives a folder for what must be files."""
    with ExitStack() as stack:
        for name, limit in SMALL.items():
            stack.enter_context(mock.patch(name, limit))
        for module in ("incarnation", "feed_commit"):
            stack.enter_context(mock.patch(f"crdt.{module}.secrets", _Secrets(random)))
        # The power of these machines fails between steps and not within a system call.
        stack.enter_context(mock.patch("os.fsync", return_value=None))
        yield Path(stack.enter_context(tempfile.TemporaryDirectory()))


def play(seed: int, steps: int = STEPS) -> Report:
    """Play one schedule; raises `Violation`, with the seed in its notes, where an invariant does not hold."""
    random = Random(seed)  # noqa: S311 - a replayable choice
    try:
        with replayable(random) as folder:
            world = World(random, folder, Plan.draw(random))
            schedule = Schedule(world)
            for _ in range(steps):
                schedule.step()
            schedule.heal()
            forks = checks.check(world)
            return Report(
                seed=seed,
                steps=steps,
                entries=len(world.owner.hashes()),
                forks=forks,
                counts=world.counts,
            )
    except BaseException as error:
        error.add_note(f"tests.sim.schedule.play({seed}) replays this schedule")
        raise


class Schedule:
    """Chooses what happens next."""

    def __init__(self, world: World) -> None:
        self._world, self._random = world, world.random
        often = THEMES[world.plan.theme]
        self._acts: list[Callable[[], None]] = [getattr(self, f"_{name}") for name in WEIGHTS]
        self._weights = [weight * often.get(name, 1) for name, weight in WEIGHTS.items()]
        self._crash_rate = CRASH_RATE * often.get("fail", 1)

    def step(self) -> None:
        """Let one thing happen."""
        act = self._random.choices(self._acts, self._weights)[0]
        self._world.true_ms += self._random.choice((0, 1, 40, 900))
        act()

    def heal(self) -> None:
        """Switch everything on, let all clocks come to what was early, and bring everybody level."""
        world = self._world
        world.network.part(())
        if self._random.random() < 0.5:
            world.network.clear()
        for machine in world.machines.values():
            if not machine.is_on:
                world.start(machine)
            machine.commit()
        world.true_ms += 2 * HOUR_MS
        for machine in world.machines.values():
            machine.retry()
        checks.bring_level(world)

    def _any(self) -> Machine | None:
        running = self._world.running()
        return self._random.choice(running) if running else None

    def _failure(self) -> Moment | None:
        if self._random.random() >= self._crash_rate:
            return None
        self._world.count("crashes")
        return self._random.choice(tuple(Moment))

    def _write(self) -> None:
        self._say(1)
        self._commit()

    def _write_several(self) -> None:
        self._say(self._random.randint(2, 4))

    def _say(self, count: int) -> None:
        machine = self._any()
        if machine is None or self._world.roster_at(machine) is None:
            return
        for _ in range(count):
            drafts = self._world.users[machine.name].drafts()
            if drafts:
                machine.say(drafts)
                self._world.count("writes")

    def _write_at_once(self) -> None:
        """Have several change one record at the beginning of the same minute."""
        running = [machine for machine in self._world.running() if self._world.roster_at(machine) is not None]
        record = self._world.users[self._random.choice(running).name].record() if running else None
        if record is None:
            return
        self._world.true_ms += MINUTE_MS - self._world.true_ms % MINUTE_MS
        about_text = self._random.random() < 0.5
        for machine in self._random.sample(running, min(len(running), 3)):
            drafts = self._world.users[machine.name].rival_drafts(record, about_text=about_text)
            if drafts:
                machine.say(drafts)
                self._world.count("writes")
        self._commit()

    def _write_own(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.say(self._world.users[machine.name].own_drafts())

    def _commit(self) -> None:
        for machine in self._world.running():
            machine.commit(self._failure())

    def _offer(self) -> None:
        machine = self._any()
        if machine is not None:
            peers = [peer for peer in self._world.machines.values() if peer is not machine]
            self._world.offer(machine, self._random.choice(peers))

    def _deliver(self) -> None:
        for _ in range(self._random.randint(1, DELIVERED_MAX)):
            self._deliver_one()

    def _deliver_one(self) -> None:
        sent = self._world.network.next()
        if sent is None:
            return
        machine = self._world.machine_named(sent.receiver)
        message = wire.decode(sent.data)
        if machine is not None and message is not None:
            self._world.handle(machine, sent.sender, message, self._failure())

    def _wait(self) -> None:
        self._world.true_ms += self._random.choice((1_000, 60_000, 600_000))

    def _fail(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.fail()
            self._world.count("crashes")

    def _disk_error(self) -> None:
        machine = self._any()
        if machine is not None and self._world.roster_at(machine) is not None:
            machine.commit()
            machine.say(self._world.users[machine.name].drafts())
            machine.running.connection.fault = self._random.choice(tuple(DiskFault))
            machine.commit()
            self._world.count("disk errors")

    def _start(self) -> None:
        stopped = [machine for machine in self._world.machines.values() if not machine.is_on]
        if stopped:
            self._world.start(self._random.choice(stopped))

    def _restart(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.stop()
            self._world.count("clean restarts")
            self._world.start(machine)

    def _back_up(self) -> None:
        machine = self._any()
        if machine is None:
            return
        is_cold = self._random.random() < 0.5
        if is_cold:
            machine.stop()
        self._world.backups.append(machine.image())
        del self._world.backups[:-BACKUPS_MAX]
        if is_cold:
            self._world.start(machine)

    def _restore(self) -> None:
        if self._world.backups:
            image = self._random.choice(self._world.backups)
            how = self._random.choice(("rolled back", "copied", "canonical"))
            self._world.restore(self._world.machines[image.machine], image, how)

    def _clone(self) -> None:
        machine = self._any()
        if machine is None or len(self._world.machines) > self._world.plan.machines + 1:
            return
        machine.stop()
        self._world.clone(machine, self._random.choice(("rolled back", "copied")))
        self._world.start(machine)

    def _part(self) -> None:
        names = list(self._world.machines)
        self._world.network.part(self._random.sample(names, self._random.randint(1, len(names) - 1)))

    def _rejoin(self) -> None:
        self._world.network.part(())

    def _change_members(self) -> None:
        owners = [machine for machine in self._world.running() if self._world.is_owner(machine)]
        if owners and self._world.plan.has_changes:
            machine = self._random.choice(owners)
            machine.say([self._world.roster_draft(membership.operation(self._world, machine))])
            self._world.count("roster changes")

    def _succeed(self) -> None:
        machine = self._any()
        if machine is not None and membership.may_succeed(self._world, machine):
            membership.succession(self._world, machine)
            self._world.count("successions")

    def _forge(self) -> None:
        message, machine = self._world.forger.message(), self._any()
        if message is not None and machine is not None:
            self._world.network.send("forger", machine.name, wire.encode(message))
            self._world.count("forgeries")

    def _steal(self) -> None:
        owner = self._world.owner
        roster = self._world.roster_at(owner) if owner.is_on else None
        message = None if roster is None else self._world.thief.message(roster)
        if message is not None:
            self._world.network.send("thief", self._world.whom_to_deceive().name, wire.encode(message))
            self._world.count("thefts")

    def _set_clock(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.clock.skew_ms = self._random.randint(*self._world.plan.skew_ms)

    def _retry(self) -> None:
        machine = self._any()
        if machine is not None:
            machine.retry()
