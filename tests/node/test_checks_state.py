"""Settings, SQLite, the node, modes, space: the checks of the machine and the state directory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from node import checks_state, config
from node.checks import Check, Disk, Look, Severity, Surroundings
from node.composition import open_local
from retrieval.index_health import Engine
from tests.crdt.mounts import can_mount, run_read_only
from tests.kit import CHECKOUT
from tests.node.filled import archive, fragment_of, opened

GIB = 1 << 30
SMALL_DISK = """
mount -t tmpfs -o size=64m,mode=700 none "$1" || exit 77
exec "$2" -c "$3" "$1"
"""
LOOK = """
import pathlib, sys
from tests.node.test_checks_state import judged
print(*judged("disk", pathlib.Path(sys.argv[1]) / "state"))
"""

LOOK_AT_MODES = """
import pathlib, sys
from tests.node.test_checks_state import judged
print(*judged("modes", pathlib.Path(sys.argv[1])))
"""


def checked(
    name: str,
    root: Path,
    around: Surroundings | None = None,
    roots: Mapping[str, list[str]] | None = None,
) -> Check | None:
    """Run one check."""
    with opened(root) as local:
        found = getattr(checks_state, f"check_{name}")(Look(local, roots or {}, around or Surroundings()))
    assert found is None or isinstance(found, Check)
    return found


def judged(name: str, root: Path, around: Surroundings | None = None) -> tuple[str, str]:
    """Run one check and give its code and severity."""
    check = checked(name, root, around)
    assert check is not None
    return check.code, str(check.severity)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Name a state directory that does not exist."""
    return tmp_path / "state"


@pytest.fixture
def filled(root: Path) -> Path:
    """Make a state directory with one conversation."""
    archive(root, fragment_of("a", ["one"]))
    return root


@pytest.fixture
def listening(root: Path) -> Iterator[Path]:
    """Listen on the socket of a state directory, as a node does."""
    root.mkdir(mode=0o700)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(str(root / "node.sock"))
        listener.listen(1)
        yield root


def test_settings_that_say_nothing_wrong_are_fine(root: Path) -> None:
    assert judged("configuration", root) == ("configuration_ok", "ok")


def test_settings_that_became_unreadable_are_broken(root: Path) -> None:
    root.mkdir()
    with opened(root) as local:
        (root / "config.toml").write_text("[node]\nprot = 7707\n")
        check = checks_state.check_configuration(Look(local, {}, Surroundings()))
    assert (check.code, check.severity) == ("configuration_invalid", Severity.BROKEN)


@pytest.mark.parametrize(
    ("declared", "code"), [(None, "configuration_missing"), ("{", "configuration_invalid")]
)
def test_a_declaration_that_can_t_be_followed_is_broken(
    tmp_path: Path, declared: str | None, code: str
) -> None:
    if declared is not None:
        (tmp_path / "syntopica.config.json").write_text(declared)
    doubtful = config.load(environ={"SYNTOPICA_DATA": str(tmp_path), "HOME": str(tmp_path)})
    with closing(open_local(doubtful, writable=False)) as local:
        check = checks_state.check_configuration(Look(local, {}, Surroundings()))
    assert (check.code, check.severity) == (code, Severity.BROKEN)


def test_a_malformed_file_of_moved_projects_is_a_warning(root: Path) -> None:
    assert judged("aliases", root) == ("aliases_ok", "ok")
    root.mkdir()
    (root / "workspace-aliases.json").write_text('{"/old": 5}')
    assert judged("aliases", root) == ("aliases_malformed", "warn")


def test_this_python_s_sqlite_can_search(root: Path) -> None:
    assert judged("sqlite", root) == ("sqlite_ok", "ok")


def test_an_sqlite_that_can_t_search_is_broken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_state, "engine", lambda: Engine(version="3.8.0", has_fts5=False))
    assert judged("sqlite", root) == ("sqlite_without_fts5", "broken")


def test_a_node_that_does_not_run_is_fine(root: Path) -> None:
    assert judged("node", root) == ("node_down", "ok")


def test_a_node_that_listens_runs(listening: Path) -> None:
    assert judged("node", listening) == ("node_running", "ok")


def test_a_node_that_answers_itself_runs(root: Path) -> None:
    with closing(
        open_local(config.load(environ={"ATRIUM_STATE": str(root)}), writable=False, served_by="node")
    ) as one:
        assert checks_state.check_node(Look(one, {}, Surroundings())).code == "node_running"


def test_the_socket_of_a_node_that_was_killed_is_said(listening: Path, tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as killed:
        (tmp_path / "other").mkdir()
        killed.bind(str(tmp_path / "other" / "node.sock"))
    assert judged("node", tmp_path / "other") == ("node_stale_socket", "warn")


def proc(folder: Path, watches: str) -> Surroundings:
    """Pretend a kernel's limit of watches."""
    path = folder / "proc" / "sys" / "fs" / "inotify" / "max_user_watches"
    path.parent.mkdir(parents=True)
    path.write_text(watches)
    return Surroundings(proc=folder / "proc")


@pytest.mark.parametrize(("limit", "code"), [("4", "watch_limited"), ("5", "watch_ok"), ("many", None)])
def test_directories_to_watch_are_counted_against_the_kernel_s_limit(
    listening: Path, tmp_path: Path, limit: str, code: str | None
) -> None:
    (tmp_path / "transcripts" / "a" / "b").mkdir(parents=True)
    (tmp_path / "transcripts" / "c").mkdir()
    roots = {"generic": [str(tmp_path / "transcripts"), str(tmp_path / "absent")]}
    check = checked("watching", listening, proc(tmp_path, f"{limit}\n"), roots)
    assert (check and check.code) == code


def test_without_a_node_nothing_watches(root: Path, tmp_path: Path) -> None:
    assert checked("watching", root, proc(tmp_path, "1")) is None


def test_what_the_program_makes_is_private(filled: Path) -> None:
    assert judged("modes", filled) == ("state_modes_ok", "ok")


@pytest.mark.skipif(not can_mount(), reason="this kernel gives no mount namespace")
def test_a_state_directory_that_can_not_be_written_is_told(filled: Path) -> None:
    assert run_read_only(filled, LOOK_AT_MODES).split() == ["state_read_only", "warn"]


def test_what_others_could_read_is_counted(filled: Path) -> None:
    filled.chmod(0o755)
    (filled / "last-refresh").touch(0o644)
    (filled / "link").symlink_to(filled)
    check = checked("modes", filled)
    assert check is not None
    assert (check.code, check.severity) == ("state_modes_open", Severity.WARN)
    assert str(check.hint).startswith("2 files")


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
def test_what_another_user_owns_is_not_ours_to_close(filled: Path) -> None:
    other = filled / "other"
    other.touch(0o666)
    os.chown(other, 12_345, 12_345)
    assert judged("modes", filled) == ("state_modes_ok", "ok")


def test_a_walk_over_very_many_files_ends(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (filled / "last-refresh").touch(0o644)
    monkeypatch.setattr(checks_state, "ENTRIES_MAX", 0)
    assert judged("modes", filled) == ("state_modes_ok", "ok")


@pytest.mark.parametrize(
    ("free_bytes", "free_files", "expected"),
    [
        (2 * GIB, 10_000, ("disk_ok", "ok")),
        (GIB, 10_000, ("disk_ok", "ok")),
        (GIB - 1, 10_000, ("disk_low", "warn")),
        (GIB // 4, 10_000, ("disk_low", "warn")),
        (GIB // 4 - 1, 10_000, ("disk_full", "broken")),
        (2 * GIB, 999, ("disk_low", "warn")),
        (2 * GIB, 0, ("disk_full", "broken")),
    ],
)
def test_space_is_judged(root: Path, free_bytes: int, free_files: int, expected: tuple[str, str]) -> None:
    asked = []

    def disk(place: Path) -> Disk:
        asked.append(place)
        return Disk(free_bytes=free_bytes, free_files=free_files)

    assert judged("disk", root, Surroundings(disk=disk)) == expected
    assert asked == [root.parent]


def test_a_small_disk_is_noticed(tmp_path: Path) -> None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", SMALL_DISK, "sh", str(tmp_path), sys.executable, LOOK],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this user can't mount: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["disk_full", "broken"]


def test_a_walk_takes_no_longer_than_it_may(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (filled / "last-refresh").touch(0o644)
    monkeypatch.setattr(checks_state, "WALK_S_MAX", -1.0)
    began = time.monotonic()
    assert [path for path, _ in checks_state.open_entries(filled)] == []
    assert time.monotonic() - began < 1
