"""`atrium ingest-synthesis`: counts of what was taken in and left out."""

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


def test_the_mirror_is_counted(shell: Shell, yard: Path) -> None:
    assert shell.run("ingest-synthesis").ok().out == "1 file, 0 records written, 1 already there\n"
    (shell.world.state / "synthesis" / "records" / f"{'0' * 32}.json").write_text("{")
    said = shell.run("ingest-synthesis").ok()
    assert "malformed 1" in said.err
    assert shell.run("ingest-synthesis", "--json").document()["skipped"] == {"malformed": 1}
