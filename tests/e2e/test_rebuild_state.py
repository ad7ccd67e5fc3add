"""Everything derived may be deleted: what is made anew has the same digests and gives the same answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.bench import answers
from tests.bench.answers import Question, Standing
from tests.e2e.states import settings
from tests.e2e.transcripts import WORDS, Talk, write
from tests.kit import World

ENTRIES = 2_000
ARCHIVE_BYTES_MIN = 5_000_000
TALKS = [Talk(number, 24, result_bytes=9_000) for number in range(50)]
ENV = {"ATRIUM_PORT": "0"}


pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


def standing(world: World, asked: list[Question]) -> Standing:
    return answers.standing(settings(world), asked)


def test_deleting_everything_derived_changes_no_digest_and_no_answer(world: World) -> None:
    for talk in TALKS:
        write(talk.files(world.home))
    world.run("capture").ok()
    project = world.work / "project"
    answers.fill(settings(world), ENTRIES, WORDS, project)
    assert answers.archive_bytes(settings(world)) > ARCHIVE_BYTES_MIN
    asked = answers.questions(settings(world), WORDS, project)
    before = standing(world, asked)
    assert before.records["memory"] > ENTRIES * 0.9
    assert answers.empty(before) == []

    shutil.rmtree(world.state / "derived")
    world.run("up", env=ENV, timeout=100).ok()
    try:
        world.run("prepare-context", env=ENV, timeout=100).ok()
    finally:
        world.run("down").ok()
    assert before.differences(standing(world, asked)) == []

    shutil.rmtree(world.state / "derived")
    world.run("rebuild", timeout=100).ok()
    assert before.differences(standing(world, asked)) == []

    world.run("memory", "add", f"one more {WORDS[0]}").ok()
    assert "projection_digest" in before.differences(standing(world, asked))
