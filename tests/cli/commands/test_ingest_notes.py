"""`atrium ingest-notes`."""

from __future__ import annotations

import json
import signal
import subprocess

from archivist.sample import SampleSearches
from tests.cli.conftest import Shell
from tests.kit import World, wait_until


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
