"""`atrium demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def test_the_demo_searches_and_leaves_no_transcript(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    said = shell.run("demo").ok()
    assert said.out.count("$ atrium search ") == 3
    assert "[REDACTED:token]" in said.out
    assert not list(Path(shell.world.base / "run").rglob("*.jsonl"))
    assert "nothing new" in shell.run("demo").ok().out
    assert shell.run("status", "--json").document()["archive"]
