"""Kill a real node again and again while clients write: what was acknowledged is there, as it was.

One state directory lives through all rounds.  A kill falls at any moment: while clients write, while the node
still starts, while it brings level what the kill before left.  The seed is printed.
"""

from __future__ import annotations

import random
import shutil
import signal
import statistics
import subprocess
import threading
from contextlib import closing
from dataclasses import dataclass, field
from os import kill
from pathlib import Path

import pytest

from crdt.errors import Unavailable
from crdt.projection import Projector
from node.composition import Local, open_local
from node.services import records, verify
from node.services.backup_requests import VerifyRequest
from tests.e2e.killing import Client, Nursery, missing, said_in, settle, wait_until_it_answers
from tests.e2e.states import exported, settings, strays
from tests.kit import World, wait_until

pytestmark = pytest.mark.timeout(300)

ROUNDS = 50
CLIENTS = 6
EARLY_SHARE = 0.2
"""So many kills fall while the node starts."""
EARLY_S, LATE_S = 0.3, 0.5
"""How late at most a kill falls: after a start, and after the first answer."""
SAMPLE = 30
"""So many entries of earlier rounds are looked at in each."""
WHOLE_EVERY = 10
"""After so many rounds everything is looked at."""
RESTART_S_MAX = 2.0
SABOTAGED_ROUNDS_MAX = 10


@dataclass
class Rounds:
    """A node that is killed, its clients, and what became of what they were told."""

    world: World
    choose: random.Random
    nursery: Nursery
    clients: list[Client] = field(default_factory=list)
    restarts_s: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clients = [Client(self.world, number, self.choose.getrandbits(32)) for number in range(CLIENTS)]

    @property
    def acknowledged(self) -> int:
        """How many requests were answered so far."""
        return sum(client.book.acknowledged for client in self.clients)

    def run(self, rounds: int) -> None:
        """Kill so many times; every so often, and at the end, everything is looked at."""
        for number in range(1, rounds + 1):
            before = {identity for client in self.clients for identity in client.book.entries}
            self.kill_one()
            self.check(before, whole=number % WHOLE_EVERY == 0 or number == rounds)

    def kill_one(self) -> None:
        """Start a node, let clients write, and kill it at a moment by chance."""
        node = self.nursery.start(self.world)
        is_early = self.choose.random() < EARLY_SHARE
        if not is_early:
            self.restarts_s.append(wait_until_it_answers(self.world))
        acknowledged = self.acknowledged
        self.clients = [client.again(self.choose.getrandbits(32)) for client in self.clients]
        for client in self.clients:
            client.start()
        if not is_early:
            wait_until(lambda: self.acknowledged > acknowledged, "a client is answered")
        threading.Event().wait(self.choose.uniform(0, EARLY_S if is_early else LATE_S))
        kill(node, signal.SIGKILL)
        assert self.nursery.wait(node) == -signal.SIGKILL
        for client in self.clients:
            client.join(60)
            (end,) = client.refusals
            assert end.code in ("node_unreachable", "not_found"), (end.code, end.detail, end.hint)

    def check(self, before: set[str], *, whole: bool) -> None:
        """Start a node, look at everything or at what changed and a sample, and end it by a signal."""
        node = self.nursery.start(self.world)
        wait_until_it_answers(self.world)
        with closing(open_local(settings(self.world), writable=False)) as local:
            self._look(local, before, whole=whole)
            if whole:
                self.lost += damage(local)
        kill(node, signal.SIGKILL if self.choose.random() < 0.5 else signal.SIGTERM)
        assert self.nursery.wait(node) in (0, -signal.SIGKILL)

    def _look(self, local: Local, before: set[str], *, whole: bool) -> None:
        assert local.feeds.forks() == []
        if not any(client.book.acknowledged for client in self.clients):
            return
        with records.looking(local) as reader:
            assert reader is not None
            for client in self.clients:
                self.lost += settle(reader, client.book)
                old = sorted(client.book.entries.keys() & before)
                seen = old if whole else self.choose.sample(old, min(SAMPLE, len(old)))
                self.lost += missing(reader, client.book, {*seen, *(client.book.entries.keys() - before)})
        labels = {roster.label for roster in local.feeds.spaces().values()}
        self.lost += [label for client in self.clients for label in client.book.spaces if label not in labels]


def damage(local: Local) -> list[str]:
    """Verify every hash, signature and chain, and compare the projection with one made of nothing."""
    verified = verify.handle(local, VerifyRequest(), lambda _document: None)
    folder = local.paths.root.parent / "beside"
    with closing(Projector(folder / "projection.db", local.feeds)) as fresh:
        folder.mkdir()
        fresh.catch_up()
        expected = fresh.digest().spaces
    shutil.rmtree(folder)
    wait_until(lambda: digest_of(local) == expected, "the projection is as one made of nothing")
    return [] if verified["ok"] else [str(verified["damage"])]


def digest_of(local: Local) -> dict[str, str] | None:
    """Digest the projection as it is; None while the node still makes it."""
    try:
        with local.projection() as reader:
            return reader.digest().spaces
    except Unavailable:
        return None


@pytest.fixture
def choose() -> random.Random:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return random.Random(seed)  # noqa: S311


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


@pytest.fixture
def rounds(world: World, choose: random.Random, nursery: Nursery) -> Rounds:
    return Rounds(world, choose, nursery)


def test_what_was_acknowledged_survives_fifty_kills(rounds: Rounds) -> None:
    rounds.run(ROUNDS)
    assert rounds.lost == []
    print(f"{rounds.acknowledged} acknowledged, restarts {max(rounds.restarts_s):.2f} s at most")
    assert rounds.acknowledged > 3 * ROUNDS, "fewer writes prove nothing"
    assert statistics.median(rounds.restarts_s) < RESTART_S_MAX
    heard = set(said_in(exported(rounds.world)))
    assert not {turn for client in rounds.clients for turn in client.book.turns} - heard
    rounds.world.run("prepare-context").ok()
    assert strays(rounds.world.state) == []


def test_a_store_that_acknowledges_before_it_commits_is_caught(world: World, choose: random.Random) -> None:
    nursery = Nursery(sabotaged=True)
    with closing(nursery):
        broken = Rounds(world, choose, nursery)
        for _ in range(SABOTAGED_ROUNDS_MAX):
            broken.run(1)
            if broken.lost:
                return
    pytest.fail("nothing acknowledged was lost, so the rounds find nothing")


def test_a_killed_node_answers_within_two_seconds_of_being_started_anew(world: World) -> None:
    """The whole start, Python and its imports included, on the clock of the processor: others use it too."""
    for _ in range(3):
        node = subprocess.Popen(
            world.command("up", "--foreground"), env=world.environment({"ATRIUM_PORT": "0"}), cwd=world.work,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert node.stdout is not None
        assert "the node runs" in node.stdout.readline()
        spent_s = sum(map(int, Path(f"/proc/{node.pid}/stat").read_text().split()[13:15])) / 100
        node.kill()
        node.communicate(timeout=20)
        assert spent_s < RESTART_S_MAX
