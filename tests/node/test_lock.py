"""One writer at a time, and a lock that dies with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from crdt.errors import ReadOnlyState, StateBusy
from node.lock import StateLock, read_holder
from tests.kit import CHECKOUT, wait_until

HOLD = """
import sys
from pathlib import Path
from node.lock import StateLock
lock = StateLock.acquire(Path(sys.argv[1]), "atrium capture", timeout_s=0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock_file(tmp_path: Path) -> Path:
    return tmp_path / "local.lock"


def holder(path: Path) -> subprocess.Popen[bytes]:
    """Start a process that holds the lock until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate(timeout=10)


def test_the_file_says_who_has_it(lock_file: Path) -> None:
    with StateLock.acquire(lock_file, "atrium ingest", timeout_s=0):
        assert read_holder(lock_file) == (os.getpid(), "atrium ingest")
    assert read_holder(lock_file) is None


def test_the_file_is_private(lock_file: Path) -> None:
    with StateLock.acquire(lock_file, "x", timeout_s=0):
        assert lock_file.stat().st_mode & 0o777 == 0o600


def test_a_second_one_is_told_who_has_it(lock_file: Path) -> None:
    process = holder(lock_file)
    try:
        with pytest.raises(StateBusy) as caught:
            StateLock.acquire(lock_file, "atrium ingest", timeout_s=0)
    finally:
        end(process)
    assert f"`atrium capture` (process {process.pid})" in caught.value.detail
    assert caught.value.exit_status == 75


def test_a_killed_holder_leaves_no_lock(lock_file: Path) -> None:
    process = holder(lock_file)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    StateLock.acquire(lock_file, "atrium ingest", timeout_s=0).release()


def test_a_waiting_one_gets_it_when_it_is_free(lock_file: Path) -> None:
    first = StateLock.acquire(lock_file, "first", timeout_s=0)
    got: list[StateLock] = []
    waiter = threading.Thread(target=lambda: got.append(StateLock.acquire(lock_file, "second", timeout_s=20)))
    waiter.start()
    assert read_holder(lock_file) == (os.getpid(), "first")
    first.release()
    wait_until(lambda: got, "the second one has the lock")
    waiter.join()
    assert read_holder(lock_file) == (os.getpid(), "second")
    got[0].release()


def test_waiting_has_an_end(lock_file: Path) -> None:
    with (
        StateLock.acquire(lock_file, "first", timeout_s=0),
        pytest.raises(StateBusy),
    ):
        StateLock.acquire(lock_file, "second", timeout_s=0.1)


def test_a_link_is_not_followed(lock_file: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    lock_file.symlink_to(tmp_path / "precious")
    with pytest.raises(Exception, match="can't be used"):
        StateLock.acquire(lock_file, "x", timeout_s=0)
    assert (tmp_path / "precious").read_text() == "x"


def test_a_place_that_can_not_be_written_is_named(lock_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("node.lock.os.open", refuse)
    with pytest.raises(ReadOnlyState, match=r"local\.lock"):
        StateLock.acquire(lock_file, "x", timeout_s=0)


def test_a_file_with_other_content_names_nobody(lock_file: Path) -> None:
    lock_file.write_text("rubbish\n")
    assert read_holder(lock_file) is None
    assert read_holder(lock_file.with_name("absent")) is None
