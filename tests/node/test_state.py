"""Which state directory is meant: the first hit wins, and a broken declaration is no miss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crdt.errors import SettingsInvalid
from node import state
from node.state import LOCAL_FILE, SHARED_FILE, StateConfig, find, home_of, refuse_doubtful


def declare(folder: Path, content: object, name: str = SHARED_FILE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, "utf-8")
    return folder


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    return folder


def test_the_explicit_state_wins_over_everything(tmp_path: Path) -> None:
    declare(tmp_path / "data", {"atrium": {"path": "x"}})
    found = find(
        {"ATRIUM_STATE": str(tmp_path / "s"), "SYNTOPICA_DATA": str(tmp_path / "data")}, tmp_path / "data"
    )
    assert (found.path, found.source) == (tmp_path / "s", "explicit_state")


def test_a_relative_explicit_state_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert find({"ATRIUM_STATE": "s/../t"}).path == tmp_path / "t"


@pytest.mark.parametrize(
    ("shared", "local", "below"),
    [
        ({"atrium": {"path": "deep/state"}}, None, "deep/state"),
        ({"atrium": {}}, None, "atrium"),
        ({}, None, "atrium"),
        ({"atrium": {"path": "a"}}, {"atrium": {"path": "b"}}, "b"),
        ({"atrium": {"path": "a"}}, {"other": 1}, "a"),
        (None, {"atrium": {"path": "b"}}, "b"),
    ],
)
def test_data_declares_the_state_relative_to_its_file(
    tmp_path: Path, shared: object, local: object, below: str
) -> None:
    folder = tmp_path / "data"
    for content, name in ((shared, SHARED_FILE), (local, LOCAL_FILE)):
        if content is not None:
            declare(folder, content, name)
    found = find({"SYNTOPICA_DATA": str(folder)}, tmp_path)
    assert (found.path, found.source) == (folder / below, "configured")


def test_an_absolute_declaration_stays_absolute(tmp_path: Path) -> None:
    declare(tmp_path / "data", {"atrium": {"path": "/srv/state"}})
    assert find({"SYNTOPICA_DATA": str(tmp_path / "data")}).path == Path("/srv/state")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"atrium": 7}', '{"atrium": {"path": 7}}', '{"atrium": {"path": ""}}']
)
def test_a_broken_declaration_is_invalid_and_not_skipped(tmp_path: Path, content: str) -> None:
    declare(tmp_path / "data", content)
    found = find({"SYNTOPICA_DATA": str(tmp_path / "data"), "HOME": "/h"}, tmp_path)
    assert found.source == "invalid"
    with pytest.raises(SettingsInvalid, match=SHARED_FILE):
        refuse_doubtful(found)


def test_a_declaration_that_is_not_there_is_missing(tmp_path: Path) -> None:
    found = find({"SYNTOPICA_DATA": str(tmp_path / "absent"), "HOME": "/h"}, tmp_path)
    assert found.source == "missing"
    with pytest.raises(SettingsInvalid, match="SYNTOPICA_DATA"):
        refuse_doubtful(found)


def test_the_nearest_enclosing_declaration_counts(tmp_path: Path) -> None:
    declare(tmp_path, {"atrium": {"path": "far"}})
    declare(tmp_path / "a", {"atrium": {"path": "near"}})
    below = tmp_path / "a" / "b" / "c"
    below.mkdir(parents=True)
    assert find({}, below).path == tmp_path / "a" / "near"


def test_the_search_leaves_its_own_repository_and_stops_at_another(tmp_path: Path) -> None:
    outer = declare(repository(tmp_path / "outer"), {})
    plain = declare(outer / "plain", {"atrium": {"path": "p"}})
    inner = repository(plain / "inner")
    assert find({"HOME": "/h"}, inner).path == plain / "p"
    (plain / SHARED_FILE).unlink()
    assert find({"HOME": "/h"}, inner).source == "default_path"


def test_a_worktree_s_file_marks_a_repository_too(tmp_path: Path) -> None:
    outer = declare(repository(tmp_path / "outer"), {})
    inner = outer / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: elsewhere")
    assert find({"HOME": "/h"}, inner).source == "default_path"


def test_the_default_is_in_the_home_directory(tmp_path: Path) -> None:
    assert find({"HOME": "/h"}, tmp_path) == StateConfig(
        path=Path("/h/.atrium"), source="default_path", declared_by="default"
    )
    assert home_of({}).is_absolute()


def test_a_removed_working_directory_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find({"HOME": "/h"}).path == Path("/h/.atrium")


def test_what_is_known_is_not_refused(tmp_path: Path) -> None:
    refuse_doubtful(find({"ATRIUM_STATE": str(tmp_path)}))
    refuse_doubtful(find({"HOME": "/h"}, tmp_path))


def test_a_home_that_is_not_absolute_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "passwd_home", lambda: "/of/the/database")
    assert home_of({"HOME": "relative"}) == Path("/of/the/database")
    monkeypatch.setattr(state, "passwd_home", lambda: "")
    with pytest.raises(SettingsInvalid, match="home directory"):
        find({"HOME": "relative"}, tmp_path)
    assert find({"ATRIUM_STATE": "/s"}, tmp_path).path == Path("/s")


def test_the_home_of_nobody_is_a_directory_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find({"ATRIUM_STATE": "~no-such-user/x"}).path == tmp_path / "~no-such-user/x"
