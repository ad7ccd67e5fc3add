"""Transcripts that wait: which they are, how long they are kept, and that the look is short."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from node import checks_data
from node.checks import Look, Severity, Surroundings
from node.checks_waiting import Waiting, cleanup_days, find_waiting
from tests.node.filled import archive, fragment_of, opened
from tests.node.test_checks_data import DAY_S, read_all, write_transcript


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Make a state directory with one conversation."""
    archive(tmp_path / "state", fragment_of("a", ["one"]))
    return tmp_path / "state"


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """Make the directory in which an agent keeps transcripts, with one in it that was written just now."""
    folder = tmp_path / "agent" / "projects"
    write_transcript(folder, "first", age_s=-1)
    return folder


def waiting(root: Path, roots: Mapping[str, list[str]], scan_s_max: float | None = None) -> Waiting:
    """Look for what waits."""
    with opened(root) as local:
        return find_waiting(Look(local, roots, Surroundings(scan_s_max=scan_s_max)))


def test_what_was_read_does_not_wait(filled: Path, claude: Path) -> None:
    roots = {"claude-code": [str(claude)]}
    assert waiting(filled, roots).sources == 1
    read_all(filled, claude)
    assert waiting(filled, roots) == Waiting()


def test_what_grew_since_it_was_read_waits(filled: Path, claude: Path) -> None:
    read_all(filled, claude)
    with next(claude.rglob("*.jsonl")).open("a") as file:
        file.write("{}\n")
    assert waiting(filled, {"claude-code": [str(claude)]}).sources == 1


def test_the_oldest_change_counts(filled: Path, claude: Path) -> None:
    first = write_transcript(claude, "later", age_s=-100)
    second = write_transcript(claude, "sooner", age_s=-50)
    first_s, second_s = first.stat().st_mtime, second.stat().st_mtime
    (claude / "-srv-depot" / "first.jsonl").unlink()
    assert waiting(filled, {"claude-code": [str(claude)]}).oldest_new_s == pytest.approx(second_s)
    assert first_s > second_s


def test_agents_that_keep_everything_are_near_nothing(filled: Path, tmp_path: Path) -> None:
    write_transcript(tmp_path / "sessions", "old", age_s=900 * DAY_S)
    found = waiting(filled, {"generic": [str(tmp_path / "sessions")]})
    assert (found.sources, found.used_share) == (1, 0.0)


def test_a_look_that_was_cut_short_says_so(filled: Path, claude: Path) -> None:
    around = Surroundings(scan_s_max=0.0)
    with opened(filled) as local:
        look = Look(local, {"claude-code": [str(claude)]}, around)
        assert find_waiting(look).is_partial
        check = checks_data.check_retention(look)
    assert check is not None
    assert (check.code, check.severity) == ("retention_partial", Severity.OK)


def test_roots_that_are_absent_or_of_nobody_are_passed_over(filled: Path, tmp_path: Path) -> None:
    roots = {"claude-code": [str(tmp_path / "absent")], "nobody": [str(tmp_path)]}
    assert waiting(filled, roots) == Waiting()


def test_settings_that_can_t_be_read_say_nothing(tmp_path: Path) -> None:
    assert cleanup_days(tmp_path / "absent.json") == 30
    (tmp_path / "settings.json").write_bytes(b"{\xff")
    assert cleanup_days(tmp_path / "settings.json") == 30
    (tmp_path / "settings.json").write_bytes(b'{"cleanupPeriodDays": 99.5}')
    assert cleanup_days(tmp_path / "settings.json") == 99.5
