"""Kill what copies, restores, imports, migrates and folds at moments by chance; the next run is whole.

`test_crash_points` dies between calls to the system, at each of them; here a kill may fall into one.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crdt.entries import Draft, EntryKind
from crdt.store import Authorship, open_store
from node.composition import open_local
from node.paths import StatePaths
from node.services import restore, verify
from node.services.backup_requests import BackupRequest, FeedsImportRequest, VerifyRequest
from node.services.memory_requests import MemoryAdd
from node.services.requests import CaptureRequest
from tests.crdt.signers import SeedSigner
from tests.e2e.deaths import killed_within
from tests.e2e.states import settings, strays
from tests.e2e.test_crash_points import (
    backup_is_whole,
    guest_and_host_are_level,
    look,
    nothing_of_the_first_version_is_lost,
    of_the_first_version,
    remembered,
    run,
    visited,
)
from tests.kit import World

KILLS = 10
FOLD_KILLS = 25
FOLDS_S_MAX = 0.15
TRIES_MAX = 200
ANNA = SeedSigner("anna")


@pytest.fixture
def choose() -> random.Random:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return random.Random(seed)  # noqa: S311


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


def kill_again_and_again(
    choose: random.Random, before: Callable[[], None], work: Callable[[], object], after: Callable[[], None]
) -> None:
    """Kill the work several times, each time on a fresh state, and look at what is left."""
    longest_s, kills = 0.05, 0
    for _ in range(TRIES_MAX):
        before()
        delay_s = choose.uniform(0, longest_s)
        if killed_within(delay_s, work):
            kills += 1
            after()
        else:
            longest_s = max(delay_s, 0.005)
        if kills == KILLS:
            return
    pytest.fail("the work always ended before it was killed")


def keeping(world: World) -> Callable[[], None]:
    """Give what lays the present state out again."""
    kept = world.base / "kept"
    shutil.copytree(world.state, kept)

    def lay_out() -> None:
        shutil.rmtree(world.state)
        shutil.copytree(kept, world.state)

    return lay_out


def verified(world: World) -> bool:
    with closing(open_local(settings(world), writable=False)) as local:
        return verify.handle(local, VerifyRequest(), lambda _document: None)["ok"] is True


def test_a_killed_migration_leaves_the_old_store_or_the_new_one(world: World, choose: random.Random) -> None:
    of_the_first_version(world)

    def capture() -> None:
        run(world, "capture", CaptureRequest(roots={}))

    def check() -> None:
        capture()
        nothing_of_the_first_version_is_lost(world)
        assert strays(world.state) == []

    kill_again_and_again(choose, keeping(world), capture, check)


def test_a_killed_backup_is_none_and_the_next_one_is_whole(world: World, choose: random.Random) -> None:
    remembered(world)
    request = BackupRequest(path=str(world.base / "backup"))

    def back_up() -> None:
        run(world, "backup", request)

    def check() -> None:
        assert verified(world)
        back_up()
        backup_is_whole(world)

    kill_again_and_again(choose, lambda: None, back_up, check)


def test_a_killed_restore_leaves_what_was_or_what_the_backup_has(world: World, choose: random.Random) -> None:
    remembered(world)
    run(world, "backup", BackupRequest(path=str(world.base / "backup")))
    old = look(world)
    run(world, "memory.add", MemoryAdd(text="later than the backup"))
    new = look(world)
    assert new != old
    paths = StatePaths(world.state)

    def put_back() -> None:
        restore.restore(world.base / "backup", paths, lambda _document: None, replace=True)

    def check() -> None:
        run(world, "capture", CaptureRequest(roots={}))
        assert look(world) in (old, new)
        assert verified(world)
        put_back()
        run(world, "capture", CaptureRequest(roots={}))
        assert look(world) == old
        assert not list(world.state.glob("restore-*"))

    kill_again_and_again(choose, keeping(world), put_back, check)


def test_a_killed_import_of_feeds_is_completed_by_the_next(world: World, choose: random.Random) -> None:
    visited(world)
    request = FeedsImportRequest(path=str(world.base / "back"))

    def take_in() -> None:
        run(world, "feeds.import", request)

    def check() -> None:
        assert verified(world)
        take_in()
        guest_and_host_are_level(world)

    kill_again_and_again(choose, keeping(world), take_in, check)


def test_a_store_that_is_killed_while_it_folds_its_log_keeps_what_it_acknowledged(
    quick_path: Path, choose: random.Random
) -> None:
    path = quick_path / "canonical" / "feeds.db"
    authorship = Authorship(marker=quick_path / "incarnation")
    acknowledged: set[bytes] = set()
    reading, writing = os.pipe()

    def write_and_fold() -> None:
        with closing(open_store(path, writable=True, signer=ANNA, authorship=authorship)) as store:
            while True:
                drafts = [Draft(space=store.home(), kind=EntryKind.RECORD, body=os.urandom(2_000))] * 3
                os.write(writing, b"".join(item.entry.hash for item in store.write(drafts)))
                store.fold()

    for _ in range(FOLD_KILLS):
        assert killed_within(choose.uniform(0.01, FOLDS_S_MAX), write_and_fold)
        os.set_blocking(reading, False)
        while said := _read(reading):
            acknowledged |= {said[at : at + 32] for at in range(0, len(said), 32)}
    os.close(reading)
    os.close(writing)
    assert len(acknowledged) > FOLD_KILLS
    with closing(open_store(path, writable=False)) as store:
        assert store.quick_check() == []
        assert store.forks() == []
        stored = [item.entry for item in store.entries()]
    assert acknowledged <= {entry.hash for entry in stored}
    assert sorted(entry.hlc for entry in stored) == [entry.hlc for entry in stored], "clocks only rise"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 32 * 100)
    except BlockingIOError:
        return b""
