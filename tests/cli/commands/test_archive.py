"""What takes in, gives out and looks after: `ingest`, `export`, `redact`, `rebuild`, `doctor` and more."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from archivist.sample import SampleSearches
from tests.cli.conftest import Shell
from tests.kit import World, wait_until


def test_an_export_is_ingested_elsewhere_with_the_same_digest(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = filled.run("export", "all.jsonl", "--json").document()
    path = filled.world.work / "all.jsonl"
    assert written["output"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    digest = filled.run("status", "--json").document()["digest"]
    monkeypatch.setenv("ATRIUM_STATE", str(filled.world.base / "other"))
    assert filled.run("ingest", "all.jsonl", "--json").document()["conversations"] == written["records"]
    assert filled.run("status", "--json").document()["digest"] == digest


def test_people_read_counts(filled: Shell) -> None:
    assert "conversations written to " in filled.run("export", "all.jsonl").ok().out
    assert "records written" in filled.run("ingest", "all.jsonl").ok().out


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"kind":"other"}\n'])
def test_a_file_that_is_no_archive_is_refused(shell: Shell, text: str) -> None:
    (shell.world.work / "bad.jsonl").write_text(text)
    shell.run("ingest", "bad.jsonl", "--json").refused("bad.jsonl")


def test_an_absent_file_is_refused_by_name(shell: Shell) -> None:
    shell.run("ingest", "absent.jsonl").refused("absent.jsonl")


def test_notes_are_indexed_and_found(shell: Shell, sample: SampleSearches) -> None:
    document = shell.run("ingest-notes", sample.notes, "--json").document()
    assert document["notes"]
    assert "unchanged" in shell.run("ingest-notes", sample.notes).ok().out
    shell.run("ingest-notes", "absent").refused("absent")


def test_notes_are_followed_until_ctrl_c(world: World) -> None:
    notes = world.base / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("a cormorant dives")
    process = subprocess.Popen(
        world.command("ingest-notes", str(notes), "--watch", "--json"),
        env=world.environment(),
        cwd=world.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert json.loads(process.stdout.readline())["notes"] == 1
        assert "Ctrl-C" in process.stderr.readline()
        written = iter(range(1000))

        def is_followed() -> bool:
            """Write until the watch has begun and tells of it."""
            (notes / "b.md").write_text(f"a heron stands {next(written)}")
            return world.run("search", "heron", "--json").document()["hits"] != []

        wait_until(is_followed, "the new note is found")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "safe" in err
        assert "Traceback" not in err
    finally:
        process.kill()
        process.wait(timeout=10)


def test_redaction_is_a_dry_run_unless_told(filled: Shell) -> None:
    assert "--apply" in filled.run("redact").ok().err
    document = filled.run("redact", "--apply", "--json").document()
    assert document["applied"] is True
    assert document["changed"] == 0


def test_a_rebuild_changes_nothing_that_is_seen(filled: Shell) -> None:
    digest = filled.run("status", "--json").document()["digest"]
    assert filled.run("rebuild", "--json").document()["digest"] == digest
    assert "records" in filled.run("rebuild").ok().out


def test_preparing_twice_is_ready_already(filled: Shell) -> None:
    assert filled.run("prepare-context", "--json").document()["already_ready"] is True
    assert "already ready" in filled.run("prepare-context").ok().out


def test_status_is_read_by_people(filled: Shell) -> None:
    said = filled.run("status").ok().out
    for word in ("records", "claude-code", "codex", "archive", "digest", "not running"):
        assert word in said
    filled.run("status", "--publish").ok()
    published = json.loads((filled.world.state / "status" / "refresh.json").read_text())
    assert published["schemaVersion"] == 1


def test_doctor_is_content_and_names_each_check(filled: Shell) -> None:
    said = filled.run("doctor").ok()
    assert "ok      configuration: configuration_ok" in said.out
    assert filled.run("doctor", "--json").document()["ok"] is True


def test_doctor_ends_with_1_when_something_is_broken(filled: Shell) -> None:
    (filled.world.state / "last-refresh").write_text("1000000")
    said = filled.run("doctor")
    assert said.rc == 1
    assert "BROKEN" in said.out


def test_doctor_mends_and_says_so(filled: Shell) -> None:
    filled.world.state.chmod(0o755)
    assert "mended  closed 1 files" in filled.run("doctor", "--fix").ok().out
    assert filled.world.state.stat().st_mode & 0o777 == 0o700


def test_the_doctor_s_report_is_shown_and_written(filled: Shell) -> None:
    said = filled.run("doctor", "--report").ok()
    path = filled.world.work / "atrium-report.json"
    assert json.loads(path.read_text())["versions"]["atrium"] == "0.1.0"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().strip() in said.out
    assert str(filled.world.home) not in path.read_text()


def test_a_state_that_can_not_be_made_is_named(shell: Shell) -> None:
    shell.world.state.write_text("in the way")
    for words in (("capture",), ("rebuild",), ("ingest-notes", ".")):
        said = shell.run(*words)
        assert said.rc in (1, 2)
        assert said.out == ""
        assert "state" in said.err
        assert "bug" not in said.err


def test_the_demo_searches_and_leaves_no_transcript(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    said = shell.run("demo").ok()
    assert said.out.count("$ atrium search ") == 3
    assert "[REDACTED:token]" in said.out
    assert not list(Path(shell.world.base / "run").rglob("*.jsonl"))
    assert "nothing new" in shell.run("demo").ok().out
    assert shell.run("status", "--json").document()["archive"]
