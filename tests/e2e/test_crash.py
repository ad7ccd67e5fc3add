"""Kill the real command at moments by chance, again and again: the next undisturbed run makes it whole.

The moment is a share of the time that an undisturbed run takes here and now, so that kills fall all over
it however fast the machine is.  Fifty rounds in all; the seed of each series is printed.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.states import exported, said, standing, strays
from tests.e2e.transcripts import Talk, files_of, write, write_notes
from tests.kit import World

pytestmark = pytest.mark.timeout(300)

CAPTURE_SERIES, INGEST_SERIES, REBUILD_SERIES = 3, 2, 2
CAPTURE_ROUNDS, MANY_ROUNDS, INGEST_ROUNDS, REBUILD_ROUNDS = 6, 4, 7, 7
ROUNDS = (
    CAPTURE_SERIES * CAPTURE_ROUNDS
    + MANY_ROUNDS
    + INGEST_SERIES * INGEST_ROUNDS
    + REBUILD_SERIES * REBUILD_ROUNDS
)
TALKS = [Talk(number, 12, result_bytes=12_000) for number in range(60)]
"""Five megabytes, enough to be sealed at once (DECISIONS.md 19)."""
MANY = [Talk(number, 1) for number in range(2_050)]
"""More than a segment holds, so that a capture has several batches."""


@dataclass
class Series:
    """Runs of one command that are killed, and where each kill fell."""

    world: World
    words: tuple[str, ...]
    undisturbed_s: float
    choose: random.Random
    killed: list[float] = field(default_factory=list)
    when_whole: Callable[[], None] = lambda: None

    def run(self, rounds: int) -> None:
        """Start and kill so many times; `when_whole` is called after a run that ended before its moment."""
        kills = len(self.killed) + rounds
        while len(self.killed) < kills:
            share = self.choose.uniform(0.15, 0.95)
            process = subprocess.Popen(
                self.world.command(*self.words),
                env=self.world.environment(),
                cwd=self.world.work,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                process.wait(share * self.undisturbed_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)
                self.killed.append(round(share, 2))
            else:
                assert process.returncode == 0
                self.when_whole()
        print(f"killed at {self.killed} of {self.undisturbed_s:.2f} s")


@pytest.fixture
def choose() -> random.Random:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return random.Random(seed)  # noqa: S311


def new_world(base: Path, name: str) -> World:
    (base / name).mkdir()
    return World(base / name)


def begin_anew(world: World) -> Callable[[], None]:
    """Give what removes a state directory that is whole, so that the next kill has something to stop."""
    return lambda: shutil.rmtree(world.state)


def make_whole(world: World, *words: str) -> None:
    """Run the command once more, undisturbed; nothing that killed runs left may stay."""
    world.run(*words).ok()
    assert strays(world.state) == []


def test_there_are_fifty_rounds() -> None:
    assert ROUNDS == 50


def test_a_killed_capture_loses_nothing_and_takes_nothing_twice(
    quick_path: Path, choose: random.Random
) -> None:
    calm = new_world(quick_path, "calm")
    write(files_of(TALKS, calm.home))
    undisturbed = calm.run("capture").ok()
    expected, conversations = standing(calm), said(exported(calm))
    for number in range(CAPTURE_SERIES):
        world = new_world(quick_path, f"killed-{number}")
        files = files_of(TALKS, world.home)
        write({path: data[: choose.randint(0, len(data))] for path, data in files.items()})

        series = Series(world, ("capture",), undisturbed.seconds, choose, when_whole=begin_anew(world))
        series.run(CAPTURE_ROUNDS // 2)
        write(files)
        series.run(CAPTURE_ROUNDS // 2)
        make_whole(world, "capture")
        assert standing(world) == expected
        assert said(exported(world)) == conversations


def test_a_killed_capture_of_several_batches_goes_on_where_it_was(
    quick_path: Path, choose: random.Random
) -> None:
    calm, world = new_world(quick_path, "calm"), new_world(quick_path, "killed")
    for each in (calm, world):
        write(files_of(MANY, each.home))
    undisturbed = calm.run("capture").ok()
    series = Series(world, ("capture",), undisturbed.seconds, choose, when_whole=begin_anew(world))
    series.run(MANY_ROUNDS)
    make_whole(world, "capture")
    assert standing(world) == standing(calm)


def test_a_killed_ingest_took_all_of_the_file_or_nothing(quick_path: Path, choose: random.Random) -> None:
    origin = new_world(quick_path, "origin")
    write(files_of(TALKS, origin.home))
    origin.run("capture").ok()
    conversations = said(exported(origin, "archive.jsonl"))
    archive = str(origin.base / "archive.jsonl")
    calm = new_world(quick_path, "calm")
    undisturbed = calm.run("ingest", archive).ok()
    expected = standing(calm)
    assert expected == standing(origin)
    nothing = new_world(quick_path, "empty")
    empty = standing(nothing)
    for number in range(INGEST_SERIES):
        world = new_world(quick_path, f"killed-{number}")
        series = Series(world, ("ingest", archive), undisturbed.seconds, choose, when_whole=begin_anew(world))
        series.run(INGEST_ROUNDS)
        world.run("prepare-context").ok()
        assert standing(world) in (expected, empty)
        make_whole(world, "ingest", archive)
        assert standing(world) == expected
        assert said(exported(world)) == conversations


def test_a_killed_rebuild_leaves_an_index_that_answers_and_the_next_one_completes(
    quick_path: Path, choose: random.Random
) -> None:
    world = new_world(quick_path, "world")
    write(files_of(TALKS, world.home))
    write_notes(world.work / "notes", 60)
    world.run("capture").ok()
    world.run("ingest-notes", str(world.work / "notes")).ok()
    undisturbed = world.run("rebuild").ok()
    expected, conversations = standing(world), said(exported(world))
    for _ in range(REBUILD_SERIES):
        Series(world, ("rebuild",), undisturbed.seconds, choose).run(REBUILD_ROUNDS)
        assert standing(world) == expected, "the old index answers, or the new one"
        make_whole(world, "rebuild")
        assert standing(world) == expected
    assert said(exported(world)) == conversations
    assert world.run("search", "--all", "--json", "tide").document()["hits"]
