"""The canonical store as the doctor sees it: written, whole, forked, waiting; and the reserve."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from crdt.clock import pack, wall_ms
from crdt.entries import EntryKind, Position, seal
from crdt.errors import AtriumError, Damaged, DiskFull
from node import checks_store
from node.checks import Check, Look, Severity, Surroundings
from node.keeper import Keeper
from tests.crdt.signers import SeedSigner, genesis
from tests.node.asking import asked
from tests.node.filled import archive, fragment_of, opened

Found = tuple[str, Severity] | None


def kept(*, damage: str = "", fault: AtriumError | None = None, reserved: bool | None = True) -> Keeper:
    """Make what a node knows of its store."""
    said = SimpleNamespace(damage=(damage,) if damage else (), fault=fault, is_reserved=reserved)
    return cast("Keeper", said)


def judged(name: str, root: Path, keeper: Keeper | None = None) -> Found:
    """Run one check on a state directory; without a keeper no node has it open."""
    with opened(root) as local:
        local.keeper = keeper
        found = getattr(checks_store, f"check_{name}")(Look(local, {}, Surroundings()))
    if found is None:
        return None
    assert isinstance(found, Check)
    assert found.ok or found.hint
    return found.code, found.severity


def hint_about_feeds(root: Path) -> str:
    with opened(root) as local:
        found = checks_store.check_feeds(Look(local, {}, Surroundings()))
    assert found is not None
    return found.hint or ""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a state directory in which something is kept."""
    asked(tmp_path / "state", "memory.add", text="the sluice")
    return tmp_path / "state"


def test_without_a_node_nobody_knows_how_the_store_stands(root: Path) -> None:
    assert judged("store", root) is None
    assert judged("ballast", root) is None


@pytest.mark.parametrize(
    ("keeper", "found"),
    [
        (kept(), ("store_ok", Severity.OK)),
        (kept(fault=DiskFull("full")), ("store_read_only", Severity.BROKEN)),
        (kept(fault=Damaged("no database")), ("store_damaged", Severity.BROKEN)),
        (kept(damage="page 7 is lost"), ("store_damaged", Severity.BROKEN)),
    ],
)
def test_the_node_says_how_its_store_stands(root: Path, keeper: Keeper, found: Found) -> None:
    assert judged("store", root, keeper) == found


@pytest.mark.parametrize(
    ("reserved", "found"),
    [
        (None, None),
        (True, ("ballast_kept", Severity.OK)),
        (False, ("ballast_dropped", Severity.WARN)),
    ],
)
def test_the_node_says_whether_it_has_its_reserve(root: Path, reserved: bool | None, found: Found) -> None:
    assert judged("ballast", root, kept(reserved=reserved)) == found


def test_where_nothing_was_kept_nothing_can_be_forked_or_wait(tmp_path: Path) -> None:
    assert judged("feeds", tmp_path / "state") is None
    assert judged("pending", tmp_path / "state") is None


def test_a_feed_that_two_machines_wrote_is_told(root: Path) -> None:
    assert judged("feeds", root) == ("feeds_whole", Severity.OK)
    anna = genesis(SeedSigner("anna"), "team", kind="space")
    anna.say(EntryKind.RECORD, b"one")
    another = anna.branch(anna.entries[0], EntryKind.RECORD, b"another")
    with opened(root, writable=True) as local:
        local.feeds.receive([entry.raw for entry in (*anna.entries, another)])
    assert judged("feeds", root) == ("feed_forked", Severity.WARN)
    assert "a member wrote as one" in hint_about_feeds(root)


def test_a_copy_of_this_very_directory_that_wrote_is_told_as_such(root: Path) -> None:
    asked(root, "memory.add", text="one")
    with opened(root, writable=True) as local:
        home = local.feeds.home()
        identity = local.identity
        said = [item.entry for item in local.feeds.entries() if item.entry.feed.space == home]
        before, last = said[-2], said[-1]
        position = Position(feed=last.feed, seq=last.seq, prev=before.hash, hlc=last.hlc + 1)
        assert local.feeds.receive([seal(EntryKind.RECORD, b"by the copy", position, identity).raw]).committed
    assert judged("feeds", root) == ("feed_forked", Severity.WARN)
    assert "identity revoke" in hint_about_feeds(root)


def test_entries_that_wait_are_told(root: Path) -> None:
    assert judged("pending", root) is None
    anna = genesis(SeedSigner("anna"), "team", kind="space")
    anna.say(EntryKind.RECORD, b"early", hlc=pack(wall_ms() + 600_000))
    with opened(root, writable=True) as local:
        local.feeds.receive([entry.raw for entry in anna.entries])
    assert judged("pending", root) == ("entries_pending", Severity.WARN)


def test_a_segment_without_a_file_is_found_and_so_is_one_that_a_rebuild_could_not_read(
    tmp_path: Path,
) -> None:
    root = tmp_path / "state"
    archive(root, fragment_of("a", ["one"]))
    archive(root, fragment_of("b", ["two"]))
    path = min((root / "canonical" / "segments").rglob("*.zst"))
    whole = path.read_bytes()
    assert judged("segments", root) is None
    path.unlink()
    assert judged("segments", root) == ("segment_missing", Severity.BROKEN)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert judged("segments", root) is None, "nobody has read it"
    asked(root, "rebuild")
    assert judged("segments", root) == ("segment_unread", Severity.BROKEN)
    path.write_bytes(whole)
    asked(root, "memory.add", text="any write tries it again")
    assert judged("segments", root) is None
