"""Where settings come from, and which of them wins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from crdt.errors import SettingsInvalid
from node import config
from node.config import SETTINGS, NodeConfig, load

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


def test_a_flag_wins_over_the_environment_over_the_file(tmp_path: Path) -> None:
    toml = "[node]\nport = 1001\n"
    env = {"ATRIUM_PORT": "1002"}
    assert loaded(tmp_path, toml).port == 1001
    assert loaded(tmp_path, toml, env=env).port == 1002
    assert loaded(tmp_path, toml, {"node.port": 1003}, env).port == 1003


def test_an_absent_flag_does_not_win(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[node]\nport = 1001\n", {"node.port": None}).port == 1001


def test_every_setting_can_be_set_in_the_file(tmp_path: Path) -> None:
    toml = """
    [node]
    port = 7717
    [capture]
    watch = false
    scan_interval_s = 60
    [capture.roots]
    codex = ["/srv/codex", "~/other"]
    [log]
    level = "debug"
    size_mb_max = 2
    """
    found = loaded(tmp_path, toml)
    assert found.port == 7717
    assert (found.capture.watch, found.capture.scan_interval_s) == (False, 60)
    assert found.capture.roots["codex"][0] == "/srv/codex"
    assert (found.log.level, found.log.size_bytes_max) == ("debug", 2 << 20)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[node]\nprot = 1\n", ("node.prot", "node.port")),
        ("[nod]\nport = 1\n", ("nod.port", "node.port")),
        ("port = 1\n", ("port", "node.port")),
        ("[capture]\nwach = true\n", ("capture.wach", "capture.watch")),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(
    tmp_path: Path, toml: str, words: tuple[str, str]
) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        loaded(tmp_path, toml)
    assert f"`{words[0]}`" in caught.value.detail
    assert f"`{words[1]}`" in caught.value.hint


@pytest.mark.parametrize(
    "toml",
    [
        '[node]\nport = "x"\n',
        "[node]\nport = -1\n",
        "[node]\nport = 70000\n",
        "[node]\nport = true\n",
        "[node]\nport = 1.5\n",
        '[capture]\nwatch = "perhaps"\n',
        "[capture]\nwatch = 7\n",
        '[capture]\nroots = "x"\n',
        '[capture.roots]\ncodex = "x"\n',
        '[capture.roots]\ncodex = ["relative"]\n',
        '[log]\nlevel = "loud"\n',
        "[log]\nsize_mb_max = 0\n",
    ],
)
def test_a_wrong_value_is_refused(tmp_path: Path, toml: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"in config\.toml must be"):
        loaded(tmp_path, toml)


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="ATRIUM_PORT must be a whole number"):
        loaded(tmp_path, env={"ATRIUM_PORT": "many"})


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


def test_every_setting_has_a_default_that_it_accepts() -> None:
    for setting in SETTINGS.values():
        assert setting.parse(setting.default) == setting.default


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
