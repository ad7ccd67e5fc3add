"""Whatever a power failure leaves of the store, it is whole, and has all that was acknowledged."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from crdt.entries import Draft, EntryKind
from crdt.errors import AtriumError, Unavailable
from crdt.feed_tables import FeedTables
from crdt.feed_writer import GroupWriter, _Submission
from crdt.incarnation import Authorship, OwnFeeds
from crdt.manifests import Segment, Tail, encode
from crdt.sqlite import transaction
from crdt.store import open_store
from crdt.store_writing import Writing
from crdt.verification import Checked, check_feed
from tests.crdt import power
from tests.crdt.signers import SeedSigner

STATES = 300
ROUNDS = 60
ALICE = SeedSigner("alice")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a store with a history, and close it."""
    path = tmp_path / "before" / "feeds.db"
    with closing(open_store(path, writable=True, signer=ALICE)) as store:
        home = store.home()
        store.write([Draft(space=home, kind=EntryKind.RECORD, body=b"before")])
    return path


def fragments(generator: random.Random, count: int) -> list[tuple[bytes, bytes]]:
    made = [generator.randbytes(generator.randrange(10, 6_000)) for _ in range(count)]
    return [(hashlib.sha256(data).digest(), data) for data in made]


def work(writing: Writing, home: bytes, record: power.Record) -> None:
    """Write records, waiting fragments and segments, several at once, and note what was acknowledged."""
    generator = random.Random(7)  # noqa: S311 - a replayable choice
    waiting: list[bytes] = []
    for round_ in range(ROUNDS):
        batches: list[tuple[list[Draft], list[tuple[bytes, bytes]]]] = []
        for _ in range(generator.randrange(1, 5)):
            body = generator.randbytes(generator.choice((30, 300, 9_000)))
            batches.append(([Draft(space=home, kind=EntryKind.RECORD, body=body)], []))
        if round_ % 5 == 1:
            new = fragments(generator, 3)
            waiting += [sha256 for sha256, _ in new]
            tail = Tail(fragments=[sha256 for sha256, _ in new])
            batches.append(([Draft(space=home, kind=EntryKind.TAIL, body=encode(tail))], new))
        if round_ % 10 == 9:
            segment = Segment(
                sha256="0" * 64, size_bytes=1, stored_bytes=1, fragments=[(w, 0) for w in waiting]
            )
            batches.append(([Draft(space=home, kind=EntryKind.SEGMENT, body=encode(segment))], []))
            waiting.clear()
        futures = []
        for drafts, tails in batches:
            future = writing.writer.submit(
                lambda c, d=drafts, t=tails: writing.on(c).write(d, t), len(drafts)
            )
            # It is called by the writer's thread, at the moment of the acknowledgement.
            future.add_done_callback(lambda done: record.acknowledge(i.entry.hash for i in done.result()))
            futures.append(future)
        for future in futures:
            future.result(30)


def recorded(path: Path, *, synchronous: str = "FULL") -> power.Record:
    """Do the work on a store through the recording VFS."""
    record = power.Record({item.name: item.read_bytes() for item in path.parent.iterdir()})
    with closing(open_store(path, writable=False)) as store:
        home, last_hlc = store.home(), max(item.entry.hlc for item in store.entries())
    connection = power.RecordedConnection(path, record, synchronous=synchronous)
    writer = GroupWriter(cast("object", connection), _never)  # type: ignore[arg-type]
    writing = Writing(writer, OwnFeeds(ALICE, Authorship(), path, last_hlc))
    work(writing, home, record)
    # The process is as good as dead: nothing that its end would write is of interest.
    writer.close()
    return record


def _never() -> FeedTables:
    raise Unavailable("no fault was planned")


def loss(state: power.State, folder: Path) -> str | None:
    """Open what a failure left as the next process would; say what is wrong with it."""
    folder.mkdir()
    state.put(folder)
    try:
        with closing(open_store(folder / "feeds.db", writable=False)) as store:
            if faults := store.quick_check():
                return f"corrupt: {faults[0]}"
            checked = Checked()
            for head in store.heads():
                check_feed(head.feed, store.stored_bytes(head.feed), checked)
            if checked.damage:
                return f"damaged: {checked.damage[0].what}"
            present = {item.entry.hash for item in store.entries()}
            return "an acknowledged entry is lost" if state.acknowledged - present else None
    except AtriumError as error:
        return f"unreadable: {error.detail}"


def losses(record: power.Record, count: int, folder: Path, seed: int) -> list[str]:
    found = []
    for number, state in enumerate(power.states(record, count, seed)):
        if complaint := loss(state, folder / str(number)):
            found.append(f"state {number} of seed {seed}: {complaint}")
    return found


def test_no_power_failure_corrupts_or_loses_what_was_acknowledged(path: Path, tmp_path: Path) -> None:
    record = recorded(path)
    assert len([step for step in record.steps if isinstance(step, power.Sync)]) > ROUNDS
    assert losses(record, STATES, tmp_path, seed=1) == []


def test_a_store_that_syncs_less_is_caught(path: Path, tmp_path: Path) -> None:
    record = recorded(path, synchronous="NORMAL")
    found = losses(record, 60, tmp_path, seed=2)
    assert any("acknowledged" in complaint for complaint in found), "else the states prove nothing"


def test_a_store_that_acknowledges_before_the_commit_is_caught(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hasty(self: GroupWriter, submissions: list[_Submission]) -> None:
        connection = self._usable()
        with transaction(connection):
            for submission in submissions:
                submission.attempt(connection)
                submission.settle()

    monkeypatch.setattr(GroupWriter, "_commit", hasty)
    found = losses(recorded(path), 60, tmp_path, seed=3)
    assert any("acknowledged" in complaint for complaint in found), "else the states prove nothing"
