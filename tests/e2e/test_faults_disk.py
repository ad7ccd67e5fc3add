"""A running node whose disk is full or fails, whose files may not grow, that may open no more of them.

What was acknowledged stays, what can't be kept is refused by name, reading goes on, nothing spins, and the
node recovers by itself once the cause is gone.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from crdt.errors import AtriumError, DiskFull, Unavailable
from node.ballast import SIZE_BYTES
from node.composition import open_local
from node.services.records import looking
from tests.crdt.mounts import can_mount, run_on_small_disk
from tests.e2e.killing import Client, Nursery, missing, settle, wait_until_it_answers
from tests.e2e.states import settings
from tests.kit import World, wait_until

needs_mounts = pytest.mark.skipif(not can_mount(), reason="this kernel gives no mount namespace")
RECOVERY_S_MAX = 10.0
BUSY_SHARE_MAX = 0.05
WATCHED_S = 3.0
WRITES_MAX = 2_000
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
IN_THE_NAMESPACE = (
    "from pathlib import Path; from {module} import {name}; {name}(Path(__import__('sys').argv[1]))"
)


class Machine:
    """A node with one client, and what the doctor says of it."""

    def __init__(self, world: World, nursery: Nursery) -> None:
        self.world = world
        self.nursery = nursery
        self.client = Client(world, 0, 1)
        self.process = 0

    def start(self) -> None:
        self.process = self.nursery.start(self.world)
        wait_until_it_answers(self.world)

    def kill(self) -> None:
        process, self.process = self.process, 0
        if process:
            os.kill(process, signal.SIGKILL)
            self.nursery.wait(process)

    def codes(self) -> set[str]:
        """Give what the doctor says."""
        checks = self.client.ask("doctor", {})["checks"]
        assert isinstance(checks, list)
        return {check["code"] for check in checks}

    def says(self, code: str) -> Callable[[], bool]:
        return lambda: code in self.codes()

    def logged(self) -> list[str]:
        """Give what the node logged; of lines that the full disk cut there is no end."""
        lines = (self.world.state / "node.log").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines if line.endswith("}")]

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            self.client.add()

    def add_until_refused(self) -> AtriumError:
        """Add entries until one is refused, and give why."""
        for _ in range(WRITES_MAX):
            try:
                self.client.add()
            except AtriumError as error:
                return error
        raise AssertionError("nothing was refused")

    def can_add(self) -> bool:
        """Tell whether one more entry is kept."""
        with suppress(Unavailable):
            self.client.add()
            return True
        return False

    def check_all(self, *clients: Client) -> None:
        """See that everything acknowledged can be read as it was, from the node and from the disk."""
        for identity, entry in self.client.book.entries.items():
            assert self.client.ask("memory.get", {"id": identity})["content"] == entry.content
        with closing(open_local(settings(self.world), writable=False)) as local, looking(local) as reader:
            assert reader is not None
            for client in (self.client, *clients):
                assert settle(reader, client.book) == []
                assert missing(reader, client.book, client.book.entries) == []

    def restart_and_check_all(self, *clients: Client) -> None:
        """Kill the node: what it had acknowledged is on the disk and not only in its memory."""
        self.kill()
        self.start()
        self.check_all(*clients)

    def busy_share(self) -> float:
        """Tell what share of a core the node uses while nobody asks anything."""
        before_s, began_s = self._spent_s(), time.monotonic()
        wait_until(lambda: time.monotonic() > began_s + WATCHED_S, "some time is over")
        return (self._spent_s() - before_s) / (time.monotonic() - began_s)

    def _spent_s(self) -> float:
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


@contextmanager
def running(base: Path, nursery: Nursery) -> Iterator[Machine]:
    """Run a node with a few entries below a directory."""
    machine = Machine(World(base), nursery)
    try:
        machine.start()
        machine.add(10)
        yield machine
    finally:
        machine.kill()


@pytest.fixture
def machine(quick_path: Path, nursery: Nursery) -> Iterator[Machine]:
    with running(quick_path, nursery) as made:
        yield made


def run_in_namespace(folder: Path, size: str, function: Callable[[Path], None]) -> None:
    """Run a function of this module in a process for which a directory is a disk of that size."""
    code = IN_THE_NAMESPACE.format(module=function.__module__, name=function.__name__)
    run_on_small_disk(folder, size, code)


def fill(folder: Path) -> Path:
    """Take all the space that is left."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        for chunk_bytes in (1 << 20, 1 << 12):
            grow(file.fileno(), chunk_bytes)
    return filler


def grow(descriptor: int, chunk_bytes: int) -> None:
    """Let a file grow until there is no room for one more chunk."""
    with suppress(OSError):
        while True:
            os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, chunk_bytes)


def status_of_a_write(machine: Machine) -> int:
    """Ask for a write over the socket itself and give the status of HTTP."""
    body = b'{"text": "one more"}'
    head = f"POST /call/memory.add HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(machine.world.state / "node.sock"))
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        return int(connection.recv(1 << 12).split()[1])


# Space


def on_a_full_disk(folder: Path) -> None:
    with closing(Nursery()) as nursery, running(folder, nursery) as machine:
        assert "store_ok" in machine.codes()
        filler = fill(folder)
        assert isinstance(machine.add_until_refused(), DiskFull)
        assert status_of_a_write(machine) == 507
        assert {"store_read_only", "disk_full"} <= machine.codes()
        machine.check_all()
        assert machine.client.ask("memory.list", {})["items"]
        assert machine.client.ask("search", {"query": "anchor", "everywhere": True, "directory": "/"})
        assert machine.client.ask("status", {})
        assert machine.busy_share() < BUSY_SHARE_MAX
        filler.unlink()
        wait_until(machine.says("store_ok"), "it recovers by itself", timeout_s=RECOVERY_S_MAX)
        assert "store_recovered" in machine.logged()
        machine.add(5)
        machine.restart_and_check_all()


@needs_mounts
def test_a_full_disk_refuses_writes_answers_and_recovers_by_itself(tmp_path: Path) -> None:
    run_in_namespace(tmp_path, "48m", on_a_full_disk)


def on_a_full_disk_with_a_reserve(folder: Path) -> None:
    with closing(Nursery()) as nursery, running(folder, nursery) as machine:
        wait_until(machine.says("ballast_kept"), "the reserve is taken")
        filler = fill(folder)
        assert isinstance(machine.add_until_refused(), DiskFull)
        wait_until(machine.can_add, "the reserve is given back", timeout_s=RECOVERY_S_MAX)
        assert not (folder / "state" / "ballast").exists()
        assert {"ballast_dropped", "store_ok", "disk_full"} <= machine.codes()
        with pytest.raises(DiskFull, match="256 MiB"):
            machine.client.capture()
        machine.add(20)
        log = folder / "state" / "canonical" / "feeds.db-wal"
        os.truncate(filler, filler.stat().st_size - SIZE_BYTES)
        assert log.stat().st_size < SIZE_BYTES, "checkpoints go on"
        filler.unlink()
        wait_until(machine.says("ballast_kept"), "the reserve is taken again", timeout_s=RECOVERY_S_MAX)
        machine.client.capture()
        assert [event for event in machine.logged() if event.startswith("ballast")] == [
            "ballast_restored", "ballast_dropped", "ballast_restored",
        ]  # fmt: skip
        machine.restart_and_check_all()


@needs_mounts
def test_the_reserve_lets_small_writes_go_on_where_the_disk_is_full(tmp_path: Path) -> None:
    run_in_namespace(tmp_path, "400m", on_a_full_disk_with_a_reserve)


# Limits of the process


def test_files_that_may_not_grow_are_told_and_nothing_spins(machine: Machine) -> None:
    log = machine.world.state / "canonical" / "feeds.db-wal"
    _, hard = resource.prlimit(machine.process, resource.RLIMIT_FSIZE)
    resource.prlimit(machine.process, resource.RLIMIT_FSIZE, (log.stat().st_size + 4096, hard))
    assert isinstance(machine.add_until_refused(), DiskFull)
    machine.check_all()
    assert machine.busy_share() < BUSY_SHARE_MAX
    resource.prlimit(machine.process, resource.RLIMIT_FSIZE, (hard, hard))
    wait_until(machine.says("store_ok"), "it recovers by itself", timeout_s=RECOVERY_S_MAX)
    machine.add(5)
    machine.restart_and_check_all()


def test_a_node_that_may_open_no_more_files_tells_and_recovers(machine: Machine) -> None:
    _, hard = resource.prlimit(machine.process, resource.RLIMIT_NOFILE)
    resource.prlimit(machine.process, resource.RLIMIT_NOFILE, (64, hard))
    with ExitStack() as held:
        for _ in range(100):
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(machine.world.state / "node.sock"))
        wait_until(lambda: open_files(machine) >= 60, "it has no more to open")
        assert machine.busy_share() < BUSY_SHARE_MAX
    wait_until(machine.can_add, "it recovers by itself", timeout_s=RECOVERY_S_MAX)
    machine.add(5)
    machine.restart_and_check_all()


def test_a_node_with_few_files_left_never_acknowledges_what_it_did_not_keep(machine: Machine) -> None:
    _, hard = resource.prlimit(machine.process, resource.RLIMIT_NOFILE)
    clients = [Client(machine.world, number, number, requests_max=30) for number in range(1, 13)]
    resource.prlimit(machine.process, resource.RLIMIT_NOFILE, (open_files(machine) + 12, hard))
    for client in clients:
        client.start()
    for client in clients:
        client.join(60)
        print(client.book.acknowledged, client.refusals)
        assert all(isinstance(error, Unavailable) for error in client.refusals), client.refusals
    resource.prlimit(machine.process, resource.RLIMIT_NOFILE, (hard, hard))
    wait_until(machine.can_add, "it recovers by itself", timeout_s=RECOVERY_S_MAX)
    machine.restart_and_check_all(*clients)


def open_files(machine: Machine) -> int:
    return len(list(Path(f"/proc/{machine.process}/fd").iterdir()))


# The disk itself


def test_a_failed_fsync_acknowledges_nothing_and_the_next_write_is_kept(machine: Machine) -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace here, which makes the kernel say EIO")
    calls = "fsync,fdatasync"
    once = ["-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO:when=1"]
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(machine.process), *once], stderr=subprocess.PIPE, text=True
    )
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    if "attached" not in line:
        pytest.skip(f"nobody may be traced here: {line}")
    before = len(machine.client.book.entries)
    error = machine.add_until_refused()
    assert error.code == "unavailable", error
    assert len(machine.client.book.entries) == before, "the first to wait for the disk is the first refused"
    wait_until(machine.can_add, "the next is kept", timeout_s=RECOVERY_S_MAX)
    tracer.terminate()
    tracer.communicate(timeout=20)
    assert "store_ok" in machine.codes()
    machine.restart_and_check_all()
