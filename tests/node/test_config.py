"""Where settings are read: the environment and `config.toml`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from crdt.errors import BadInput, SettingsInvalid
from node import config
from node.config import NodeConfig, load

pytestmark = pytest.mark.usefixtures("nobody_s_settings")


def loaded(
    tmp_path: Path,
    toml: str | bytes = "",
    flags: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
) -> NodeConfig:
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    (state / "config.toml").write_bytes(toml.encode() if isinstance(toml, str) else toml)
    return load(flags, environ={"ATRIUM_STATE": str(state), "HOME": str(tmp_path), **(env or {})})


def test_without_anything_there_are_defaults(tmp_path: Path) -> None:
    found = load(environ={"HOME": str(tmp_path)}, directory=tmp_path)
    assert (found.port, found.capture.watch, found.log.level) == (7707, True, "info")
    assert found.state.path == tmp_path / ".atrium"


def test_broken_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"config\.toml.*line 2"):
        loaded(tmp_path, "[node]\nport = = 1\n")


def test_toml_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"config\.toml"):
        loaded(tmp_path, b"[node]\n# \xff\n")


def test_a_config_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state" / "config.toml").mkdir(parents=True)
    with pytest.raises(SettingsInvalid, match="can't be read"):
        load(environ={"ATRIUM_STATE": str(tmp_path / "state"), "HOME": str(tmp_path)})


def test_toml_that_nests_beyond_any_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"config\.toml"):
        loaded(tmp_path, "a = " + "[" * 100_000)


@pytest.mark.parametrize("below", ["", "sub"])
def test_a_file_where_the_state_directory_should_be_is_told(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="not a directory"):
        load(environ={"ATRIUM_STATE": str(tmp_path / "file" / below)})


def test_a_state_directory_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not UTF-8"):
        load(environ={"ATRIUM_STATE": str(tmp_path / "\udcff")})


def test_homes_are_those_of_the_variable_and_of_the_password_database(tmp_path: Path) -> None:
    longer = str(tmp_path / "a" / "very" / "long" / "home")
    found = config.homes({"HOME": longer + "/"})
    assert longer in found
    assert list(found) == sorted(found, key=len, reverse=True)
    assert "" not in config.homes({})


def test_the_runtime_directory_is_the_session_s_or_one_of_the_user() -> None:
    assert config.runtime_directory({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/user/7/atrium")
    for env in ({}, {"XDG_RUNTIME_DIR": "relative"}):
        assert config.runtime_directory(env).name.startswith("atrium-")


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colour_follows_the_terminal_and_the_wish(env: Mapping[str, str], wanted: bool) -> None:
    assert config.wants_colour(env) is wanted


def test_transcript_roots_follow_home_and_the_agents_variables(tmp_path: Path) -> None:
    plain = config.transcript_roots(tmp_path, {})
    assert str(tmp_path / ".claude" / "projects") in plain["claude-code"]
    moved = config.transcript_roots(tmp_path, {"CODEX_HOME": "/srv/codex"})
    assert any(root.startswith("/srv/codex") for root in moved["codex"])


def test_configured_roots_replace_a_provider_s_own(tmp_path: Path) -> None:
    found = loaded(tmp_path, f"[capture.roots]\ncodex = {json.dumps([str(tmp_path)])}\n")
    roots = config.capture_roots(found, {"HOME": str(tmp_path)})
    assert roots["codex"] == [str(tmp_path)]
    assert str(tmp_path / ".claude" / "projects") in roots["claude-code"]
