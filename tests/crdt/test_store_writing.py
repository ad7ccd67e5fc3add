"""The writing half of a store: killed at any moment, full disks, many threads, readers beside it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from crdt.entries import Draft, EntryKind
from crdt.errors import BadInput, ReadOnlyState
from crdt.store import FeedStore
from tests.crdt.logs import open_feeds
from tests.crdt.mounts import can_mount, run_on_small_disk
from tests.kit import CHECKOUT

ROUNDS = 12
WRITERS = 8
MIXED = """
import sys, threading
from pathlib import Path
from crdt.entries import Draft
from crdt.manifests import Tail, encode
from tests.crdt.logs import open_feeds
from tests.crdt.samples import bodies
store = open_feeds(Path(sys.argv[1]) / "feeds.db")
home, private = store.home(), store.private()
made = bodies(50, 3_000)

def work(name):
    for number in range(100_000):
        if number % 10 == 3:
            body = made[number % 50]
            tail = Draft(space=home, kind=5, body=encode(Tail(fragments=[bytes.fromhex(body.sha256)])))
            done = store.write([tail], [body])
        else:
            space = private if number % 4 == 1 else home
            draft = Draft(space=space, kind=3, body=f"{name} {number}".encode() * 30)
            done = store.write([draft] * (number % 3 + 1))
        if number % 50 == 7 and name == 0:
            store.fold()
        sys.stdout.write("".join(item.entry.hash.hex() + "\\n" for item in done))
        sys.stdout.flush()

for name in range(4):
    threading.Thread(target=work, args=(name,)).start()
"""
FULL = """
import sys
from pathlib import Path
from crdt.entries import Draft
from crdt.errors import DiskFull
from tests.crdt.logs import open_feeds
from tests.kit import wait_until
folder = Path(sys.argv[1])
store = open_feeds(folder / "feeds.db")
home = store.home()
acknowledged = []

def write(size):
    (item,) = store.write([Draft(space=home, kind=3, body=bytes(size))])
    acknowledged.append(item.entry.hash)
    return True

def is_writing():
    try:
        return write(10)
    except DiskFull:
        return False

write(1000)
try:
    (folder / "junk").write_bytes(bytes(16 << 20))
except OSError as error:
    print(error.strerror)
try:
    for _ in range(100):
        write(100_000)
except DiskFull as error:
    print("refused:", error.hint)
assert isinstance(store.fault, DiskFull)
assert all(store.entry(sha256) for sha256 in acknowledged), "reading goes on"
assert not is_writing()
(folder / "junk").unlink()
wait_until(is_writing, "the store writes again", timeout_s=10)
assert store.fault is None
write(500_000)
stored = {item.entry.hash for item in store.entries()}
assert stored >= set(acknowledged), "nothing that was acknowledged is lost"
assert store.quick_check() == []
print("acknowledged", len(acknowledged) >= 3)
store.close()
"""


def record(body: bytes, space: bytes) -> Draft:
    return Draft(space=space, kind=EntryKind.RECORD, body=body)


def killed_while_writing(folder: Path, wait_for: int) -> set[str]:
    """Kill a process that writes after it acknowledged so much; give all that it acknowledged."""
    child = subprocess.Popen(
        [sys.executable, "-c", MIXED, str(folder)], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    seen = [child.stdout.readline() for _ in range(wait_for)]
    child.kill()
    rest, _ = child.communicate(timeout=30)
    assert child.returncode == -9
    lines = [*seen, *rest.splitlines(keepends=True)]
    return {line.strip() for line in lines if line.endswith("\n")}


def test_what_was_acknowledged_outlives_a_kill_at_any_moment(tmp_path: Path) -> None:
    choose = random.Random(11)  # noqa: S311 - a replayable choice
    acknowledged: set[str] = set()
    for _ in range(ROUNDS):
        acknowledged |= killed_while_writing(tmp_path, choose.randrange(1, 250))
        with closing(open_feeds(tmp_path / "feeds.db")) as store:
            assert store.quick_check() == []
            stored = {item.entry.hash.hex() for item in store.entries()}
            assert acknowledged <= stored
            assert store.forks() == []
    assert len(acknowledged) > ROUNDS


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_full_disk_makes_the_store_read_only_until_there_is_space(tmp_path: Path) -> None:
    said = run_on_small_disk(tmp_path, "6m", FULL)
    assert said.splitlines()[0] == "No space left on device"
    assert "refused: free some space" in said
    assert said.splitlines()[-1] == "acknowledged True"


def test_threads_write_beside_each_other_and_each_sees_its_own_at_once(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        home = store.home()
        missed: list[str] = []

        def work(name: int) -> None:
            for number in range(30):
                (item,) = store.write([record(f"{name} {number}".encode(), home)])
                if store.entry(item.entry.hash) is None or store.head() < item.id:
                    missed.append(f"{name} {number}")

        def read(done: threading.Event) -> None:
            while not done.is_set():
                assert sum(1 for _ in store.entries()) <= store.head()

        done = threading.Event()
        reader = threading.Thread(target=read, args=(done,))
        writers = [threading.Thread(target=work, args=(name,)) for name in range(WRITERS)]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join(60)
        done.set()
        reader.join(60)
        assert missed == []
        (head,) = [head for head in store.heads(home) if head.count > 1]
        assert (head.seq, head.count) == (1 + 30 * WRITERS, 1 + 30 * WRITERS)
        chain = list(store.feed_entries(head.feed))
        assert all(after.prev == before.hash for before, after in pairwise(chain))
        assert [entry.hlc for entry in chain] == sorted({entry.hlc for entry in chain})


def test_a_walk_that_is_not_finished_holds_nobody_up(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        home = store.home()
        store.write([record(bytes([number]), home) for number in range(150)])
        walk = store.entries()
        next(walk)
        (item,) = store.write([record(b"meanwhile", home)])
        assert store.entry(item.entry.hash) == item
        store.fold()
        assert [found.id for found in walk][-1] == item.id


def test_all_of_a_write_or_nothing(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        home, head = store.home(), store.head()
        with pytest.raises(BadInput, match="512 KiB"):
            store.write([record(b"x", home), record(bytes((512 << 10) + 1), home)])
        assert store.head() == head
        first, second = store.write([record(b"x", home), record(bytes(512 << 10), home)])
        assert second.entry.prev == first.entry.hash


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[FeedStore]:
    """Open a store for reading, in which something is written."""
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        store.write([record(b"x", store.home())])
    with closing(open_feeds(tmp_path / "feeds.db", writable=False)) as opened:
        yield opened


def test_a_reader_reads_what_the_writer_does(tmp_path: Path, reader: FeedStore) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert (reader.home(), reader.private()) == (store.home(), store.private())
        assert reader.author() == store.author()
        assert list(reader.entries()) == list(store.entries())
        assert reader.heads() == store.heads()
        (item,) = store.write([record(b"y", store.home())])
        assert reader.by_ids([item.id, 99]) == {item.id: item.entry}
        assert reader.entry(item.entry.hash) == item


@pytest.mark.parametrize("write", [FeedStore.renew, FeedStore.retry, FeedStore.fold, FeedStore.probe])
def test_a_reader_writes_nothing(reader: FeedStore, write: Callable[[FeedStore], object]) -> None:
    with pytest.raises(ReadOnlyState):
        write(reader)
    with pytest.raises(ReadOnlyState):
        reader.write([record(b"y", reader.home())])
    assert reader.fault is None
    assert not reader.has_pending()


def test_a_future_resolves_once_it_is_durable(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        futures = [store.submit([record(bytes([number]), store.home())]) for number in range(20)]
        found = [future.result(30)[0] for future in futures]
        assert [item.entry.body for item in found] == [bytes([number]) for number in range(20)]
        assert all(is_there(tmp_path, item.entry.hash) for item in found[-1:])


def is_there(folder: Path, sha256: bytes) -> bool:
    with closing(open_feeds(folder / "feeds.db", writable=False)) as reader:
        return reader.entry(sha256) is not None


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    store: FeedStore = open_feeds(tmp_path / "feeds.db")
    store.home()
    store.close()
    store.close()
