"""Where things are, and that nobody else can look."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from crdt.errors import AtriumError, BadInput, DiskFull, ReadOnlyState
from node.paths import SOCKET_PATH_BYTES_MAX, StatePaths, ensure_private, fallback_runtime, write_error


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_state_directory_is_private(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "deep" / "state")
    before = os.umask(0)
    try:
        paths.create()
    finally:
        os.umask(before)
    for folder in (paths.root, paths.feeds_db.parent, paths.segments, paths.local_db.parent, paths.derived):
        assert mode(folder) == 0o700, folder


def test_making_it_twice_changes_nothing(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "state")
    paths.create()
    (paths.root / "mine").write_text("x")
    paths.create()
    assert (paths.root / "mine").read_text() == "x"


def test_a_file_in_the_way_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("x")
    with pytest.raises(BadInput, match="state"):
        StatePaths(tmp_path / "state").create()


def test_naming_a_path_touches_nothing(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "state", tmp_path / "run")
    assert {path.parent for path in (paths.socket, paths.lock, paths.log)} == {paths.root}
    assert list(tmp_path.iterdir()) == []


def test_the_socket_is_in_the_state_while_its_path_fits(tmp_path: Path) -> None:
    name = "x" * (SOCKET_PATH_BYTES_MAX - len("/" + "/node.sock"))
    fitting, longer = StatePaths(Path("/") / name), StatePaths(Path("/") / (name + "y"))
    assert len(os.fsencode(fitting.socket)) == SOCKET_PATH_BYTES_MAX
    assert fitting.socket.parent == fitting.root
    assert longer.socket.parent == longer.runtime


def test_a_long_state_has_a_short_socket_of_its_own(tmp_path: Path) -> None:
    one, other = (StatePaths(tmp_path / ("x" * 120) / name, tmp_path / "run") for name in "ab")
    for paths in (one, other):
        assert len(os.fsencode(paths.socket)) <= SOCKET_PATH_BYTES_MAX
    assert one.socket != other.socket
    assert one.socket == StatePaths(one.root, one.runtime).socket


def test_a_runtime_directory_that_is_too_long_is_not_used(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / ("x" * 120), tmp_path / ("r" * 120))
    assert paths.socket.parent == fallback_runtime()


def test_a_private_directory_is_made(tmp_path: Path) -> None:
    ensure_private(tmp_path / "run")
    assert mode(tmp_path / "run") == 0o700
    ensure_private(tmp_path / "run")


@pytest.mark.parametrize("bits", [0o755, 0o770, 0o701])
def test_an_open_directory_is_refused(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(bits)
    with pytest.raises(ReadOnlyState, match="only you"):
        ensure_private(folder)


def test_a_link_to_a_private_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "real")
    with pytest.raises(ReadOnlyState):
        ensure_private(tmp_path / "run")


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_private(tmp_path / "run")
    monkeypatch.setattr("node.paths.os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ReadOnlyState):
        ensure_private(tmp_path / "run")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EROFS, ReadOnlyState),
        (errno.EACCES, ReadOnlyState),
        (errno.ENOTDIR, BadInput),
    ],
)
def test_what_the_system_refused_becomes_an_error_of_ours(number: int, kind: type[AtriumError]) -> None:
    found = write_error(OSError(number, os.strerror(number)), Path("/s/x"))
    assert type(found) is kind
    assert "/s/x" in found.detail
