"""The projection is level when asked, made anew where it must be, and never in anybody's way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from crdt import projection_follow, projection_schema
from crdt.entries import Entry, EntryKind
from crdt.errors import Damaged, DiskFull, ReadOnlyState
from crdt.feed_tables import Committed
from crdt.projection import Projector
from crdt.projection_ledger import Ledger
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.mounts import run_with_small_files
from tests.crdt.projection_kit import Author, project, projected, reader_of, reduced
from tests.crdt.signers import add
from tests.kit import wait_until

FILL = """
import sys
from pathlib import Path
from crdt.errors import DiskFull
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.signers import add
from tests.crdt.projection_kit import Author, project

ann = Author("ann")
for number in range(400):
    ann.memory(f"{number} " * 4000)
try:
    project(Path(sys.argv[1]) / "derived" / "projection.db", MemoryFeeds(ann.entries))
except DiskFull as error:
    print(error.detail, "|", error.hint)
else:
    print("never full")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "projection.db"


@pytest.fixture
def ann() -> Author:
    return Author("ann")


def generation_of(path: Path, feeds: MemoryFeeds) -> str:
    with reader_of(path, feeds) as reader:
        return reader.generation()


class UnluckyFeeds(MemoryFeeds):
    """Feeds of which an entry can't be read."""

    def entries(self, after: int = 0, kinds: Sequence[int] | None = None) -> Iterator[Committed]:
        yield from super().entries(after, kinds)
        raise Damaged("entry 3 of canonical/feeds.db can't be read")


def test_what_was_written_is_there_and_counted_once(path: Path, ann: Author) -> None:
    made = [ann.memory(f"text {number}") for number in range(3)]
    feeds = MemoryFeeds(ann.entries)
    with closing(Projector(path, feeds)) as projector:
        assert projector.catch_up() == 3
        assert projector.catch_up() == 0
        with reader_of(path, feeds) as reader:
            assert [reader.get(one.id).state.text for one in made] == ["text 0", "text 1", "text 2"]
            assert reader.watermark() == feeds.head()


def test_a_closed_projector_opens_again_when_it_is_asked(path: Path, ann: Author) -> None:
    feeds = MemoryFeeds(ann.entries)
    projector = project(path, feeds)
    projector.close()
    projector.close()
    ann.memory()
    feeds.take(ann.entries)
    assert projector.catch_up() == 1
    projector.close()


def test_progress_tells_the_place_that_was_reached(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection_follow, "BATCH_ENTRIES", 2)
    for _ in range(5):
        ann.memory()
    told: list[tuple[int, int]] = []
    with closing(Projector(path, MemoryFeeds(ann.entries))) as projector:
        projector.catch_up(lambda place, head: told.append((place, head)))
    assert told == [(3, 6), (5, 6), (6, 6)]


def test_an_absent_projection_is_made_again_alike(path: Path, ann: Author) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    before = projected(path, feeds)
    path.unlink()
    project(path, feeds).close()
    assert projected(path, feeds) == before != {}


@pytest.mark.parametrize("taken_back", [1, 2])
def test_a_projection_ahead_of_its_feeds_is_made_anew(path: Path, ann: Author, taken_back: int) -> None:
    """A restored backup lacks the newest entries; what is written after it takes their places."""
    for _ in range(3):
        ann.memory()
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    before = generation_of(path, feeds)
    restored = MemoryFeeds(ann.entries[:-taken_back])
    project(path, restored).close()
    assert generation_of(path, restored) != before
    assert projected(path, restored) == reduced(restored)
    assert len(projected(path, restored)) == 3 - taken_back


def test_a_projection_whose_place_holds_another_entry_is_made_anew(path: Path, ann: Author) -> None:
    ann.memory("lost")
    project(path, MemoryFeeds(ann.entries)).close()
    other = Author("ann")
    other.memory("kept")
    feeds = MemoryFeeds(other.entries)
    project(path, feeds).close()
    assert projected(path, feeds) == reduced(feeds)


def test_it_is_noticed_while_the_projection_is_open(path: Path, ann: Author) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        feeds.__init__(ann.entries[:1])  # type: ignore[misc]
        projector.catch_up()
        assert projected(path, feeds) == {}


def test_one_of_another_version_is_made_anew(path: Path, ann: Author) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {projection_schema.VERSION + 1}")
    project(path, feeds).close()
    assert projected(path, feeds) == reduced(feeds)


def overwrite(path: Path) -> None:
    path.write_bytes(b"no database at all, and long enough to have a header " * 40)


def damage_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(4096 * 2, len(data), 4096):
        data[at : at + 600] = b"\xff" * 600
    path.write_bytes(data)


def damage_states(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE states SET state = x'c1'")


@pytest.mark.parametrize("harm", [overwrite, damage_pages, damage_states])
def test_a_damaged_one_is_made_anew(path: Path, ann: Author, harm: object) -> None:
    first = ann.memory()
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    harm(path)  # type: ignore[operator]
    ann.change(first, text="changed")
    feeds.take(ann.entries)
    project(path, feeds).close()
    assert projected(path, feeds) == reduced(feeds)


def test_an_entry_that_the_rows_name_and_the_feeds_lack_has_it_made_anew(path: Path, ann: Author) -> None:
    first = ann.memory()
    ann.memory()
    ben = Author("ben", ann.space)
    ann.feed.roster(add(ben.signer))
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        del feeds._by_id[2]
        feeds.take([ben.change(first, text="from elsewhere").entry])
        before = generation_of(path, feeds)
        projector.catch_up()
        assert generation_of(path, feeds) != before


def test_damaged_feeds_are_reported_and_the_projection_stays(path: Path, ann: Author) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    before = generation_of(path, feeds)
    ann.memory()
    unlucky = UnluckyFeeds(ann.entries)
    with closing(Projector(path, unlucky)) as projector, pytest.raises(Damaged, match="feeds"):
        projector.catch_up()
    assert generation_of(path, feeds) == before


def test_a_failure_within_a_transaction_leaves_nothing_of_it(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        ann.memory(tags=["a"])
        ben = Author("ben", ann.space)
        feeds.take([*ann.entries, ben.memory().entry])
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "set_watermark", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                projector.catch_up()
        assert len(projected(path, feeds)) == 1
        projector.catch_up()
        assert projected(path, feeds) == reduced(feeds)


def test_a_batch_of_large_texts_ends_early(path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection_follow, "BATCH_BYTES_MAX", 1_000)
    for _ in range(4):
        ann.memory("x" * 2_000)
    places = []
    feeds = MemoryFeeds(ann.entries)
    with closing(Projector(path, feeds)) as projector:
        assert projector.catch_up(lambda place, _: places.append(place)) == 4
    assert places == [2, 3, 4, 5]
    assert projected(path, feeds) == reduced(feeds)


def test_entries_that_are_no_records_only_move_the_watermark(path: Path, ann: Author) -> None:
    for _ in range(3):
        ann.feed.say(EntryKind.SEGMENT, b"a manifest")
    feeds = MemoryFeeds(ann.entries)
    with closing(Projector(path, feeds)) as projector:
        assert projector.catch_up() == 0
    with reader_of(path, feeds) as reader:
        assert (reader.watermark(), reader.head()) == (4, 0)


def test_many_threads_catch_up_at_once(path: Path, ann: Author) -> None:
    for _ in range(50):
        ann.memory()
    feeds = MemoryFeeds(ann.entries)
    applied: list[int] = []
    with closing(Projector(path, feeds)) as projector:
        threads = [threading.Thread(target=lambda: applied.append(projector.catch_up())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(applied) == [0] * 7 + [50]


class CountingLock:
    """A lock that knows how many have asked for it."""

    def __init__(self) -> None:
        self.asked = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.asked += 1
        self._lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self._lock.release()


def test_all_who_ask_while_one_call_runs_share_the_next(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = MemoryFeeds(ann.entries)
    began, free, runs = threading.Event(), threading.Event(), []
    begin = projection_follow.Follower.is_of_these_feeds

    def slow(follower: projection_follow.Follower) -> bool:
        runs.append(1)
        began.set()
        free.wait(20)
        return begin(follower)

    monkeypatch.setattr(projection_follow.Follower, "is_of_these_feeds", slow)
    with closing(Projector(path, feeds)) as projector, ThreadPoolExecutor(6) as pool:
        monkeypatch.setattr(projector, "_lock", lock := CountingLock())
        first = pool.submit(projector.catch_up)
        assert began.wait(20)
        ann.memory("late")
        feeds.take(ann.entries)
        others = [pool.submit(projector.catch_up) for _ in range(5)]
        wait_until(lambda: lock.asked == 6, "all others wait")
        free.set()
        first.result(20)
        for other in others:
            other.result(20)
        assert len(runs) == 2
    with reader_of(path, feeds) as reader:
        assert reader.watermark() == feeds.head()


def test_a_rebuild_serves_the_old_one_until_the_new_one_is_whole(path: Path, ann: Author) -> None:
    for _ in range(3):
        ann.memory()
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        before, generation = projected(path, feeds), generation_of(path, feeds)
        with reader_of(path, feeds) as old:
            seen = []
            assert projector.rebuild(lambda *_: seen.append(projected(path, feeds))) == 3
            assert seen == [before]
            assert old.generation() == generation
        assert generation_of(path, feeds) != generation
        assert projected(path, feeds) == before
        ann.memory()
        feeds.take(ann.entries)
        assert projector.catch_up() == 1
    assert not list(path.parent.glob("*.new*"))


def test_a_rebuild_that_fails_leaves_the_old_one(path: Path, ann: Author) -> None:
    ann.memory()
    feeds = UnluckyFeeds(ann.entries)
    good = MemoryFeeds(ann.entries)
    project(path, good).close()
    before = projected(path, good)
    with closing(Projector(path, feeds)) as projector, pytest.raises(Damaged):
        projector.rebuild()
    assert projected(path, good) == before
    assert not list(path.parent.glob("*.new*"))


def test_a_full_disk_is_an_error_that_says_so(tmp_path: Path) -> None:
    said = run_with_small_files(tmp_path, 1 << 20, FILL)
    assert "projection.db" in said
    assert DiskFull.default_hint in said


def test_a_directory_that_cannot_be_written_is_an_error_that_says_so(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Entry:
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorname = "SQLITE_READONLY"
        raise error

    ann.memory()
    with closing(Projector(path, MemoryFeeds(ann.entries))) as projector, monkeypatch.context() as patch:
        patch.setattr(Ledger, "set_watermark", refuse)
        with pytest.raises(ReadOnlyState, match=r"projection\.db"):
            projector.catch_up()
