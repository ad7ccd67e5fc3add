"""opencode's older files: the same sessions as in its database."""

from __future__ import annotations

from pathlib import Path

from archivist.providers import PROVIDERS
from tests.archivist.providers.samples import fill_opencode, fill_opencode_files, read_root

PROVIDER = PROVIDERS["opencode"]


def test_files_give_the_events_that_the_database_gives(tmp_path: Path) -> None:
    fill_opencode(tmp_path / "database")
    fill_opencode_files(tmp_path / "files")
    database, files = (read_root(PROVIDER, tmp_path / name) for name in ("database", "files"))
    assert files.events == database.events
    assert files.sessions == database.sessions


def test_files_that_are_no_json_or_links_are_counted(tmp_path: Path) -> None:
    fill_opencode_files(tmp_path)
    part = tmp_path / "storage/part/msg_2"
    (part / "prt_5.json").write_text('{"type":')
    (part / "prt_6.json").symlink_to(part / "prt_3.json")
    reading = read_root(PROVIDER, tmp_path)
    assert [event.raw_id for event in reading.events] == ["prt_1", "prt_3", "prt_4", "prt_4#1"]
    assert reading.skipped["part that is not an object of JSON"] == 1
