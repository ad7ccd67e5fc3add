"""`atrium file-context`, which prints nothing where nothing was kept."""

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


def test_a_file_s_records_are_printed_with_their_summary(shell: Shell, yard: Path) -> None:
    header, line, summary = shell.run("file-context", yard / "src" / "a.py").ok().out.splitlines()
    assert header == "# atrium file-context (a.py)"
    assert line.endswith("limit")
    assert summary == "  See src/a.py."
    document = shell.run("file-context", yard / "src" / "a.py", "--json").document()
    assert document["path"] == "[HOME]/yard/src/a.py"
    assert shell.run("file-context", yard / "a.py").ok().out == ""


def test_a_path_is_that_from_where_one_stands(
    shell: Shell, yard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (yard / "src").mkdir()
    monkeypatch.chdir(yard / "src")
    assert "limit" in shell.run("file-context", "a.py").ok().out
    assert shell.run("file-context", "src/a.py").ok().out == ""


def test_nothing_to_say_prints_nothing(shell: Shell) -> None:
    said = shell.run("file-context", "a.py").ok()
    assert (said.out, said.err) == ("", "")
    assert not shell.world.state.exists()
    shell.run("file-context", "").refused("empty")
