"""The store: durable settings, whole transactions, full and read-only disks, many first openers."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crdt.errors import Damaged, ReadOnlyState, Unavailable
from crdt.incarnation import OwnFeeds
from crdt.manifest_log import FeedManifests
from crdt.manifests import Segment, Tail, Tombstone
from crdt.segments import Body
from crdt.store import open_store
from tests.crdt.logs import open_feeds, open_log
from tests.crdt.mounts import can_mount, run_on_small_disk, run_read_only, run_with_small_files
from tests.crdt.samples import bodies
from tests.kit import CHECKOUT, wait_until

OPENERS = 20
FILL = """
import sys
from pathlib import Path
from crdt.errors import DiskFull
from crdt.manifests import Tail
from tests.crdt.logs import open_log
from tests.crdt.samples import bodies

store = open_log(Path(sys.argv[1]) / "canonical" / "feeds.db")
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
assert len(waiting) == len(list(store.since(0))) == acknowledged > 0, (len(waiting), acknowledged)
assert all(store.tail_body(sha256) for sha256, _, _ in waiting)
assert store.store.quick_check() == []
head = store.head()
store.close()
reader = open_log(Path(sys.argv[1]) / "canonical" / "feeds.db", writable=False)
assert reader.head() == head
reader.close()
"""
OPEN_AND_APPEND = """
import sys
from pathlib import Path
from crdt.manifests import Tombstone
from tests.crdt.logs import open_log
print("ready", flush=True)
sys.stdin.readline()
store = open_log(Path(sys.argv[1]) / "canonical" / "feeds.db")
store.append([Tombstone(removed=[sys.argv[2]])])
store.close()
"""


def opened(folder: Path) -> FeedManifests:
    return open_log(folder / "canonical" / "feeds.db")


def reading(folder: Path) -> FeedManifests:
    return open_log(folder / "canonical" / "feeds.db", writable=False)


def tail(number: int) -> Tail:
    return Tail(fragments=[bytes.fromhex(bodies(number)[-1].sha256)])


def sha(of: Body) -> bytes:
    return bytes.fromhex(of.sha256)


def pragma(log: FeedManifests, name: str) -> object:
    """Ask the connection that writes, where there is one."""
    writing = log.store._writing
    connection = log.store._connection if writing is None else writing.writer._connection
    assert connection is not None
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def run(log: FeedManifests, statement: str) -> None:
    """Run a statement on the connection that writes, as no code of ours would."""
    assert log.store._writing is not None
    connection = log.store._writing.writer._connection
    assert connection is not None
    connection.execute(statement)


def written(log: FeedManifests) -> OwnFeeds:
    """Give the feeds that a store writes."""
    assert log.store._writing is not None
    assert log.store._writing.own is not None
    return log.store._writing.own


def until_it_writes(log: FeedManifests) -> None:
    """Write as soon as the store lets us again: it tries once a second after a fault."""
    wait_until(lambda: is_written(log), "the store writes again")


def is_written(log: FeedManifests) -> bool:
    try:
        log.append([Tombstone()])
    except ReadOnlyState:
        return False
    return True


def test_commits_are_durable_and_beside_readers(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        assert pragma(store, "synchronous") == 2
        assert pragma(store, "journal_mode") == "wal"
        assert pragma(store, "busy_timeout") == 5_000
        assert pragma(store, "foreign_keys") == 1
        assert pragma(store, "secure_delete") == 1
    with closing(reading(tmp_path)) as reader:
        assert pragma(reader, "journal_mode") == "wal"


def test_a_probe_reaches_the_disk_and_leaves_nothing(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        store.home()
        store.fold()
        before = (store.head(), store.tails(), store.heads())
        store.probe()
        assert (tmp_path / "feeds.db-wal").stat().st_size > 0
        assert (store.head(), store.tails(), store.heads()) == before
    with (
        closing(open_feeds(tmp_path / "feeds.db", writable=False)) as reader,
        pytest.raises(ReadOnlyState),
    ):
        reader.probe()


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
        own = written(store)
        own.clock._now_ms = lambda: 0
        (second,) = store.append([Tombstone()])
    assert second.hlc == first.hlc + 1


def test_a_manifest_that_can_not_be_read_is_damage_that_names_it(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.append([Tombstone(), Tombstone()])
        run(store, "UPDATE entries SET body = x'c1' WHERE id = 4")
        with pytest.raises(Damaged, match=r"entry 4 of canonical/feeds\.db"):
            list(store.since(0))


def test_a_waiting_fragment_with_other_bytes_is_damage(tmp_path: Path) -> None:
    (made,) = bodies(1)
    with closing(opened(tmp_path)) as store:
        store.append([tail(1)], [made])
        run(store, "UPDATE tails SET body = x'00'")
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
        closing(reading(tmp_path)) as reader,
    ):
        store.append([Tombstone()])
        assert reader.head() == store.head() > 0
        with pytest.raises(ReadOnlyState):
            reader.append([Tombstone()])
        assert reader.head() == store.head()


def test_a_second_writer_is_told_that_it_is_busy(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as one, closing(opened(tmp_path)) as other:
        run(other, "PRAGMA busy_timeout = 1")
        one.append([Tombstone()])
        run(one, "BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="busy") as caught:
            other.append([Tombstone()])
        run(one, "ROLLBACK")
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
        assert store.store.quick_check() == []
    path = tmp_path / "canonical" / "feeds.db"
    data = bytearray(path.read_bytes())
    page = len(data) // 4096 - 1
    data[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    path.write_bytes(data)
    with closing(opened(tmp_path)) as store:
        assert store.store.quick_check() != []


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_full_disk_is_told_and_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    said = run_on_small_disk(tmp_path, "6m", FILL)
    assert "no space left while writing canonical/feeds.db | free some space" in said


def test_a_file_that_may_not_grow_is_told_and_loses_nothing(tmp_path: Path) -> None:
    said = run_with_small_files(tmp_path, 2_000_000, FILL)
    assert "no space left while writing canonical/feeds.db | free some space" in said
    with closing(opened(tmp_path)) as store:
        assert len(store.tails()) == len(list(store.since(0))) > 0
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
from tests.crdt.logs import open_log
path = Path(sys.argv[1]) / "canonical" / "feeds.db"
store = open_log(path)
store.append([Tombstone()])
store.close()
try:
    (path.parent / "junk").write_bytes(bytes(8 << 20))
except OSError as error:
    print(error.strerror)
reader = open_log(path, writable=False)
print("manifests", len(list(reader.since(0))))
reader.close()
try:
    open_log(path).append([Tombstone()])
except DiskFull as error:
    print(error.detail)
""",
    )
    assert said.splitlines()[:2] == ["No space left on device", "manifests 1"]
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
from tests.crdt.logs import open_log
path = Path(sys.argv[1]) / "canonical" / "feeds.db"
reader = open_log(path, writable=False)
print("manifests", len(list(reader.since(0))))
reader.close()
for target in (path, path.with_name("new.db")):
    try:
        open_log(target)
    except ReadOnlyState as error:
        print("read-only", error.hint)
""",
    )
    assert said.splitlines()[0] == "manifests 1"
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
        latest = written(store).clock.tick()
        run(store, "PRAGMA query_only = ON")
        with pytest.raises(ReadOnlyState):
            store.append([Tombstone()])
        written(store).clock._now_ms = lambda: 0
        until_it_writes(store)
        second = list(store.since(0))[-1]
    assert second.hlc > latest > first.hlc
    assert second.seq == first.seq + 1
