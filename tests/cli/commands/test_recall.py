"""`atrium recall`, which prints nothing where nothing was kept."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def yard(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = shell.world.home / "yard"
    (folder / ".git").mkdir(parents=True)
    statement = {"title": "Crane \x1b[31mlimit", "summary": "See src/a.py."}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(statement).encode())))
    shell.run("remember", "--project", folder).ok()
    return folder


def test_titles_are_printed_without_what_steers_a_terminal(shell: Shell, yard: Path) -> None:
    header, line = shell.run("recall", "--cwd", yard).ok().out.splitlines()
    assert header == "# atrium recall (yard)"
    assert line.endswith(" Crane [31mlimit")
    assert shell.run("recall", "--cwd", yard, "--json").document()["project"] == "yard"


def test_it_is_asked_where_one_stands(shell: Shell, yard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(yard)
    assert "limit" in shell.run("recall").ok().out


def test_nothing_to_say_prints_nothing(shell: Shell) -> None:
    for words in (("recall",), ("recall", "--cwd", "/")):
        said = shell.run(*words).ok()
        assert (said.out, said.err) == ("", "")
    assert not shell.world.state.exists()


def test_bad_bounds_are_refused(shell: Shell) -> None:
    shell.run("recall", "--limit", "0").refused("limit")
    shell.run("recall", "--cwd", "").refused("empty")
