"""State directories, homes and settings that are none: named, with what to do, by every command."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.commands import UNPRIVILEGED, run, run_all
from tests.e2e.odd import line, prompt, transcripts
from tests.kit import World

SEARCH = ["search", "--all", "sluice"]


@pytest.fixture
def world(quick_path: Path) -> World:
    made = World(quick_path)
    (transcripts(made) / "a.jsonl").write_bytes(line(prompt("u1", "the first sluice")))
    return made


def test_a_state_directory_that_is_none_is_told_by_every_command(world: World) -> None:
    file = world.work / "file"
    file.write_text("x")
    places = {
        str(file): (2, "it is not a directory"),
        str(file / "below"): (2, "it is not a directory"),
        str(world.work / "\udcff"): (2, "is not UTF-8"),
        str(world.work / ("n" * 300)): (2, "can't be used"),
    }
    commands = (["status"], ["search", "x"], ["context", "x"], ["capture"], ["doctor"], ["gaps"], ["up"])
    asked = [[f"ATRIUM_STATE={place}", *words] for place in places for words in commands]
    refusals = [refusal for refusal in places.values() for _ in commands]
    for said, (rc, named) in zip(run_all(world, asked), refusals, strict=True):
        said.refused(rc, named, "ATRIUM_STATE")
    assert file.read_text() == "x"


def test_a_state_directory_that_can_not_be_made_is_told_by_writers_and_empty_to_readers(world: World) -> None:
    place = "ATRIUM_STATE=/proc/none/state"
    status, search, captured = run_all(
        world, [[place, "status", "--json"], [place, "search", "x"], [place, "capture"]]
    )
    assert status.document()["records"] == {"total": 0, "bySource": {}}
    search.refused(1, "there is no index yet", "atrium capture")
    captured.refused(2, "/proc/none/state can't be used", "ATRIUM_STATE")


def test_a_closed_state_directory_is_told(world: World) -> None:
    before = UNPRIVILEGED if os.geteuid() == 0 else ()
    if before and shutil.which(before[0]) is None:
        pytest.skip("root passes by modes, and there is no setpriv here")
    world.state.mkdir()
    commands = (["status"], ["search", "x"], ["capture"], ["doctor"], ["up"], ["down"])
    steps = ['chmod 0 "$ATRIUM_STATE"', *commands, 'chmod 700 "$ATRIUM_STATE"']
    for said in run_all(world, steps, before=before):
        said.refused(1, "Permission denied", "check who may")


def test_a_home_that_is_none_takes_nothing_but_its_transcripts(world: World) -> None:
    file = world.work / "file"
    file.write_text("x")
    for said in run_all(
        world,
        [
            ["HOME=/nonexistent", "capture", "--json"],
            [f"HOME={file}", "capture", "--json"],
            ["HOME=relative", "capture", "--json"],
            [f"HOME={world.work / chr(0xDCFF)}", "status", "--json"],
            ["!HOME", "status", "--json"],
            ["!HOME", "search", "--all", "--json", "sluice"],
        ],
    ):
        assert said.document()["schemaVersion"] == 1
    said = run(world, f"HOME={file}", "!ATRIUM_STATE", "status")
    said.refused(2, "it is not a directory", "ATRIUM_STATE")


# Settings


SETTINGS: dict[str, tuple[str, ...]] = {
    r"[node\nport=1": ("config.toml", "line 1"),
    r"[node]\nprot=1": ("config.toml", "node.prot", "node.port"),
    r"node=1": ("config.toml", "unknown setting `node`"),
    r'[log]\nlevel="loud"': ("log.level", "config.toml", "debug"),
    r'[capture.roots]\ncodex=["relative"]': ("capture.roots", "config.toml"),
    r"\377\376": ("config.toml",),
    r"\000": ("config.toml", "line 1"),
}


def test_settings_that_can_not_be_read_are_named_with_file_and_key(world: World) -> None:
    world.state.mkdir()
    steps: list[list[str] | str] = []
    for text in SETTINGS:
        steps += [
            f"printf '{text}' > $ATRIUM_STATE/config.toml",
            ["status"],
            ["capture"],
            ["search", "x"],
        ]
    said = run_all(world, steps)
    named = [words for words in SETTINGS.values() for _ in range(3)]
    for one, words in zip(said, named, strict=True):
        one.refused(2, *words)
    (world.state / "config.toml").unlink()
    variable, port = run_all(world, [["ATRIUM_LOG_LEVEL=loud", "capture"], ["ATRIUM_PORT=x", "status"]])
    variable.refused(2, "correct ATRIUM_LOG_LEVEL")
    port.refused(2, "correct ATRIUM_PORT")


def test_malformed_aliases_are_a_visible_warning_and_no_more(world: World) -> None:
    run(world, "capture").ok()
    malformed = ("{", "[]", '{"a": 1}', '{"/a": {"to": 7}}', r"\377", '{"a":' * 20_000)
    commands = ([*SEARCH, "--json"], SEARCH, ["context", "--json", "sluice"], ["doctor"], ["capture"])
    steps: list[list[str] | str] = []
    for text in malformed:
        steps += [f"printf '{text}' > $ATRIUM_STATE/workspace-aliases.json", *commands]
    said = iter(run_all(world, steps))
    for _ in malformed:
        search, people, context, doctor, captured = (next(said).ok() for _ in commands)
        assert search.document()["warnings"] == ["configuration_invalid"]
        assert people.err == "warning: configuration_invalid\n"
        assert "configuration_invalid" in str(context.document()["warnings"])
        assert b"aliases_malformed  (correct workspace-aliases.json" in doctor.out
        assert captured.err == ""
