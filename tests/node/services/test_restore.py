"""Restored, a backup is the same archive and a new incarnation, and what was there is set aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import BadInput
from node.services.restore import restore
from tests.node.asking import asked, items
from tests.node.filled import ignore, opened, settings
from tests.node.services.backup_kit import backed_up, fill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "state")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backup"


def digests(root: Path) -> tuple[object, object]:
    asked(root, "prepare-context")
    status = asked(root, "status")
    return status["digest"], status["projection_digest"]


def test_a_restored_backup_is_the_same(root: Path, target: Path, tmp_path: Path) -> None:
    before = digests(root)
    done = backed_up(root, target)
    assert (done["segments"], done["damaged"], done["absent"], done["identity"]) == (1, 0, 0, False)
    fresh = tmp_path / "fresh" / "state"
    paths = settings(fresh).paths
    paths.create()
    result = restore(target, paths, ignore, replace=False)
    assert (result["identity"], result["setAside"]) == ("none", None)
    assert digests(fresh) == before
    assert (fresh / "config.toml").read_text() == (root / "config.toml").read_text()
    assert asked(fresh, "verify")["ok"] is True


def test_what_is_written_after_a_restore_is_a_new_incarnation(root: Path, target: Path) -> None:
    backed_up(root, target)
    asked(root, "memory.add", text="after the backup")
    restore(target, settings(root).paths, ignore, replace=True)
    asked(root, "memory.add", text="after the restore")
    with opened(root) as local:
        home = local.feeds.heads(local.feeds.home())
        assert len({head.feed.inc for head in home}) == 2
        assert local.feeds.forks() == []


def test_what_was_there_is_set_aside_and_not_without_being_asked(root: Path, target: Path) -> None:
    backed_up(root, target)
    asked(root, "memory.add", text="after the backup")
    paths = settings(root).paths
    with pytest.raises(BadInput, match="of its own") as refusal:
        restore(target, paths, ignore, replace=False)
    assert "--replace" in refusal.value.hint
    done = restore(target, paths, ignore, replace=True)
    aside = root / str(done["setAside"])
    assert (aside / "canonical" / "feeds.db").exists()
    asked(root, "prepare-context")
    texts = [entry["content"] for entry in items(asked(root, "memory.list"), "items")]
    assert texts == ["the pump is primed from the north"]
