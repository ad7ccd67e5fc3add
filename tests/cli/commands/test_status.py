"""`atrium status`."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_status_is_read_by_people(filled: Shell) -> None:
    said = filled.run("status").ok().out
    for word in ("records", "claude-code", "codex", "archive", "digest", "not running"):
        assert word in said
    filled.run("status", "--publish").ok()
    published = json.loads((filled.world.state / "status" / "refresh.json").read_text())
    assert published["schemaVersion"] == 1
