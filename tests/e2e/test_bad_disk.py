"""Disks that are full or read-only, and files of the state that are damaged.

What was kept goes on answering, nothing is half-applied, and each refusal says what mends it.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
from pathlib import Path

import pytest

from tests.crdt.mounts import can_mount
from tests.e2e.commands import NAMESPACE, Said, run_all
from tests.e2e.odd import archive, conversation, line, prompt, texts, transcripts
from tests.e2e.states import strays
from tests.kit import World

needs_mounts = pytest.mark.skipif(not can_mount(), reason="this kernel gives no mount namespace")
SEARCH = ["search", "--all", "--json", "sluice"]
STATUS = ["status", "--json"]
TAKING_IN = ("capture", "ingest", "ingest-notes")
"""What is refused before the disk is full, so that something is left for what is small."""


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


def fill(world: World) -> dict[str, str]:
    """Write transcripts, notes and an archive file into a world; give the paths of the last two."""
    (transcripts(world) / "a.jsonl").write_bytes(line(prompt("u1", "the first sluice")))
    notes = world.work / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Sluice\n\nThe noted sluice.\n")
    taken = archive(world.work / "archive.jsonl", [conversation("taken")])
    return {"notes": str(notes), "archive": str(taken)}


def more_transcripts(world: World) -> Path:
    """Write four megabytes that can't be compressed away, beside the agent's own directory."""
    folder = world.work / "more"
    folder.mkdir()
    choose = random.Random("more")  # noqa: S311
    for number in range(8):
        told = [
            prompt(f"{number}-{n}", choose.randbytes(1000).hex(), sessionId=f"m{number}") for n in range(200)
        ]
        (folder / f"{number}.jsonl").write_bytes(b"".join(line(record) for record in told))
    return folder


# Space


@needs_mounts
def test_on_a_full_disk_writers_say_so_readers_answer_and_space_mends_all(world: World) -> None:
    paths, folder = fill(world), more_transcripts(world)
    world.state.mkdir()
    more = ["capture", "--provider", "claude-code", "--root", str(folder)]
    writers = [
        ["capture"], more, ["ingest", paths["archive"]], ["ingest-notes", paths["notes"]], ["rebuild"],
        ["prepare-context"], ["status", "--publish"], ["export", str(world.state / "x.jsonl")],
    ]  # fmt: skip
    readers = [
        SEARCH,
        STATUS,
        ["context", "--json", "sluice"],
        ["gaps"],
        ["search", "--all", "--substring", "luic"],
    ]
    steps: list[list[str] | str] = [
        'mount -t tmpfs -o size=270m,mode=700 none "$ATRIUM_STATE"',
        ["capture"], ["ingest-notes", paths["notes"]], STATUS,
        'dd if=/dev/zero of="$ATRIUM_STATE/filler" bs=64k 2>&1 || true',
        *writers, *readers, ["doctor"], ["down"],
        'truncate -s -3M "$ATRIUM_STATE/filler"', more, SEARCH,
        'rm "$ATRIUM_STATE/filler"; mount -o remount,size=600m "$ATRIUM_STATE"',
        *(words for words in writers if words[0] != "status"), STATUS, SEARCH, ["doctor", "--json"],
        'cp -r "$ATRIUM_STATE" "$ATRIUM_STATE.kept"',
    ]  # fmt: skip
    said = iter(run_all(world, steps, before=NAMESPACE))
    _, _, first = (next(said).ok() for _ in range(3))
    for words in writers:
        next(said).refused(1, "256 MiB" if words[0] in TAKING_IN else "no space left", "free some space")
    for reader in [next(said) for _ in readers]:
        reader.ok()
        if reader.words == tuple(SEARCH):
            assert texts(reader) == {"the first sluice", "# Sluice\n\nThe noted sluice."}
        if reader.words == tuple(STATUS):
            assert reader.document()["digest"] == first.document()["digest"]
    assert b"disk_full" in next(said).out
    next(said).ok()
    next(said).refused(1, "256 MiB", "free some space")
    assert len(texts(next(said))) == 2
    mended = [next(said).ok() for _ in range(len(writers) - 1)]
    assert len(mended) == len(writers) - 1
    status, found, doctor = said
    assert texts(found) == {"the first sluice", "# Sluice\n\nThe noted sluice.", "the sluice"}
    assert b"index_coherent" in doctor.out
    assert b"substrings_level" in doctor.out
    assert strays(world.state.with_name("state.kept")) == []
    quiet = run_all(world, [*writers[:4], STATUS], env={"ATRIUM_STATE": str(world.base / "quiet")})
    assert quiet[-1].document()["digest"] == status.document()["digest"]


@needs_mounts
def test_a_read_only_state_directory_answers_and_refuses_writers_in_one_line(world: World) -> None:
    paths = fill(world)
    read_only = 'mount --bind "$ATRIUM_STATE" "$ATRIUM_STATE"; mount -o remount,ro,bind "$ATRIUM_STATE"'
    readers = [
        SEARCH, ["search", "--all", "--substring", "luic"], ["search", "--all", "--all-kinds", "sluice"],
        ["context", "--json", "sluice"], STATUS, ["doctor"], ["doctor", "--deep"], ["gaps"],
        ["export", str(world.work / "out.jsonl")], ["capture", "--dry-run"], ["redact"],
    ]  # fmt: skip
    writers = [
        ["capture"], ["ingest", paths["archive"]], ["ingest-notes", paths["notes"]], ["rebuild"],
        ["prepare-context"], ["redact", "--apply"], ["status", "--publish"], ["doctor", "--fix"],
        ["up", "--foreground"],
    ]  # fmt: skip
    said = run_all(
        world,
        [["capture"], ["ingest-notes", paths["notes"]], read_only, *readers, *writers],
        before=NAMESPACE,
    )[2:]
    for reader in said[: len(readers)]:
        reader.ok()
    assert texts(said[0]) == {"the first sluice", "# Sluice\n\nThe noted sluice."}
    record = str(said[0].document()["hits"][0]["record_id"])  # type: ignore[index]
    for writer in said[len(readers) :]:
        writer.refused(1, "can't be written", "make the state directory writable")
    shown, *_ = run_all(world, [read_only, ["show", record, "--json"]], before=NAMESPACE)
    shown.ok()


# Damage


def garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 4096)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096 + 100)


def pages(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"x" * (path.stat().st_size - 4096))


DAMAGES = {"garbage": garbage, "empty": empty, "cut": cut, "pages": pages}


def damaged(world: World, database: str, steps: list[list[str]]) -> dict[str, list[Said]]:
    """Run each command on a fresh copy of the state whose database was damaged, for every damage."""
    paths = fill(world)
    for said in run_all(world, [["capture"], ["ingest-notes", paths["notes"]]]):
        said.ok()
    plan: list[list[str] | str] = []
    for name, damage in DAMAGES.items():
        copy = world.base / f"damaged-{name}"
        shutil.copytree(world.state, copy)
        damage(copy / database)
        for step in steps:
            plan += [f'rm -rf "$ATRIUM_STATE"; cp -r {shlex.quote(str(copy))} "$ATRIUM_STATE"', step]
        plan += [
            STATUS,
            SEARCH,
            ["doctor", "--json"],
            f'cp -r "$ATRIUM_STATE" {shlex.quote(str(copy))}.after',
        ]
    said = iter(run_all(world, plan))
    return {name: [next(said) for _ in range(len(steps) + 3)] for name in DAMAGES}


EVERYTHING = {"the first sluice", "# Sluice\n\nThe noted sluice."}


def test_a_damaged_log_is_told_and_left_as_it_is(world: World) -> None:
    found = damaged(world, "canonical/feeds.db", [SEARCH, STATUS, ["doctor"], ["capture"], ["rebuild"]])
    for name, (search, status, doctor, captured, rebuilt, *_) in found.items():
        assert texts(search) == EVERYTHING
        assert doctor.rc == 1, doctor
        if name == "empty":
            assert b"archive_lost" in doctor.out
            rebuilt.explained("backup")
            continue
        assert b"archive_damaged" in doctor.out
        for said in (status, captured, rebuilt):
            said.explained("canonical/feeds.db is damaged", "put its `canonical` folder back from a backup")
        before, after = (
            world.base / f"damaged-{name}{end}" / "canonical" / "feeds.db" for end in ("", ".after")
        )
        assert before.read_bytes() == after.read_bytes()


def test_a_damaged_index_is_told_and_made_anew_with_the_notes(world: World) -> None:
    found = damaged(world, "derived/index.db", [SEARCH, STATUS, ["doctor"], ["capture"], ["rebuild"]])
    for name, (search, status, doctor, captured, rebuilt, again, searched, healthy) in found.items():
        search.refused(1, "atrium rebuild")
        if name != "empty":
            status.refused(1, "derived/index.db is damaged", "atrium rebuild")
        assert doctor.rc == 1
        assert b"atrium rebuild" in doctor.out
        captured.ok()
        rebuilt.ok()
        again.ok()
        assert texts(searched) == EVERYTHING
        assert healthy.document()["ok"] is True


def test_a_damaged_local_store_costs_reading_again(world: World) -> None:
    steps = [SEARCH, STATUS, ["doctor"], ["capture"], ["doctor", "--fix"]]
    found = damaged(world, "local/local.db", steps)
    for name, (search, status, doctor, captured, mended, again, searched, healthy) in found.items():
        assert texts(search) == EVERYTHING
        status.ok()
        mended.ok()
        if name == "empty":
            captured.ok()
        else:
            captured.refused(1, "local/local.db is damaged", "atrium doctor --fix")
            assert b"atrium doctor --fix" in doctor.out
            assert doctor.rc == 1
        assert again.document()["digest"] == status.document()["digest"]
        assert texts(searched) == EVERYTHING
        assert healthy.document()["ok"] is True


def test_a_damaged_substring_lane_mends_itself(world: World) -> None:
    letters = ["search", "--all", "--json", "--substring", "luic"]
    found = damaged(world, "derived/substrings.db", [letters, STATUS, ["capture"]])
    for search, status, captured, again, searched, healthy in found.values():
        assert texts(search) == EVERYTHING
        captured.ok()
        assert again.document()["digest"] == status.document()["digest"]
        assert texts(searched) == EVERYTHING
        assert healthy.document()["ok"] is True
