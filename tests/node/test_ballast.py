"""The reserve for a full disk: taken where there is room, given back when it counts, and the floor."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from crdt.errors import DiskFull
from node import ballast
from node.ballast import Ballast, refuse_on_low_space
from node.paths import StatePaths
from tests.crdt.mounts import can_mount, run_on_small_disk, run_read_only

FULL = """
import sys
from pathlib import Path
from crdt.entries import Draft
from crdt.errors import DiskFull
from node import ballast
from node.ballast import Ballast
from tests.crdt.logs import open_feeds
from tests.kit import wait_until
ballast.DISK_FULL_BYTES = 1 << 20
folder = Path(sys.argv[1])
store = open_feeds(folder / "feeds.db")
home = store.home()
reserve = Ballast(folder / "ballast")
assert reserve.restore() and reserve.is_kept and not reserve.restore()
stored = []

def write(size=100_000):
    (item,) = store.write([Draft(space=home, kind=3, body=bytes(size))])
    stored.append(item.entry.hash)
    return True

def is_writing():
    try:
        return write(10)
    except DiskFull:
        return False

write()
try:
    (folder / "junk").write_bytes(bytes(64 << 20))
except OSError as error:
    print(error.strerror)
try:
    for _ in range(100):
        write()
except DiskFull:
    print("full")
assert reserve.drop() and not reserve.is_kept and not reserve.drop()
wait_until(is_writing, "the store writes into what was given back", timeout_s=10)
store.fold()
assert (folder / "feeds.db-wal").stat().st_size == 0, "the log was folded"
assert all(store.entry(sha256) for sha256 in stored)
(folder / "more").write_bytes(bytes(40 << 20))
assert not reserve.restore(), "there is no room for it"
assert not reserve.is_kept
(folder / "junk").unlink()
(folder / "more").unlink()
assert reserve.restore() and reserve.is_kept
store.close()
print("restored")
"""


def test_the_reserve_is_private_whole_and_really_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ballast, "DISK_FULL_BYTES", 0)
    monkeypatch.setattr(ballast, "SIZE_BYTES", 1 << 20)
    reserve = Ballast(tmp_path / "ballast")
    assert reserve.restore()
    found = (tmp_path / "ballast").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_size) == (0o600, 1 << 20)
    assert found.st_blocks * 512 >= 1 << 20


def test_a_part_of_a_reserve_is_none_and_is_made_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ballast, "DISK_FULL_BYTES", 0)
    monkeypatch.setattr(ballast, "SIZE_BYTES", 1 << 20)
    (tmp_path / "ballast").write_bytes(b"a part")
    reserve = Ballast(tmp_path / "ballast")
    assert not reserve.is_kept
    assert reserve.restore()
    assert reserve.is_kept


def test_no_reserve_is_taken_where_that_would_go_below_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ballast, "DISK_FULL_BYTES", 1 << 62)
    assert not Ballast(tmp_path / "ballast").restore()
    assert list(tmp_path.iterdir()) == []


def test_below_the_floor_nothing_more_is_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_on_low_space(StatePaths(tmp_path))
    monkeypatch.setattr(ballast, "DISK_FULL_BYTES", 1 << 62)
    with pytest.raises(DiskFull, match="nothing more is taken in"):
        refuse_on_low_space(StatePaths(tmp_path))


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_full_disk_gets_the_reserve_and_gives_it_back(tmp_path: Path) -> None:
    said = run_on_small_disk(tmp_path, "100m", FULL).splitlines()
    assert said == ["No space left on device", "full", "restored"]


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_reserve_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "ballast").write_bytes(b"a part")
    said = run_read_only(
        tmp_path,
        """
import sys
from pathlib import Path
from crdt.errors import ReadOnlyState
from node import ballast
ballast.DISK_FULL_BYTES = 0
for step in (ballast.Ballast.drop, ballast.Ballast.restore):
    try:
        step(ballast.Ballast(Path(sys.argv[1]) / "ballast"))
    except ReadOnlyState as error:
        print("read-only")
""",
    )
    assert said.splitlines() == ["read-only", "read-only"]
