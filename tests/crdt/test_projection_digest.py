"""The digest is a plain hash of what is there, the same on all nodes, without what is private."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from crdt import projection_digest
from crdt.entries import EntryKind
from crdt.projection_digest import ProjectionDigest, TypeCount
from crdt.records import state_sha256
from crdt.roster import Remove
from tests.crdt.memory_feeds import MemoryFeeds
from tests.crdt.projection_kit import Author, project, reader_of
from tests.crdt.signers import add

NOTHING = hashlib.sha256().hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "projection.db"


@pytest.fixture
def ann() -> Author:
    return Author("ann")


def digest_by_hand(path: Path, feeds: MemoryFeeds) -> str:
    """Work the digest out from the states alone."""
    spaces: dict[bytes, list[bytes]] = {}
    with reader_of(path, feeds) as reader:
        for view in reader.views([change.row for change in reader.changes(0, 1_000)]):
            if view.space_kind != "private":
                line = view.id.encode() + b"\0" + state_sha256(view.state).hex().encode()
                spaces.setdefault(view.space, []).append(line)
    hashed = {space: hashlib.sha256(b"".join(sorted(lines))).digest() for space, lines in spaces.items()}
    return hashlib.sha256(b"".join(space + hashed[space] for space in sorted(hashed))).hexdigest()


def digest_of(path: Path, feeds: MemoryFeeds) -> ProjectionDigest:
    with reader_of(path, feeds) as reader:
        return reader.digest()


def test_it_is_the_hash_of_ids_and_states_in_order(path: Path, ann: Author) -> None:
    ben = Author("ben", kind="space")
    for _ in range(20):
        ann.memory()
        ben.memory()
    feeds = MemoryFeeds([*ann.entries, *ben.entries])
    project(path, feeds).close()
    found = digest_of(path, feeds)
    assert found.digest == digest_by_hand(path, feeds) != NOTHING
    assert set(found.spaces) == {ann.space.hex(), ben.space.hex()}


def test_ids_are_in_the_order_of_their_bytes(path: Path, ann: Author) -> None:
    from crdt.operations import Operation

    for name in ("zz", "ab", "a", "é", "\U0001f600", "\uffee", "Z"):
        ann.say(Operation(id=name, type="memory", set={"kind": "memory"}, text="x"))
    feeds = MemoryFeeds(ann.entries)
    project(path, feeds).close()
    assert digest_of(path, feeds).digest == digest_by_hand(path, feeds)


def test_what_is_private_does_not_show_in_it(path: Path, ann: Author) -> None:
    ann.memory()
    alone = Author("ann-alone", kind="private")
    feeds = MemoryFeeds([*ann.entries, *alone.entries])
    with closing(project(path, feeds)) as projector:
        before = digest_of(path, feeds)
        alone.memory()
        feeds.take(alone.entries)
        projector.catch_up()
        after = digest_of(path, feeds)
    assert (after.digest, after.spaces) == (before.digest, before.spaces)


def test_any_change_of_a_record_shows_in_it(path: Path, ann: Author) -> None:
    made = ann.memory()
    feeds = MemoryFeeds(ann.entries)
    seen = set()
    with closing(project(path, feeds)) as projector:
        for change in ({"text": "two"}, {"tag": ["t"]}, {"set": {"project": "p"}}, {"deleted": True}):
            seen.add(digest_of(path, feeds).digest)
            made = ann.change(made, **change)
            feeds.take(ann.entries)
            projector.catch_up()
        seen.add(digest_of(path, feeds).digest)
    assert len(seen) == 5


def test_a_space_of_which_nothing_is_left_is_as_one_that_never_had_anything(path: Path, ann: Author) -> None:
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        assert digest_of(path, feeds).digest == NOTHING
        ben = Author("ben", ann.space, later_ms=1_000)
        ben.memory()
        feeds.take([ann.feed.roster(add(ben.signer)), *ben.entries])
        projector.catch_up()
        assert digest_of(path, feeds).digest != NOTHING
        feeds.take([ann.feed.roster(Remove(member=ben.key, cut={}))])
        projector.catch_up()
        assert digest_of(path, feeds).digest == NOTHING


def test_a_remembered_digest_is_given_until_something_changes(
    path: Path, ann: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.memory()
    feeds = MemoryFeeds(ann.entries)
    with closing(project(path, feeds)) as projector:
        known = projector.digest()
        assert known == digest_of(path, feeds)
        monkeypatch.setattr(projection_digest, "_LINES", "SELECT 1 / 0 WHERE ? AND fails")
        assert digest_of(path, feeds) == projector.digest() == known
        monkeypatch.undo()
        ann.memory()
        feeds.take(ann.entries)
        projector.catch_up()
        assert digest_of(path, feeds) != known
        assert projector.digest().digest == digest_by_hand(path, feeds)


def test_records_are_counted_by_type_and_what_does_not_count_apart(path: Path, ann: Author) -> None:
    made, gone = ann.memory(), ann.memory()
    ann.change(made, text="one")
    ann.change(made, text="another")
    ann.change(gone, deleted=True)
    ann.create("decision", {"decision": "so"})
    ann.create("hologram", {})
    ann.feed.say(EntryKind.RECORD, b"no operation")
    stranger = Author("mallory", ann.space)
    stranger.memory()
    feeds = MemoryFeeds([*ann.entries, *stranger.entries])
    project(path, feeds).close()
    with reader_of(path, feeds) as reader:
        counts = reader.counts()
    assert counts.types == {
        "decision": TypeCount(records=1, deleted=0, conflicted=0),
        "memory": TypeCount(records=2, deleted=1, conflicted=1),
    }
    assert (counts.operations, counts.refused, counts.unreadable) == (8, 2, 1)
