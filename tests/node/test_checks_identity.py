"""What doctor says of the node's key."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.checks import Look, Surroundings
from node.checks_identity import check_identity
from tests.node.asking import asked
from tests.node.filled import opened, tree


def judged(root: Path) -> tuple[str, str] | None:
    """Run the check and give its code and severity."""
    with opened(root) as local:
        check = check_identity(Look(local, {}, Surroundings()))
    return None if check is None else (check.code, str(check.severity))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    asked(state, "spaces.create", label="team")
    return state


def test_where_nothing_was_written_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert judged(tmp_path / "state") is None
    assert not (tmp_path / "state").exists()


def test_a_key_that_signed_what_is_here_is_well(root: Path) -> None:
    before = tree(root)
    assert judged(root) == ("identity_ok", "ok")
    asked(root, "identity.revoke", apply=True)
    assert judged(root) == ("identity_ok", "ok")
    assert before.keys() <= tree(root).keys()


def test_a_missing_key_is_told_before_the_next_write_makes_another(root: Path) -> None:
    (root / "identity.key").unlink()
    assert judged(root) == ("identity_missing", "warn")
    asked(root, "spaces.create", label="own")
    assert judged(root) == ("identity_new", "warn")


def test_a_backup_s_key_goes_on_where_it_was(root: Path, tmp_path: Path) -> None:
    asked(root, "identity.backup", path=str(tmp_path / "key.backup"))
    (root / "identity.key").unlink()
    asked(root, "identity.restore", path=str(tmp_path / "key.backup"))
    assert judged(root) == ("identity_ok", "ok")
    assert asked(root, "spaces.create", label="team")["created"] is False
    assert asked(root, "projects.create", label="tidewatch")["created"] is True
    assert judged(root) == ("identity_ok", "ok")


def test_a_key_that_can_not_be_used_breaks_the_node(root: Path) -> None:
    key = root / "identity.key"
    key.chmod(0o644)
    assert judged(root) == ("identity_unusable", "broken")
    key.chmod(0o600)
    key.write_bytes(b"half")
    assert judged(root) == ("identity_unusable", "broken")
