"""The node's log: JSON lines, bounded, private, and without what it should not know."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from node.logs import BoundedFile, frames, open_log


def test_a_line_is_json_with_event_level_and_instant(tmp_path: Path) -> None:
    open_log(tmp_path / "node.log", "info", 1 << 20).info("node_started", port=7707)
    (line,) = (tmp_path / "node.log").read_text().splitlines()
    found = json.loads(line)
    assert (found["event"], found["level"], found["port"]) == ("node_started", "info", 7707)
    assert found["timestamp"].endswith("Z")


def test_the_level_is_kept(tmp_path: Path) -> None:
    log = open_log(tmp_path / "node.log", "warning", 1 << 20)
    log.info("quiet")
    log.warning("loud")
    assert "quiet" not in (tmp_path / "node.log").read_text()
    assert "loud" in (tmp_path / "node.log").read_text()


def test_the_log_is_private_and_bounded(tmp_path: Path) -> None:
    log = open_log(tmp_path / "node.log", "info", 4096)
    for number in range(500):
        log.info("capture_finished", number=number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["node.log", "node.log.1"]
    for path in tmp_path.iterdir():
        assert path.stat().st_size <= 4096
        assert path.stat().st_mode & 0o777 == 0o600
    assert '"number": 499' in (tmp_path / "node.log").read_text()


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        file = BoundedFile(tmp_path / "x", 100)
        file.write("line\n")
        file.close()
    assert (tmp_path / "x").read_text() == "line\nline\n"


def test_a_line_that_can_t_be_written_is_lost_and_the_next_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = BoundedFile(tmp_path / "x", 10)
    with monkeypatch.context() as full:
        full.setattr("node.logs.os.write", _no_space)
        full.setattr("node.logs.os.open", _no_space)
        file.write("line\n")
        file.write("longer than the bound\n")
    file.write("there is room again\n")
    file.close()
    assert (tmp_path / "x").read_text() == "there is room again\n"


def test_a_line_of_which_the_end_is_lost_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = BoundedFile(tmp_path / "x", 100)
    write = os.write
    with monkeypatch.context() as full:
        full.setattr("node.logs.os.write", lambda descriptor, data: write(descriptor, data[:4]))
        file.write("line\n")
    file.write("whole\n")
    file.write("whole again\n")
    file.close()
    assert (tmp_path / "x").read_text() == "line\nwhole\nwhole again\n"


def _no_space(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "node.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        BoundedFile(tmp_path / "node.log", 100)


def test_frames_say_where_and_not_what() -> None:
    try:
        int("a secret from a transcript")
    except ValueError as error:
        found = frames(error)
    assert "test_frames_say_where_and_not_what" in found[0]
    assert "secret" not in str(found)
