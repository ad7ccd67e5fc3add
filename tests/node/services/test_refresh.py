"""The stamp of the last success: written whole, private, as epoch seconds."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from crdt.errors import ReadOnlyState
from node.paths import StatePaths
from node.services import refresh
from node.services.refresh import stamp_refresh


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """Give the paths of a state directory that is there."""
    return StatePaths(tmp_path)


def test_the_stamp_is_the_second_of_now(paths: StatePaths) -> None:
    before = int(time.time())
    stamp_refresh(paths)
    assert before <= int(paths.last_refresh.read_text()) <= time.time()
    assert stat.S_IMODE(paths.last_refresh.stat().st_mode) == 0o600


def test_it_replaces_the_one_before_and_leaves_nothing_else(paths: StatePaths) -> None:
    stamp_refresh(paths, 7.9)
    stamp_refresh(paths, 8.2)
    assert paths.last_refresh.read_text() == "8"
    assert [path.name for path in paths.root.iterdir()] == ["last-refresh"]


def test_a_state_that_can_t_be_written_is_told(paths: StatePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(refresh.os, "open", refused)
    with pytest.raises(ReadOnlyState, match="last-refresh"):
        stamp_refresh(paths)
