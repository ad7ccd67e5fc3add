"""opencode: its sessions as sources, wherever they are stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, SourceUnreadable, opencode
from tests.archivist.providers.samples import (
    OpencodeStore,
    Reading,
    fill_opencode,
    fill_opencode_files,
    read_root,
    text,
)

PROVIDER = PROVIDERS["opencode"]


def test_a_session_in_the_database_is_not_read_from_files_too(tmp_path: Path) -> None:
    fill_opencode(tmp_path)
    fill_opencode_files(tmp_path, "ses_1")
    fill_opencode_files(tmp_path, "ses_2")
    paths = [source.relative_path for source in PROVIDER.sources(tmp_path)]
    assert paths == ["opencode.db/ses_1", "storage/session/p/ses_2.json"]


def test_a_part_that_changed_has_the_session_read_again(tmp_path: Path) -> None:
    store = fill_opencode(tmp_path)
    before = read_root(PROVIDER, tmp_path)
    store.change_part("prt_5", text("The volume is full."))
    (source,) = PROVIDER.sources(tmp_path)
    after = Reading().add(PROVIDER.read(source, before.cursor))
    assert after.increments[0].rewritten
    changed = [event for event in after.events if event not in before.events]
    assert [(event.raw_id, event.text) for event in changed] == [("prt_5", "The volume is full.")]


def test_a_child_session_is_linked_and_a_placeholder_is_no_title(tmp_path: Path) -> None:
    store = OpencodeStore(tmp_path / "opencode.db")
    store.session("ses_2", parent="ses_1", title="Child session - 2026-01-05T09:00:00.000Z")
    store.message("ses_2", "msg_1", {"role": "user"}, {"prt_1": text("walk")})
    session = read_root(PROVIDER, tmp_path).sessions["ses_2"]
    assert (session.parent_source_id, session.title) == ("ses_1", None)


def test_a_large_session_comes_in_increments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode, "INCREMENT_BYTES", 100)
    fill_opencode(tmp_path)
    reading = read_root(PROVIDER, tmp_path)
    assert len(reading.increments) > 1
    assert [increment.cursor.modified_ns > 0 for increment in reading.increments][-2:] == [False, True]
    monkeypatch.undo()
    assert reading.events == read_root(PROVIDER, tmp_path).events


def test_a_file_that_is_no_database_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"not a database at all" * 100)
    fill_opencode_files(tmp_path)
    sources = PROVIDER.sources(tmp_path)
    assert next(sources).relative_path == "storage/session/p/ses_1.json"
    with pytest.raises(SourceUnreadable, match=r"opencode\.db"):
        next(sources)


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    assert PROVIDER.default_roots(tmp_path, {}) == [tmp_path / ".local/share/opencode"]
    assert PROVIDER.default_roots(tmp_path, {"XDG_DATA_HOME": "/d"}) == [Path("/d/opencode")]
