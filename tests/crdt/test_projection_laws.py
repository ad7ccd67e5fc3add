"""The laws: no order of arrival, no partition into batches, no crash and no repetition shows in the rows."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt import projection_follow
from crdt.entries import EntryKind
from crdt.projection import Projector
from tests.crdt.memory_feeds import ChainedFeeds, MemoryFeeds
from tests.crdt.projection_kit import project, projected, reader_of, reduced
from tests.crdt.story import Story
from tests.kit import CHECKOUT

seeds = st.integers(0, 2**32 - 1)
ROUNDS = 3
DIE_IN_A_TRANSACTION = """
import os, sys
from pathlib import Path
from crdt import projection_follow
from crdt.projection_ledger import Ledger
from tests.crdt.memory_feeds import ChainedFeeds, MemoryFeeds
from tests.crdt.projection_kit import project
from tests.crdt.story import Story

path, seed, commits = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
projection_follow.BATCH_ENTRIES = 7
set_watermark = Ledger.set_watermark

def die(ledger, *place):
    global commits
    set_watermark(ledger, *place)
    commits -= 1
    if commits == 0:
        os._exit(9)

Ledger.set_watermark = die
project(path, MemoryFeeds(Story(seed).entries))
"""


@contextmanager
def folder() -> Iterator[Path]:
    """Make a place for a projection; fixtures are not made anew for each example."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "derived" / "projection.db"


@given(seeds, seeds, st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_any_order_in_any_parts_comes_to_what_the_operations_amount_to(
    seed: int, order: int, batch: int
) -> None:
    entries = Story(seed).entries
    chance = random.Random(order)  # noqa: S311
    arriving = chance.choices(entries[1:], k=5) + entries[1:]
    chance.shuffle(arriving)
    feeds = ChainedFeeds(entries[:1])
    with (
        folder() as path,
        pytest.MonkeyPatch.context() as patch,
        closing(Projector(path, feeds)) as projector,
    ):
        patch.setattr(projection_follow, "BATCH_ENTRIES", batch)
        while arriving:
            part = chance.randint(1, 15)
            feeds.take(arriving[:part])
            del arriving[:part]
            projector.catch_up()
        assert projected(path, feeds) == reduced(feeds)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_who_is_a_member_can_be_heard_last(seed: int) -> None:
    entries = Story(seed).entries
    late = [entry for entry in entries if entry.kind == EntryKind.ROSTER]
    feeds = MemoryFeeds(entry for entry in entries if entry.kind != EntryKind.ROSTER)
    with folder() as path, closing(project(path, feeds)) as projector:
        for entry in reversed(late):
            feeds.take([entry])
            projector.catch_up()
            assert projected(path, feeds) == reduced(feeds)


@given(seeds, seeds)
@settings(max_examples=15, deadline=None)
def test_two_nodes_with_the_same_entries_have_one_digest(seed: int, order: int) -> None:
    entries = Story(seed).entries
    shuffled = entries[1:]
    random.Random(order).shuffle(shuffled)  # noqa: S311
    digests = []
    for arrived in (entries, [entries[0], *shuffled]):
        feeds = MemoryFeeds(arrived)
        with folder() as path, closing(project(path, feeds)), reader_of(path, feeds) as reader:
            digests.append((reader.digest().digest, reader.digest().spaces, reader.counts()))
    assert digests[0] == digests[1]


def test_a_story_has_in_it_what_makes_merging_hard() -> None:
    conflicts = deleted = refused = unreadable = forked = void = stray = 0
    for seed in range(12):
        story = Story(seed)
        feeds = MemoryFeeds(story.entries)
        roster = feeds.roster(story.ann.space)
        beyond = {e.hash for e in story.entries if roster.is_void(e.author, e.inc, e.seq)}
        void += len(beyond)
        stray += len({entry.hash for entry in story.entries if feeds.is_void(entry)} - beyond)
        forked += len(story.entries) - len({(e.author, e.inc, e.seq) for e in story.entries})
        with folder() as path, closing(project(path, feeds)), reader_of(path, feeds) as reader:
            counts = reader.counts()
        conflicts += sum(count.conflicted for count in counts.types.values())
        deleted += sum(count.deleted for count in counts.types.values())
        refused += counts.refused
        unreadable += counts.unreadable
    assert min(conflicts, deleted, refused, unreadable, forked, void, stray) > 0


@pytest.mark.parametrize("commits", range(1, ROUNDS + 1))
def test_a_process_that_dies_within_a_transaction_leaves_what_the_next_one_goes_on_with(
    tmp_path: Path, commits: int
) -> None:
    path = tmp_path / "derived" / "projection.db"
    command = [sys.executable, "-c", DIE_IN_A_TRANSACTION, str(path), "7", str(commits)]
    died = subprocess.run(command, cwd=CHECKOUT, timeout=60, check=False)
    assert died.returncode == 9
    feeds = MemoryFeeds(Story(7).entries)
    with reader_of(path, feeds) as reader:
        assert reader.watermark() == (1 + 7 * (commits - 1) if commits > 1 else 0)
        generation = reader.generation()
    with closing(project(path, feeds)), reader_of(path, feeds) as reader:
        assert reader.generation() == generation
    assert projected(path, feeds) == reduced(feeds)
