"""What settings accept, and which source of a value wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import SettingsInvalid
from node.settings import SETTINGS
from tests.node.test_config import loaded


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


def test_every_setting_has_a_default_that_it_accepts() -> None:
    for setting in SETTINGS.values():
        assert setting.parse(setting.default) == setting.default
