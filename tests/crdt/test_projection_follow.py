"""Following: what is extended, what is reduced again, and what is read back from the feeds for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from crdt import projection_follow
from crdt.clock import pack
from crdt.entries import Entry, EntryKind
from crdt.projection import Projector
from crdt.roster import Label, Remove
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, projected, reader_of, reduced
from tests.crdt.signers import START_MS, add


class CountingFeeds(MemoryFeeds):
    """Feeds that count which entries are read back."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.read_back: list[bytes] = []
        super().__init__(entries)

    def by_ids(self, ids: Sequence[int]) -> dict[int, Entry]:
        found = super().by_ids(ids)
        # The entry at the watermark is asked for by a tuple, to see whether these are the right feeds.
        if isinstance(ids, list):
            self.read_back += [entry.hash for entry in found.values()]
        return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "projection.db"


@pytest.fixture
def ann() -> Author:
    return Author("ann")


@contextmanager
def following(path: Path, feeds: MemoryFeeds) -> Iterator[Projector]:
    """Follow feeds, and see in the end that nothing was missed."""
    with closing(Projector(path, feeds)) as projector:
        projector.catch_up()
        yield projector
        assert projected(path, feeds) == reduced(feeds)


def bytes_of(path: Path) -> bytes:
    """Read all that the disk has of a projection."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_what_builds_on_all_there_is_needs_nothing_of_what_was_before(path: Path, ann: Author) -> None:
    made = ann.memory()
    feeds = CountingFeeds(ann.entries)
    with following(path, feeds) as projector:
        made = ann.change(made, text="two")
        ann.change(made, text="three")
        feeds.take(ann.entries)
        projector.catch_up()
        assert feeds.read_back == []


def test_a_concurrent_change_has_its_record_reduced_and_no_other(path: Path, ann: Author) -> None:
    made, other = ann.memory(), ann.memory()
    ann.change(made, text="two")
    feeds = CountingFeeds(ann.entries)
    with following(path, feeds) as projector:
        ann.change(made, text="concurrent")
        ann.change(other, text="later")
        feeds.take(ann.entries)
        projector.catch_up()
        assert set(feeds.read_back) == {made.entry.hash, ann.entries[3].hash}
        with reader_of(path, feeds) as reader:
            assert len(reader.get(made.id).state.conflicts) == 1


def test_many_operations_are_read_back_in_portions(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection_follow, "LOOKUP_PLACES", 3)
    records = [ann.memory(f"{number}") for number in range(5)]
    for record in records:
        for number in range(4):
            ann.change(record, set={"project": f"p{number}"})
    feeds = MemoryFeeds(ann.entries)
    with following(path, feeds) as projector:
        for record in records:
            ann.change(record, text="concurrent")
        feeds.take(ann.entries)
        projector.catch_up()


def test_an_operation_that_comes_before_its_creation_waits_for_it(path: Path, ann: Author) -> None:
    made = ann.memory("one")
    ben = Author("ben", ann.space, later_ms=1_000)
    change = ben.change(made, text="two")
    ann.feed.roster(add(ben.signer, ("read", "append")))
    ann.feed.roster(Label(label="home"))
    last = ann.change(made, change, text="three")
    genesis, creation, *memberships, _ = ann.entries
    feeds = MemoryFeeds([genesis, *memberships])
    with following(path, feeds) as projector:
        for entry in (last.entry, change.entry, creation):
            feeds.take([entry])
            projector.catch_up()
            assert projected(path, feeds) == reduced(feeds)


def test_a_new_member_who_said_nothing_has_nothing_reduced_again(path: Path, ann: Author) -> None:
    for _ in range(5):
        ann.memory()
    feeds = CountingFeeds(ann.entries)
    with following(path, feeds) as projector:
        feeds.take([ann.feed.roster(add(Author("ben", ann.space).signer)), ann.feed.roster(Label(label="x"))])
        projector.catch_up()
        assert feeds.read_back == []
        ann.memory()
        feeds.take(ann.entries)
        projector.catch_up()
        with reader_of(path, feeds) as reader:
            assert {view.space_label for view in reader.views([1, 6])} == {"x"}


def test_a_removal_has_what_its_member_touched_reduced_again_and_nothing_else(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crdt.projection_ledger.STALE_BATCH", 2)
    ben = Author("ben", ann.space, later_ms=1_000)
    ann.feed.roster(add(ben.signer))
    untouched, touched = ann.memory(), ann.memory()
    own = [ben.memory() for _ in range(5)]
    ben.change(touched, text="by ben")
    feeds = CountingFeeds([*ann.entries, *ben.entries])
    with following(path, feeds) as projector:
        removal = Remove(member=ben.key, cut={ben.feed.inc: 2})
        feeds.take([ann.feed.roster(removal, hlc=pack(START_MS + 60_000))])
        projector.catch_up()
        assert untouched.entry.hash not in feeds.read_back
        assert touched.entry.hash in feeds.read_back
        with reader_of(path, feeds) as reader:
            assert reader.get(touched.id).state.text == "text"
            left = {view.id for view in reader.with_ids([one.id for one in own])}
            assert left == {one.id for one in own[:2]}


@pytest.mark.parametrize("kind", [EntryKind.RECORD, EntryKind.SEGMENT])
@pytest.mark.parametrize("is_new_process", [False, True])
def test_what_a_thief_put_beside_a_removed_member_s_words_goes_when_their_end_comes(
    path: Path, ann: Author, kind: EntryKind, *, is_new_process: bool
) -> None:
    ben = Author("ben", ann.space, later_ms=1_000)
    ann.feed.roster(add(ben.signer))
    own, touched = ben.memory(), ann.memory("before")
    last = ben.feed.say(kind, b"the end")
    thief = Author("ben", ann.space, later_ms=1_000)
    thief.feed.entries[:] = [own.entry]
    theirs, changed = thief.memory("by a thief"), thief.change(touched, text="by a thief")
    removal = Remove(member=ben.key, cut={ben.feed.inc: 3}, said={}, ends={ben.feed.inc: [last.hash]})
    ann.feed.roster(removal, hlc=pack(START_MS + 60_000))
    feeds = MemoryFeeds([*ann.entries, own.entry, theirs.entry, changed.entry])
    with following(path, feeds) as projector:
        with reader_of(path, feeds) as reader:
            assert reader.get(theirs.id).state.text == "by a thief"
        feeds.take([last])
        if is_new_process:
            projector.close()
        projector.catch_up()
        with reader_of(path, feeds) as reader:
            assert reader.get(touched.id).state.text == "before"
            assert [view.id for view in reader.with_ids([own.id, theirs.id])] == [own.id]


def test_what_was_erased_is_reduced_away_and_stays_away(path: Path, ann: Author) -> None:
    made = ann.memory("one")
    leak = ann.change(made, text="a secret")
    last = ann.change(leak, tag=["t"])
    feeds = CountingFeeds(ann.entries)
    with following(path, feeds) as projector:
        assert b"a secret" in bytes_of(path)
        feeds.take([ann.feed.say(EntryKind.ERASE, leak.entry.hash)])
        projector.catch_up()
        with reader_of(path, feeds) as reader:
            view = reader.get(made.id)
            assert (view.state.text, list(view.state.tags), view.change_seq) == ("one", ["t"], 2)
            assert [version.stamped.hash for version in reader.history(view)] == [
                made.entry.hash,
                last.entry.hash,
            ]
        assert b"a secret" not in bytes_of(path)
        feeds.take([ann.change(last, text="two").entry])
        projector.catch_up()


def test_an_erasure_can_come_before_what_it_erases_or_beside_it(path: Path, ann: Author) -> None:
    made = ann.memory("one")
    leak = ann.change(made, text="a secret")
    erasure = ann.feed.say(EntryKind.ERASE, leak.entry.hash)
    feeds = MemoryFeeds([*ann.entries[:2], erasure])
    with following(path, feeds) as projector:
        feeds.take([leak.entry])
        assert projector.catch_up() == 0
    path.unlink()
    with following(path, MemoryFeeds(ann.entries)):
        assert b"a secret" not in bytes_of(path)


def test_a_crash_behind_an_erasure_leaves_its_record_to_the_next_start(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak = ann.memory("a secret")
    feeds = MemoryFeeds(ann.entries)
    with following(path, feeds) as projector:
        feeds.take([ann.feed.say(EntryKind.ERASE, leak.entry.hash)])
        with monkeypatch.context() as patch:
            patch.setattr(
                projection_follow.Follower, "refresh", lambda self: self._ledger.has_stale() and 1 / 0
            )
            with pytest.raises(ZeroDivisionError):
                projector.catch_up()
        projector.close()
        assert len(projected(path, feeds)) == 1
        projector.catch_up()
        assert projected(path, feeds) == {}


def test_rows_that_were_left_stale_by_a_crash_are_reduced_at_the_next_start(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    ben = Author("ben", ann.space, later_ms=1_000)
    ann.feed.roster(add(ben.signer))
    ben.memory()
    feeds = MemoryFeeds([*ann.entries, *ben.entries])
    with following(path, feeds) as projector:
        feeds.take([ann.feed.roster(Remove(member=ben.key, cut={}))])
        with monkeypatch.context() as patch:
            patch.setattr(projection_follow.Follower, "refresh", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                projector.catch_up()
        projector.close()
        assert projector.catch_up() == 0
        assert projected(path, feeds) == {}


def test_members_who_change_while_a_batch_is_read_are_those_that_it_is_reduced_with(
    path: Path, ann: Author
) -> None:
    """The entries of a batch are read first, and the roster after them may know of later ones."""
    ben = Author("ben", ann.space, later_ms=1_000)
    ann.feed.roster(add(ben.signer))
    made = ben.memory()
    removal = ann.feed.roster(Remove(member=ben.key, cut={}))

    class Hurried(MemoryFeeds):
        def head(self) -> int:
            head = super().head()
            if head == 3:
                self.take([removal])
            return head

    feeds = Hurried([*ann.entries[:2], made.entry])
    with following(path, feeds):
        assert projected(path, feeds) == {}
