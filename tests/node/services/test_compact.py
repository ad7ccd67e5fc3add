"""What no longer shows in a record is counted, and nothing is dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt import clock
from node.services import compact
from tests.node.asking import asked
from tests.node.filled import tree

DAY_MS = 86_400_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "state"
    name = asked(root, "memory.add", text="first")["id"]
    for text in ("second", "third"):
        asked(root, "memory.edit", id=name, text=text)
    asked(root, "memory.tag", id=name, add=["kept"])
    asked(root, "memory.add", text="never changed")
    return root


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look back from a hundred days on."""
    now_ms = clock.wall_ms() + 100 * DAY_MS
    monkeypatch.setattr(compact, "wall_ms", lambda: now_ms)


def test_versions_without_effect_are_counted(root: Path, later: None) -> None:
    before = tree(root)
    found = asked(root, "compact", older_than_days=90)
    assert (found["records"], found["dryRun"], found["passedOver"]) == (1, True, 0)
    assert found["operations"] == 2, "two texts were replaced, the third is served, and the tag is there"
    assert found["bytes"] == len("first") + len("second")
    assert tree(root) == before


def test_what_is_young_stays(root: Path) -> None:
    found = asked(root, "compact", older_than_days=1)
    assert (found["records"], found["operations"], found["bytes"]) == (0, 0, 0)
