"""Twenty processes at once on a state directory that is not there yet, and readers beside a writer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.states import standing, strays
from tests.e2e.transcripts import Talk, files_of, queries, write, write_notes
from tests.kit import World, wait_until

WRITERS = READERS = 10
NOTES = 6
UNEXPECTED = ("locked", "busy", "Traceback", "unexpected", "no such table", "malformed")


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


def started(world: World, *words: str) -> subprocess.Popen[str]:
    """Start the command without waiting for it."""
    return subprocess.Popen(
        world.command(*words),
        env=world.environment(),
        cwd=world.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(processes: list[subprocess.Popen[str]]) -> Iterator[tuple[int, str, str]]:
    """Wait for each and give its status and what it said."""
    for process in processes:
        out, err = process.communicate(timeout=110)
        yield process.returncode, out, err


def note_roots(world: World) -> list[Path]:
    """Write ten trees of notes, each of another size."""
    roots = [world.work / f"notes-{number}" for number in range(WRITERS)]
    for number, root in enumerate(roots):
        write_notes(root, NOTES + number, seed=root.name)
    return roots


def test_twenty_processes_on_a_fresh_state_directory(world: World) -> None:
    roots = note_roots(world)
    writers = [["ingest-notes", str(root), "--provider", root.name, "--json"] for root in roots]
    readers = [["context", query, "--json"] for query in queries(READERS)]
    mixed = [words for pair in zip(writers, readers, strict=True) for words in pair]
    results = dict(enumerate(ended([started(world, *words) for words in mixed])))
    for number, (status, out, err) in results.items():
        assert not [word for word in UNEXPECTED if word in out + err], err
        document = json.loads(out)
        if number % 2 == 0:
            assert status == 0, err
            assert document["notes"] == NOTES + number // 2
        else:
            assert status == (1 if document["index_status"] == "unavailable" else 0), err
    found = standing(world)
    again = [world.run(*words).document() for words in writers]
    assert all(document["records"] == 0 for document in again)
    records = {root.name: result for root, result in zip(roots, _written(results), strict=True)}
    assert found["records"] == {"total": sum(records.values()), "bySource": records}
    assert standing(world) == found
    assert strays(world.state) == []


def _written(results: dict[int, tuple[int, str, str]]) -> list[int]:
    return [json.loads(out)["records"] for number, (_, out, _) in results.items() if number % 2 == 0]


def test_the_same_notes_one_after_the_other_make_the_same_index(world: World, tmp_path: Path) -> None:
    roots = note_roots(world)
    processes = [started(world, "ingest-notes", str(root)) for root in roots]
    assert [status for status, _, _ in ended(processes)] == [0] * WRITERS
    together = standing(world)
    environment = {"ATRIUM_STATE": str(tmp_path / "other")}
    for root in reversed(roots):
        world.run("ingest-notes", str(root), env=environment).ok()
    document = world.run("status", "--json", env=environment).document()
    assert {name: document[name] for name in together} == together


def test_readers_beside_a_writer_answer_from_a_whole_index(world: World) -> None:
    first = [Talk(number, 6) for number in range(8)]
    write(files_of(first, world.home))
    world.run("capture").ok()
    before = standing(world)
    write(files_of([Talk(number, 12, result_bytes=8_000) for number in range(8, 80)], world.home))
    writer = started(world, "capture", "--json")
    seen = []
    while writer.poll() is None:
        found = world.run("search", "--all", "--json", "tide")
        assert found.document()["hits"], str(found)
        seen.append(standing(world))
    out, err = writer.communicate(timeout=60)
    assert writer.returncode == 0, err
    after = standing(world)
    assert seen
    assert after != before
    assert json.loads(out)["conversations"] == 72
    assert all(state in (before, after) for state in seen)


def test_two_captures_at_once_archive_everything_once(world: World) -> None:
    write(files_of([Talk(number, 6) for number in range(20)], world.home))
    results = list(ended([started(world, "capture", "--json") for _ in range(4)]))
    assert [status for status, _, _ in results] == [0] * 4
    documents = [json.loads(out) for _, out, _ in results]
    assert sorted(document["conversations"] for document in documents) == [0, 0, 0, 20]
    assert sorted(document["unchanged"] for document in documents) == [0, 20, 20, 20]


def test_a_writer_that_was_killed_holds_nobody_up(world: World) -> None:
    write(files_of([Talk(number, 12, result_bytes=8_000) for number in range(60)], world.home))
    writer = started(world, "capture")
    lock = world.state / "local.lock"
    wait_until(lambda: lock.exists() and lock.read_text("utf-8"), "the writer has the lock")
    writer.kill()
    writer.communicate(timeout=30)
    assert world.run("capture", "--json", timeout=40).document()["conversations"] in (0, 60)
    assert standing(world)["records"] != {"total": 0, "bySource": {}}
