"""Bits that flip in pages of the store, in its log and in segments: told, never served as something else."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from crdt.errors import AtriumError, Damaged
from crdt.projection import Projector
from crdt.segments import SegmentDirectory
from node.composition import Local, open_local
from node.services import export, memory, verify
from node.services.backup_requests import VerifyRequest
from node.services.memory_requests import MemoryAdd, MemoryTag
from node.services.requests import ExportRequest, PrepareRequest
from tests.e2e.killing import Client, Nursery, wait_until_it_answers
from tests.e2e.states import settings
from tests.e2e.test_crash_points import captured, run
from tests.kit import World, wait_until

FLIPS = 120
LOG_FLIPS = 80
SEGMENT_FLIPS = 60
Found = dict[bytes, bytes]


@pytest.fixture
def choose() -> random.Random:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return random.Random(seed)  # noqa: S311


@pytest.fixture
def world(quick_path: Path) -> World:
    """Make a state directory with a segment, fragments that wait, and memory."""
    made = World(quick_path)
    captured(made)
    with closing(open_local(settings(made), writable=True)) as local:
        assert local.archive.seal()
    for number in range(12):
        entry = run(made, "memory.add", MemoryAdd(text=f"entry {number}, " + "tide " * 5_000))
        run(made, "memory.tag", MemoryTag(id=str(entry["id"]), add=("tide",)))
    shutil.rmtree(made.state / "derived")
    return made


@pytest.fixture
def other(world: World) -> World:
    """Give a world whose state the test lays out."""
    (world.base / "other").mkdir()
    return World(world.base / "other")


def lay_out(world: World, other: World) -> None:
    """Copy what is canonical of one world into another."""
    shutil.rmtree(other.state, ignore_errors=True)
    shutil.copytree(world.state / "canonical", other.state / "canonical")


def flip(path: Path, choose: random.Random) -> int:
    """Flip one bit and tell in which byte."""
    place = choose.randrange(path.stat().st_size)
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << choose.randrange(8)]))
    return place


class Look:
    """What a state directory serves, and what it complains of."""

    def __init__(self, world: World) -> None:
        self.entries: Found = {}
        self.fragments: Found = {}
        self.digest = ""
        self.complaints: list[str] = []
        try:
            with closing(open_local(settings(world), writable=False)) as local:
                for step in (self._read_entries, self._read_fragments, self._project, self._verify):
                    self._try(step, local)
        except AtriumError as error:
            self.complaints.append(error.code)

    def _try(self, step: object, local: Local) -> None:
        try:
            step(local)  # type: ignore[operator]
        except AtriumError as error:
            self.complaints.append(error.code)

    def _read_entries(self, local: Local) -> None:
        for item in local.feeds.entries():
            self.entries[item.entry.hash] = item.entry.raw

    def _read_fragments(self, local: Local) -> None:
        for logged in local.archive.log.since(0):
            for stored, fragment in local.archive.load(logged):
                self.fragments[bytes.fromhex(stored.sha256)] = repr(fragment).encode()

    def _project(self, local: Local) -> None:
        path = local.paths.root / "beside" / "projection.db"
        path.parent.mkdir()
        with closing(Projector(path, local.feeds)) as projector:
            projector.catch_up()
            self.digest = projector.digest().digest

    def _verify(self, local: Local) -> None:
        document = verify.handle(local, VerifyRequest(every_signature=True), lambda _document: None)
        self.complaints += ["verify"] * (not document["ok"])

    def is_as(self, other: Look) -> bool:
        """Tell whether all of it is the same."""
        mine, theirs = ((one.entries, one.fragments, one.digest) for one in (self, other))
        return mine == theirs


def served_nothing_else(found: Look, whole: Look, where: str) -> None:
    """Check that what is served is as it was, and that what is not served is complained of."""
    assert found.entries.items() <= whole.entries.items(), where
    assert found.fragments.items() <= whole.fragments.items(), where
    assert found.complaints or found.is_as(whole), where


def test_a_bit_in_a_page_of_the_store_is_told_or_means_nothing(
    world: World, other: World, choose: random.Random
) -> None:
    lay_out(world, other)
    whole = Look(other)
    assert whole.complaints == []
    told = 0
    for _ in range(FLIPS):
        lay_out(world, other)
        place = flip(other.state / "canonical" / "feeds.db", choose)
        found = Look(other)
        served_nothing_else(found, whole, f"after a flip in byte {place}: {found.complaints}")
        told += bool(found.complaints)
    assert told > FLIPS // 4, "most of the file is what was said"


def test_a_bit_in_the_log_beside_the_store_takes_commits_back_and_changes_none(
    world: World, other: World, choose: random.Random
) -> None:
    with closing(open_local(settings(world), writable=True)) as local:
        local.feeds.fold()
        for number in range(10):
            run_in(local, number)
        lay_out(world, other)
    shutil.rmtree(world.state / "canonical")
    shutil.copytree(other.state / "canonical", world.state / "canonical")
    whole = Look(other)
    assert whole.complaints == []
    order = list(whole.entries)
    cut = 0
    for _ in range(LOG_FLIPS):
        lay_out(world, other)
        place = flip(other.state / "canonical" / "feeds.db-wal", choose)
        found = Look(other)
        where = f"after a flip in byte {place}"
        assert found.entries.items() <= whole.entries.items(), where
        assert list(found.entries) == order[: len(found.entries)], where
        assert found.fragments == whole.fragments, where
        cut += len(found.entries) < len(order)
    assert cut > LOG_FLIPS // 2


def run_in(local: Local, number: int) -> None:
    """Add an entry to a state directory that is open."""
    memory.add(local, MemoryAdd(text=f"in the log {number}, " + "x" * 400), lambda _document: None)


def test_a_bit_in_a_segment_is_told_and_no_event_of_it_is_another(
    world: World, choose: random.Random
) -> None:
    segments = SegmentDirectory(world.state / "canonical" / "segments")
    (name,) = list(segments.names())
    path = segments.path(name)
    data = path.read_bytes()
    whole = [(stored.sha256, fragment) for stored, fragment in segments.load(name)]
    run(world, "prepare-context", PrepareRequest())
    told = 0
    for _ in range(SEGMENT_FLIPS):
        path.chmod(0o600)
        path.write_bytes(data)
        place = flip(path, choose)
        try:
            found = [(stored.sha256, fragment) for stored, fragment in segments.load(name)]
        except Damaged:
            told += 1
            continue
        assert found == whole, f"after a flip in byte {place}"
    assert told > SEGMENT_FLIPS // 2
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with (
        closing(open_local(settings(world), writable=False)) as local,
        pytest.raises(Damaged),
    ):
        export.handle(local, ExportRequest(path=str(world.base / "x.jsonl")), lambda _document: None)


def test_a_node_finds_a_damaged_store_when_it_starts_and_answers_what_it_can(
    world: World, nursery: Nursery
) -> None:
    run(world, "prepare-context", PrepareRequest())
    path = world.state / "canonical" / "feeds.db"
    data = bytearray(path.read_bytes())
    page = 4096
    for place in range(page * 4, len(data), page * 2):
        data[place : place + 200] = b"\xff" * 200
    path.write_bytes(data)
    node = nursery.start(world)
    wait_until_it_answers(world)
    client = Client(world, 0, 1)
    wait_until(lambda: "store_damaged" in codes(client), "the damage is told")
    found = client.ask("search", {"query": "tide", "everywhere": True, "directory": "/"})
    assert found["hits"]
    nursery.kill(node)


def codes(client: Client) -> set[str]:
    checks = client.ask("doctor", {})["checks"]
    assert isinstance(checks, list)
    return {check["code"] for check in checks}
