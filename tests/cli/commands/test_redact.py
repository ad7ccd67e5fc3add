"""`atrium redact`, `rebuild` and `prepare-context`, which look after what is there."""

from __future__ import annotations

from tests.cli.conftest import Shell
from tests.node.filled import archive, fragment_of


def test_redaction_is_a_dry_run_unless_told(filled: Shell) -> None:
    assert "--apply" in filled.run("redact").ok().err
    document = filled.run("redact", "--apply", "--json").document()
    assert document["applied"] is True
    assert document["changed"] == 0


def test_a_rebuild_changes_nothing_that_is_seen(filled: Shell) -> None:
    digest = filled.run("status", "--json").document()["digest"]
    assert filled.run("rebuild", "--json").document()["digest"] == digest
    assert "records" in filled.run("rebuild").ok().out


def test_a_rebuild_over_a_damaged_segment_says_so_and_ends_with_1(shell: Shell) -> None:
    archive(shell.world.state, fragment_of("a", ["one"]))
    (path,) = (shell.world.state / "canonical" / "segments").rglob("*.zst")
    path.write_bytes(path.read_bytes()[:-1])
    said = shell.run("rebuild")
    assert (said.rc, "`atrium verify`" in said.err) == (1, True)
    assert "1 segment is damaged" in said.err
    backup = shell.run("backup", shell.world.base / "backup")
    assert (backup.rc, "1 segment was damaged before" in backup.err) == (1, True)


def test_preparing_twice_is_ready_already(filled: Shell) -> None:
    assert filled.run("prepare-context", "--json").document()["already_ready"] is True
    assert "already ready" in filled.run("prepare-context").ok().out


def test_a_state_that_can_not_be_made_is_named(shell: Shell) -> None:
    shell.world.state.write_text("in the way")
    for words in (("capture",), ("rebuild",), ("ingest-notes", ".")):
        said = shell.run(*words)
        assert said.rc in (1, 2)
        assert said.out == ""
        assert "state" in said.err
        assert "bug" not in said.err
