"""Freshness, coherence, retention, clock: the checks of what is kept."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS
from archivist.providers.base import Cursor
from crdt.entries import Draft, EntryKind
from crdt.operations import Operation, encode, mint
from node import checks_data
from node.checks import Check, Look, Severity, Surroundings
from node.local_store import NoteRoot
from node.services.level import follow_records
from retrieval.index_schema import discard_database
from tests.crdt.older_store import make_older_store
from tests.node.filled import archive, fragment_of, opened

HOUR_S = 3_600.0
DAY_S = 24 * HOUR_S


def judged(
    name: str, root: Path, *, now_s: float | None = None, roots: Mapping[str, list[str]] | None = None
) -> tuple[str, Severity]:
    """Run one check and give its code and severity."""
    check = checked(name, root, now_s=now_s, roots=roots)
    assert check is not None
    return check.code, check.severity


def checked(
    name: str, root: Path, *, now_s: float | None = None, roots: Mapping[str, list[str]] | None = None
) -> Check | None:
    """Run one check."""
    around = Surroundings(now_s=time.time() if now_s is None else now_s)
    with opened(root) as local:
        found = getattr(checks_data, f"check_{name}")(Look(local, roots or {}, around))
    assert found is None or isinstance(found, Check)
    return found


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
def claude(tmp_path: Path) -> Path:
    """Make the directory in which an agent keeps transcripts, with one in it that was written just now."""
    folder = tmp_path / "agent" / "projects"
    write_transcript(folder, "first", age_s=0)
    return folder


def write_transcript(folder: Path, name: str, *, age_s: float) -> Path:
    """Write a transcript that was last changed so long ago."""
    path = folder / "-srv-depot" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type":"user"}\n')
    then_s = time.time() - age_s
    os.utime(path, (then_s, then_s))
    return path


def read_all(root: Path, folder: Path) -> None:
    """Note every transcript below a folder as read."""
    with opened(root, writable=True) as local:
        cursors = {
            source.relative_path: Cursor(
                size_bytes=source.size_bytes, modified_ns=source.modified_ns, inode=source.inode
            )
            for source in PROVIDERS["claude-code"].sources(folder)
        }
        local.local_store.set_cursors("claude-code", str(folder), cursors)


def test_a_fresh_machine_never_refreshed_and_that_is_fine(root: Path) -> None:
    assert judged("refresh", root) == ("refresh_never_recorded", Severity.OK)


def test_an_archive_that_never_refreshed_is_odd(filled: Path) -> None:
    assert judged("refresh", filled) == ("refresh_never_recorded", Severity.WARN)


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        (0, ("refresh_fresh", Severity.OK)),
        (HOUR_S - 60, ("refresh_fresh", Severity.OK)),
        (HOUR_S + 60, ("refresh_stale", Severity.WARN)),
        (6 * HOUR_S - 60, ("refresh_stale", Severity.WARN)),
        (6 * HOUR_S + 60, ("refresh_dead", Severity.BROKEN)),
        (-30, ("refresh_fresh", Severity.OK)),
        (-HOUR_S, ("refresh_invalid", Severity.WARN)),
    ],
)
def test_the_stamp_s_age_is_judged(root: Path, age_s: float, expected: tuple[str, Severity]) -> None:
    root.mkdir()
    (root / "last-refresh").write_text(f"{time.time() - age_s}\n")
    assert judged("refresh", root) == expected


@pytest.mark.parametrize("stamp", [b"", b"yesterday", b"inf", b"-5", b"\xff\xfe", b"1" * 500])
def test_a_stamp_of_no_meaning_is_said(root: Path, stamp: bytes) -> None:
    root.mkdir()
    (root / "last-refresh").write_bytes(stamp)
    assert judged("refresh", root) == ("refresh_invalid", Severity.WARN)


def test_a_stamp_that_is_a_directory_is_said(root: Path) -> None:
    (root / "last-refresh").mkdir(parents=True)
    assert judged("refresh", root) == ("refresh_invalid", Severity.WARN)


def test_an_archive_of_any_age_is_fresh_while_nothing_new_waits(filled: Path, claude: Path) -> None:
    read_all(filled, claude)
    in_a_week_s = time.time() + 7 * DAY_S
    roots = {"claude-code": [str(claude)]}
    assert judged("archive", filled, now_s=in_a_week_s, roots=roots) == ("archive_fresh", Severity.OK)


@pytest.mark.parametrize(
    ("later_s", "expected"),
    [
        (HOUR_S / 2, ("archive_fresh", Severity.OK)),
        (2 * HOUR_S, ("archive_stale", Severity.WARN)),
        (25 * HOUR_S, ("archive_dead", Severity.BROKEN)),
    ],
)
def test_an_archive_is_stale_by_what_waits_for_it(
    filled: Path, claude: Path, later_s: float, expected: tuple[str, Severity]
) -> None:
    write_transcript(claude, "second", age_s=-1)
    roots = {"claude-code": [str(claude)]}
    assert judged("archive", filled, now_s=time.time() + later_s, roots=roots) == expected


def test_what_was_left_out_before_the_last_capture_makes_no_archive_stale(
    filled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "agent" / "projects"
    write_transcript(folder, "old", age_s=3 * DAY_S)
    assert judged("archive", filled, roots={"claude-code": [str(folder)]}) == ("archive_fresh", Severity.OK)


def test_no_archive_is_fine_where_there_never_was_one(root: Path) -> None:
    assert judged("archive", root) == ("archive_missing", Severity.OK)
    with opened(root, writable=True) as local:
        assert local.archive.log.head() == 0
    assert judged("archive", root) == ("archive_missing", Severity.OK)


def test_segments_without_their_log_are_a_loss(filled: Path) -> None:
    (filled / "canonical" / "feeds.db").unlink()
    assert judged("archive", filled) == ("archive_lost", Severity.BROKEN)


def test_an_index_of_an_archive_that_is_gone_tells_of_the_loss(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]), seal=False)
    (root / "canonical" / "feeds.db").unlink()
    assert judged("archive", root) == ("archive_lost", Severity.BROKEN)


def test_a_damaged_log_is_said(filled: Path) -> None:
    (filled / "canonical" / "feeds.db").write_bytes(b"no database at all" * 512)
    assert judged("archive", filled) == ("archive_damaged", Severity.BROKEN)


def test_an_index_level_with_its_archive_is_coherent(filled: Path) -> None:
    assert judged("index", filled) == ("index_coherent", Severity.OK)


def test_an_index_behind_its_archive_is_said(filled: Path) -> None:
    archive(filled, fragment_of("b", ["two"]), follow=False)
    assert judged("index", filled) == ("index_behind", Severity.WARN)


def test_an_index_ahead_of_its_archive_is_broken(filled: Path, tmp_path: Path) -> None:
    archive(filled, fragment_of("b", ["two"]))
    archive(tmp_path / "backup", fragment_of("a", ["one"]))
    (tmp_path / "backup" / "canonical" / "feeds.db").replace(filled / "canonical" / "feeds.db")
    assert judged("index", filled) == ("index_ahead", Severity.BROKEN)


def test_a_deleted_index_is_broken_only_where_there_is_something_to_index(filled: Path, root: Path) -> None:
    discard_database(filled / "derived" / "index.db")
    check = checked("index", filled)
    assert check is not None
    assert (check.code, check.severity) == ("index_missing", Severity.BROKEN)
    assert "atrium rebuild" in str(check.hint)


def test_no_index_is_fine_on_a_fresh_machine(root: Path) -> None:
    assert judged("index", root) == ("index_missing", Severity.OK)


def test_notes_without_their_index_are_broken(root: Path, tmp_path: Path) -> None:
    note_root(root, tmp_path)
    assert judged("index", root) == ("index_missing", Severity.BROKEN)


def test_an_index_of_another_version_is_said(filled: Path) -> None:
    change_index(filled, "PRAGMA user_version = 99")
    assert judged("index", filled) == ("index_incompatible", Severity.BROKEN)


def test_a_damaged_index_is_said(filled: Path) -> None:
    (filled / "derived" / "index.db").write_bytes(b"no database at all" * 512)
    assert judged("index", filled) == ("index_damaged", Severity.BROKEN)


def test_records_without_their_texts_are_broken(filled: Path) -> None:
    change_index(filled, "DELETE FROM texts")
    assert judged("index", filled) == ("index_incoherent", Severity.BROKEN)


def change_index(root: Path, statement: str) -> None:
    """Change the index behind the program's back."""
    with closing(sqlite3.connect(root / "derived" / "index.db", isolation_level=None)) as connection:
        connection.execute(statement)


def note_root(root: Path, folder: Path) -> None:
    """Note a directory of notes as one that was indexed."""
    with opened(root, writable=True) as local:
        found = NoteRoot(path=str(folder), provider="brain", exclude=(), third_party=False)
        local.local_store.set_note_root(found)


def test_the_substring_lane_may_be_a_little_behind(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged("substrings", filled) == ("substrings_level", Severity.OK)
    (filled / "derived" / "substrings.db").unlink()
    assert judged("substrings", filled) == ("substrings_level", Severity.OK)
    monkeypatch.setattr(checks_data, "SUBSTRINGS_LEFT_MAX", 0)
    assert judged("substrings", filled) == ("substrings_behind", Severity.WARN)


def test_without_an_index_nothing_is_said_of_its_substrings(root: Path) -> None:
    assert checked("substrings", root) is None


def test_directories_of_notes_that_are_gone_are_counted_and_not_named(root: Path, tmp_path: Path) -> None:
    assert checked("notes", root) is None
    (tmp_path / "here").mkdir()
    note_root(root, tmp_path / "here")
    assert judged("notes", root) == ("notes_present", Severity.OK)
    note_root(root, tmp_path / "elsewhere")
    check = checked("notes", root)
    assert check is not None
    assert (check.code, check.severity) == ("notes_gone", Severity.WARN)
    assert "1 of 2" in str(check.hint)
    assert "elsewhere" not in str(check.hint)


@pytest.mark.parametrize(
    ("difference_s", "expected"),
    [(0, "clock_ok"), (-200, "clock_ok"), (-400, "clock_skew"), (10 * 365 * DAY_S, "clock_ok")],
)
def test_the_clock_is_compared_with_the_archive_s_newest_entry(
    filled: Path, difference_s: float, expected: str
) -> None:
    assert judged("clock", filled, now_s=time.time() + difference_s)[0] == expected


def test_a_clock_in_1970_is_said_and_breaks_nothing(root: Path) -> None:
    assert judged("clock", root, now_s=5.0) == ("clock_skew", Severity.WARN)


def test_without_transcripts_nothing_is_said_of_retention(root: Path) -> None:
    assert checked("retention", root) is None


@pytest.mark.parametrize(
    ("age_days", "settings", "expected"),
    [
        (1, None, ("retention_ok", Severity.OK)),
        (24, None, ("retention_near", Severity.WARN)),
        (24, {"cleanupPeriodDays": 365}, ("retention_ok", Severity.OK)),
        (6, {"cleanupPeriodDays": 7}, ("retention_near", Severity.WARN)),
        (24, {"cleanupPeriodDays": "many"}, ("retention_near", Severity.WARN)),
        (24, {"theme": "dark"}, ("retention_near", Severity.WARN)),
        (1, {"cleanupPeriodDays": 0}, ("retention_near", Severity.WARN)),
    ],
)
def test_a_transcript_that_waits_too_long_is_said(
    filled: Path, tmp_path: Path, age_days: float, settings: object, expected: tuple[str, Severity]
) -> None:
    folder = tmp_path / "agent" / "projects"
    write_transcript(folder, "old", age_s=age_days * DAY_S)
    if settings is not None:
        (tmp_path / "agent" / "settings.json").write_text(json.dumps(settings))
    assert judged("retention", filled, roots={"claude-code": [str(folder)]}) == expected


def test_a_captured_transcript_may_be_deleted(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "projects"
    write_transcript(folder, "old", age_s=29 * DAY_S)
    read_all(filled, folder)
    assert judged("retention", filled, roots={"claude-code": [str(folder)]})[0] == "retention_ok"


def remember(root: Path, *, follow: bool) -> None:
    """Keep a memory, in the feeds and the projection, and in the index where that is wanted."""
    with opened(root, writable=True) as local:
        record, nonce = mint(local.identity.public_key)
        said = Operation(id=record, type="memory", set={"kind": "memory"}, text="one", nonce=nonce)
        local.feeds.write([Draft(space=local.feeds.home(), kind=EntryKind.RECORD, body=encode(said))])
        local.projector.catch_up()
        if follow:
            follow_records(local, lambda _progress: None)


def test_an_index_behind_shared_memory_is_said(filled: Path) -> None:
    remember(filled, follow=True)
    assert judged("index", filled) == ("index_coherent", Severity.OK)
    remember(filled, follow=False)
    assert judged("index", filled) == ("index_behind", Severity.WARN)


def test_an_archive_of_an_older_version_is_not_told_as_missing(root: Path) -> None:
    make_older_store(root / "canonical" / "feeds.db", [])
    check = checked("archive", root)
    assert check is not None
    assert (check.code, check.severity) == ("archive_older", Severity.WARN)
    assert "`atrium capture`" in str(check.hint)
