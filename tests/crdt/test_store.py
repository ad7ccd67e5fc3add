"""The store: durable settings, whole transactions, full and read-only disks, many first openers."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crdt.clock import HybridClock
from crdt.errors import Damaged, ReadOnlyState, Unavailable
from crdt.manifests import Segment, Tail, Tombstone
from crdt.segments import Body
from crdt.store import FeedStore, open_store
from tests.crdt.mounts import can_mount, run_on_small_disk, run_read_only, run_with_small_files
from tests.crdt.samples import bodies
from tests.kit import CHECKOUT

OPENERS = 20
FILL = """
import sys
from pathlib import Path
from crdt.errors import DiskFull
from crdt.manifests import Tail
from crdt.store import open_store
from tests.crdt.samples import bodies

store = open_store(Path(sys.argv[1]) / "canonical" / "feeds.db", writable=True)
acknowledged = 0
try:
    for number, body in enumerate(bodies(3000, 9000)):
        store.append([Tail(fragments=[bytes.fromhex(body.sha256)])], [body])
        acknowledged += 1
except DiskFull as error:
    print(error.detail, "|", error.hint)
else:
    print("never full")
waiting = store.tails()
assert len(waiting) == store.head() == len(list(store.since(0))) == acknowledged > 0, (
    len(waiting), store.head(), acknowledged)
assert all(store.tail_body(sha256) for sha256, _, _ in waiting)
assert store.quick_check() == []
head = store.head()
store.close()
reader = open_store(Path(sys.argv[1]) / "canonical" / "feeds.db", writable=False)
assert reader.head() == head
reader.close()
"""
OPEN_AND_APPEND = """
import sys
from pathlib import Path
from crdt.manifests import Tombstone
from crdt.store import open_store
print("ready", flush=True)
sys.stdin.readline()
store = open_store(Path(sys.argv[1]) / "canonical" / "feeds.db", writable=True)
store.append([Tombstone(removed=[sys.argv[2]])])
store.close()
"""


def opened(folder: Path) -> FeedStore:
    return open_store(folder / "canonical" / "feeds.db", writable=True)


def tail(number: int) -> Tail:
    return Tail(fragments=[bytes.fromhex(bodies(number)[-1].sha256)])


def sha(of: Body) -> bytes:
    return bytes.fromhex(of.sha256)


def pragma(store: FeedStore, name: str) -> object:
    return store._connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_commits_are_durable_and_beside_readers(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        assert pragma(store, "synchronous") == 2
        assert pragma(store, "journal_mode") == "wal"
        assert pragma(store, "busy_timeout") == 5_000
        assert pragma(store, "foreign_keys") == 1
        assert pragma(store, "secure_delete") == 1
    with closing(open_store(tmp_path / "canonical" / "feeds.db", writable=False)) as reader:
        assert pragma(reader, "journal_mode") == "wal"


def test_files_are_private_the_log_beside_the_store_too(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.append([Tombstone()])
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "canonical").iterdir()}
    assert found == {"feeds.db": 0o600, "feeds.db-wal": 0o600, "feeds.db-shm": 0o600}
    assert stat.S_IMODE((tmp_path / "canonical").stat().st_mode) == 0o700


def test_what_was_appended_is_there_after_opening_again(tmp_path: Path) -> None:
    (made,) = bodies(1)
    with closing(opened(tmp_path)) as store:
        logged = store.append([tail(1)], [made])
    with closing(opened(tmp_path)) as store:
        assert list(store.since(0)) == logged
        assert store.tail_body(bytes.fromhex(made.sha256)) == made.data


def test_what_was_sealed_is_not_left_in_free_pages(tmp_path: Path) -> None:
    (made,) = bodies(1, 3_000)
    with closing(opened(tmp_path)) as store:
        store.append([tail(1)], [made])
        store.append([Segment(sha256="5" * 64, size_bytes=1, stored_bytes=1, fragments=[(sha(made), 0)])])
    data = (tmp_path / "canonical" / "feeds.db").read_bytes()
    assert made.data[-200:] not in data


def test_clocks_go_on_from_the_stored_one_though_the_wall_was_set_back(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        (first,) = store.append([Tombstone()])
    with closing(opened(tmp_path)) as store:
        store._clock._now_ms = lambda: 0
        (second,) = store.append([Tombstone()])
    assert second.hlc == first.hlc + 1


def test_a_manifest_that_can_not_be_read_is_damage_that_names_it(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.append([Tombstone(), Tombstone()])
        store._connection.execute("UPDATE manifests SET body = x'c1' WHERE seq = 2")
        with pytest.raises(Damaged, match=r"manifest 2 of canonical/feeds\.db"):
            list(store.since(0))


def test_a_waiting_fragment_with_other_bytes_is_damage(tmp_path: Path) -> None:
    (made,) = bodies(1)
    with closing(opened(tmp_path)) as store:
        store.append([tail(1)], [made])
        store._connection.execute("UPDATE tails SET body = x'00'")
        with pytest.raises(Damaged, match=f"{made.sha256} has other bytes"):
            store.tail_body(bytes.fromhex(made.sha256))


def test_a_reader_of_none_and_of_one_that_is_still_being_made_finds_no_file(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    with pytest.raises(FileNotFoundError):
        open_store(path, writable=False)
    assert list(tmp_path.iterdir()) == []
    sqlite3.connect(path).execute("PRAGMA journal_mode = WAL").connection.close()
    with pytest.raises(FileNotFoundError):
        open_store(path, writable=False)


def test_a_reader_sees_commits_of_the_writer_beside_it_and_can_not_write(tmp_path: Path) -> None:
    with (
        closing(opened(tmp_path)) as store,
        closing(open_store(tmp_path / "canonical" / "feeds.db", writable=False)) as reader,
    ):
        store.append([Tombstone()])
        assert reader.head() == 1
        with pytest.raises(ReadOnlyState):
            reader.append([Tombstone()])
        assert reader.head() == 1


def test_a_second_writer_is_told_that_it_is_busy(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as one, closing(opened(tmp_path)) as other:
        other._connection.execute("PRAGMA busy_timeout = 1")
        one._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="busy") as caught:
            other.append([Tombstone()])
        one._connection.execute("ROLLBACK")
        assert "again" in caught.value.hint
        other.append([Tombstone()])


def test_a_store_that_is_no_database_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    path.write_bytes(b"this was never a database, or it was overwritten" * 100)
    for writable in (True, False):
        with pytest.raises(Damaged, match="damaged"):
            open_store(path, writable=writable)


def test_quick_check_is_empty_for_a_whole_store_and_names_what_is_wrong(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.append([tail(1)], bodies(1))
        assert store.quick_check() == []
    path = tmp_path / "canonical" / "feeds.db"
    data = bytearray(path.read_bytes())
    page = len(data) // 4096 - 1
    data[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    path.write_bytes(data)
    with closing(opened(tmp_path)) as store:
        assert store.quick_check() != []


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_full_disk_is_told_and_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    said = run_on_small_disk(tmp_path, "6m", FILL)
    assert "no space left while writing canonical/feeds.db | free some space" in said


def test_a_file_that_may_not_grow_is_told_and_loses_nothing(tmp_path: Path) -> None:
    said = run_with_small_files(tmp_path, 2_000_000, FILL)
    assert "no space left while writing canonical/feeds.db | free some space" in said
    with closing(opened(tmp_path)) as store:
        assert len(store.tails()) == store.head() > 0
        store.append([Tombstone()])


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_reader_answers_where_not_one_more_byte_can_be_written(tmp_path: Path) -> None:
    said = run_on_small_disk(
        tmp_path,
        "4m",
        """
import sys
from pathlib import Path
from crdt.errors import DiskFull
from crdt.manifests import Tombstone
from crdt.store import open_store
path = Path(sys.argv[1]) / "canonical" / "feeds.db"
store = open_store(path, writable=True)
store.append([Tombstone()])
store.close()
try:
    (path.parent / "junk").write_bytes(bytes(8 << 20))
except OSError as error:
    print(error.strerror)
reader = open_store(path, writable=False)
print("head", reader.head())
reader.close()
try:
    open_store(path, writable=True).append([Tombstone()])
except DiskFull as error:
    print(error.detail)
""",
    )
    assert said.splitlines()[:2] == ["No space left on device", "head 1"]
    assert "no space left while writing" in said


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_read_only_state_is_told_to_a_writer_and_read_by_a_reader(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.append([Tombstone()])
    said = run_read_only(
        tmp_path,
        """
import sys
from pathlib import Path
from crdt.errors import ReadOnlyState
from crdt.store import open_store
path = Path(sys.argv[1]) / "canonical" / "feeds.db"
reader = open_store(path, writable=False)
print("head", reader.head())
reader.close()
for target in (path, path.with_name("new.db")):
    try:
        open_store(target, writable=True)
    except ReadOnlyState as error:
        print("read-only", error.hint)
""",
    )
    assert said.splitlines()[0] == "head 1"
    assert said.count("read-only") == 2
    assert "ATRIUM_STATE" in said


def test_twenty_processes_open_a_fresh_store_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN_AND_APPEND, str(tmp_path)]
    children = [
        subprocess.Popen(
            [*command, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=CHECKOUT,
            text=True,
        )
        for number in range(OPENERS)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    failures = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        said, _ = child.communicate(timeout=60)
        if child.returncode:
            failures.append(said)
    assert failures == []
    with closing(opened(tmp_path)) as store:
        removed = [item.manifest.removed for item in store.since(0) if isinstance(item.manifest, Tombstone)]
        assert sorted(removed) == sorted([str(number)] for number in range(OPENERS))


def test_the_clock_of_a_failed_append_is_not_used_again(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        (first,) = store.append([Tombstone()])
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ReadOnlyState):
            store.append([Tombstone()])
        store._connection.execute("PRAGMA query_only = OFF")
        (second,) = store.append([Tombstone()])
    assert second.hlc > first.hlc
    assert second.seq == first.seq + 1
    assert isinstance(store._clock, HybridClock)
