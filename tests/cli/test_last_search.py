"""Hits by number, in this terminal alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import last_search
from crdt.errors import NotFound


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "atrium"


def test_hits_are_counted_from_one(runtime: Path) -> None:
    last_search.remember(["a1", "b2"])
    assert [last_search.recall(1), last_search.recall(2)] == ["a1", "b2"]
    for number in (0, 3):
        with pytest.raises(NotFound, match="has 2 hits"):
            last_search.recall(number)


def test_the_last_search_counts(runtime: Path) -> None:
    last_search.remember(["a1"])
    last_search.remember(["b2"])
    assert last_search.recall(1) == "b2"
    assert len(list(runtime.iterdir())) == 1


def test_another_terminal_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    last_search.remember(["a1"])
    monkeypatch.setattr("cli.last_search.os.getsid", lambda _pid: 4_000_000)
    with pytest.raises(NotFound, match="no search is remembered"):
        last_search.recall(1)


def test_the_file_is_private(runtime: Path) -> None:
    last_search.remember(["a1"])
    (path,) = runtime.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert runtime.stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_written_searching_goes_on(runtime: Path) -> None:
    runtime.write_text("in the way")
    last_search.remember(["a1"])
    with pytest.raises(Exception, match="atrium"):
        last_search.recall(1)


def test_a_directory_that_others_can_write_is_not_believed(runtime: Path) -> None:
    last_search.remember(["a1"])
    runtime.chmod(0o777)
    with pytest.raises(Exception, match="only you"):
        last_search.recall(1)
