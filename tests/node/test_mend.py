"""Mending: only what is safe, only by who may write, and nothing where there is nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from node import config
from node.composition import open_local
from node.lock import StateLock
from node.mend import mend
from tests.kit import CHECKOUT
from tests.node.filled import archive, fragment_of, ignore, opened, tree

MEND = """
import pathlib, sys
from crdt.errors import ReadOnlyState
from tests.node.test_mend import mended
try:
    mended(pathlib.Path(sys.argv[1]))
except ReadOnlyState as error:
    print(error.code)
"""
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
exec "$2" -c "$3" "$1"
"""


def mended(root: Path) -> list[str]:
    """Mend as a one-shot command does."""
    with opened(root) as local:
        return mend(local, ignore)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Make a state directory with one conversation."""
    root = tmp_path / "state"
    archive(root, fragment_of("a", ["one"]))
    return root


def watermark(root: Path) -> int:
    """Tell how many manifests the index has followed."""
    with opened(root) as local, local.reader() as reader:
        last = int(reader.meta("archive_seq") or 0)
        return sum(logged.seq <= last for logged in local.archive.log.since(0))


def test_nothing_is_made_where_there_is_nothing(tmp_path: Path) -> None:
    assert mended(tmp_path / "state") == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_in_order_is_left_as_it_is(filled: Path) -> None:
    before = tree(filled)
    assert mended(filled) == []
    assert {name: data for name, data in tree(filled).items() if name != "local.lock"} == before


def test_modes_are_closed_and_nothing_else_of_them_changes(filled: Path) -> None:
    filled.chmod(0o755)
    note = filled / "last-refresh"
    note.touch()
    note.chmod(0o464)
    assert mended(filled) == ["closed 2 files and directories to other users"]
    assert filled.stat().st_mode & 0o7777 == 0o700
    assert note.stat().st_mode & 0o7777 == 0o400


def test_what_a_link_points_to_keeps_its_modes(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.touch()
    target.chmod(0o644)
    (filled / "link").symlink_to(target)
    assert mended(filled) == []
    assert target.stat().st_mode & 0o777 == 0o644


def test_a_killed_node_s_socket_is_removed(filled: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as killed:
        killed.bind(str(filled / "node.sock"))
        (filled / "node.sock").chmod(0o600)
    assert mended(filled) == ["removed the socket of a node that was killed"]
    assert not (filled / "node.sock").exists()


def test_a_living_node_s_socket_stays(filled: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as living:
        living.bind(str(filled / "node.sock"))
        living.listen(1)
        (filled / "node.sock").chmod(0o600)
        assert mended(filled) == []
        assert (filled / "node.sock").exists()


def test_what_is_no_socket_is_not_removed(filled: Path) -> None:
    (filled / "node.sock").write_text("mine")
    (filled / "node.sock").chmod(0o600)
    assert mended(filled) == []
    assert (filled / "node.sock").read_text() == "mine"


def test_old_unfinished_files_are_swept_and_young_ones_are_not(filled: Path) -> None:
    (segment,) = (filled / "canonical" / "segments").rglob("*.zst")
    old = [filled / "last-refresh.new-1", filled / "derived" / "index.db.new-2", segment.parent / ".tmp-3-ab"]
    young = filled / "status" / "refresh.json.new-4"
    for path in (*old, young):
        path.touch(0o600)
    for path in old:
        os.utime(path, (0, 0))
    assert mended(filled) == ["removed 3 unfinished files of writers that were killed"]
    assert [path.exists() for path in (*old, young, segment)] == [False, False, False, True, True]


def test_an_index_that_is_behind_is_brought_level(filled: Path) -> None:
    archive(filled, fragment_of("b", ["two"]), follow=False)
    assert watermark(filled) == 1
    assert mended(filled) == [
        "brought the index level with the archive",
        "brought the substring lane level with the index",
    ]
    assert watermark(filled) == 2
    assert mended(filled) == []


def test_a_substring_lane_that_is_gone_is_made_again(filled: Path) -> None:
    (filled / "derived" / "substrings.db").unlink()
    assert mended(filled) == ["brought the substring lane level with the index"]


def test_a_missing_index_is_left_to_a_rebuild(filled: Path) -> None:
    (filled / "derived" / "index.db").unlink()
    assert mended(filled) == []
    assert not (filled / "derived" / "index.db").exists()


def test_beside_another_writer_only_modes_are_closed(filled: Path) -> None:
    archive(filled, fragment_of("b", ["two"]), follow=False)
    filled.chmod(0o750)
    with StateLock.acquire(filled / "local.lock", "atrium capture"):
        assert mended(filled) == ["closed 1 files and directories to other users"]
    assert watermark(filled) == 1


def test_within_the_node_only_modes_are_closed(filled: Path) -> None:
    archive(filled, fragment_of("b", ["two"]), follow=False)
    settings = config.load(environ={"ATRIUM_STATE": str(filled)})
    with closing(open_local(settings, writable=True, served_by="node")) as local:
        assert mend(local, ignore) == []
    assert watermark(filled) == 1
    assert not (filled / "local.lock").exists()


def test_what_can_t_be_written_is_said_as_such(filled: Path) -> None:
    filled.chmod(0o755)
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(filled), sys.executable, MEND],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this user can't mount: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "read_only"
