"""Which incarnation is written: the same after a clean stop and after nothing else."""

from __future__ import annotations

import errno
import json
import shutil
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crdt.entries import Draft, Entry, EntryKind
from crdt.errors import ReadOnlyState
from crdt.store import FeedStore
from tests.crdt.logs import open_feeds
from tests.kit import CHECKOUT

MARKER = "feeds.db.incarnation"
WRITE_AND_DIE = """
import os, sys
from pathlib import Path
from crdt.entries import Draft
from tests.crdt.logs import open_feeds
store = open_feeds(Path(sys.argv[1]) / "feeds.db")
store.write([Draft(space=store.home(), kind=3, body=b"x")])
os.kill(os.getpid(), 9)
"""


def write(store: FeedStore, space: bytes | None = None) -> Entry:
    (item,) = store.write([Draft(space=space or store.home(), kind=EntryKind.RECORD, body=b"x")])
    return item.entry


def written(folder: Path) -> Entry:
    """Open, write, close."""
    with closing(open_feeds(folder / "feeds.db")) as store:
        return write(store)


def test_a_clean_stop_lets_the_feed_go_on(tmp_path: Path) -> None:
    first = written(tmp_path)
    assert stat.S_IMODE((tmp_path / MARKER).stat().st_mode) == 0o600
    second = written(tmp_path)
    assert (second.inc, second.seq, second.prev) == (first.inc, first.seq + 1, first.hash)


def test_the_marker_is_gone_while_somebody_writes_and_stays_while_somebody_reads(tmp_path: Path) -> None:
    written(tmp_path)
    before = (tmp_path / MARKER).read_bytes()
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert store.heads()
        assert (tmp_path / MARKER).read_bytes() == before, "opening alone writes nothing"
        write(store)
        assert not (tmp_path / MARKER).exists()
    assert (tmp_path / MARKER).read_bytes() != before
    with closing(open_feeds(tmp_path / "feeds.db", writable=False)) as reader:
        assert reader.heads()
    assert (tmp_path / MARKER).exists()


def test_each_space_goes_on_by_itself(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        home, private = write(store), write(store, store.private())
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert write(store).prev == home.hash
        assert write(store, store.private()).prev == private.hash
    assert home.inc != private.inc


def test_a_space_that_was_not_written_to_since_goes_on_after_several_stops(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        private = write(store, store.private())
    written(tmp_path)
    written(tmp_path)
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert write(store, store.private()).prev == private.hash


def test_after_a_kill_a_new_incarnation_begins_and_nothing_is_lost(tmp_path: Path) -> None:
    first = written(tmp_path)
    command = [sys.executable, "-c", WRITE_AND_DIE, str(tmp_path)]
    done = subprocess.run(command, cwd=CHECKOUT, check=False, timeout=60)
    assert done.returncode == -9
    after = written(tmp_path)
    assert after.inc != first.inc
    assert after.seq == 1
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert sum(head.count for head in store.heads(store.home())) == 4
        assert store.forks() == []


def test_a_marker_that_can_t_be_left_makes_no_durable_write_look_like_one_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("crdt.incarnation.leave", no_space)
        first = written(tmp_path)
    second = written(tmp_path)
    assert second.inc != first.inc
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        assert store.entry(first.hash) is not None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"file": [1, 2], "heads": {}}', b"\xff" * 99], ids=str
)
def test_a_marker_that_says_nothing_certain_is_not_believed(tmp_path: Path, content: bytes) -> None:
    first = written(tmp_path)
    (tmp_path / MARKER).write_bytes(content)
    assert written(tmp_path).inc != first.inc


@pytest.mark.parametrize("change", ["seq", "hash"])
def test_a_marker_whose_heads_are_not_those_of_the_rows_is_not_believed(tmp_path: Path, change: str) -> None:
    first = written(tmp_path)
    said = json.loads((tmp_path / MARKER).read_text())
    for head in said["heads"].values():
        head[1] += change == "seq"
        head[2] = "00" * 32 if change == "hash" else head[2]
    (tmp_path / MARKER).write_text(json.dumps(said))
    assert written(tmp_path).inc != first.inc


def test_a_copy_of_the_whole_directory_begins_a_new_incarnation_and_the_original_goes_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "original").mkdir()
    first = written(tmp_path / "original")
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    assert written(tmp_path / "copy").inc != first.inc
    assert written(tmp_path / "original").prev == first.hash


def test_an_older_file_put_back_in_place_begins_a_new_incarnation(tmp_path: Path) -> None:
    """The bytes are written over the same inode, beside the marker of the later stop."""
    written(tmp_path)
    older = (tmp_path / "feeds.db").read_bytes()
    later = written(tmp_path)
    with (tmp_path / "feeds.db").open("r+b") as file:
        file.write(older)
        file.truncate()
    again = written(tmp_path)
    assert again.inc != later.inc


def test_renewing_begins_a_new_incarnation_in_every_space(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        first = write(store)
        store.renew()
        second = write(store)
        assert (second.inc != first.inc, second.seq) == (True, 1)
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        store.renew()
        assert write(store).inc != second.inc


def test_what_failed_to_be_written_is_not_built_upon(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        first = write(store)
        assert store._writing is not None
        connection = store._writing.writer._connection
        assert connection is not None
        connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ReadOnlyState):
            write(store)
        connection = store._writing.writer._connection
        store._writing.writer._tried_s = 0.0
        after = write(store)
        assert after.prev == first.hash if after.inc == first.inc else after.seq == 1
        assert store.forks() == []


def test_a_store_that_ended_with_a_fault_leaves_no_marker(tmp_path: Path) -> None:
    with closing(open_feeds(tmp_path / "feeds.db")) as store:
        first = write(store)
        assert store._writing is not None
        connection = store._writing.writer._connection
        assert connection is not None
        connection.execute("PRAGMA query_only = ON")
        with pytest.raises(ReadOnlyState):
            write(store)
    assert not (tmp_path / MARKER).exists()
    assert written(tmp_path).inc != first.inc


def test_no_draft_of_the_marker_is_left(tmp_path: Path) -> None:
    written(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feeds.db", MARKER]
