"""What a node does for its store, a step at a time, with a clock that is turned by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crdt.clock import pack, wall_ms
from crdt.entries import Draft, EntryKind
from crdt.errors import AtriumError, Damaged, DiskFull, ReadOnlyState
from crdt.store import FeedStore
from node.ballast import SIZE_BYTES
from node.composition import Local
from node.keeper import ROUTINE_S, Keeper
from node.logs import open_log
from tests.crdt.signers import SeedSigner, genesis
from tests.node.filled import opened


class Kept:
    """An open state directory, its keeper, and the clock in front of it."""

    def __init__(self, local: Local) -> None:
        self.local = local
        self.now_s = 0.0
        log = open_log(local.paths.log, "info", 1 << 20)
        self.keeper = Keeper(local, log, now_s=lambda: self.now_s)

    def step(self, after_s: float = 2.0) -> list[str]:
        """Let time pass, take a step, and give what was logged by it."""
        before = len(self.logged())
        self.now_s += after_s
        self.keeper.step()
        return self.logged()[before:]

    def logged(self) -> list[str]:
        lines = self.local.paths.log.read_text().splitlines()
        return [str(json.loads(line)["event"]) for line in lines]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with opened(tmp_path / "state", writable=True) as local:
        yield Kept(local)


def break_the_disk(monkeypatch: pytest.MonkeyPatch, fault: AtriumError | None) -> None:
    """Let the store say that it can't be written, and fail when it is tried, until told otherwise."""

    def probe(_store: FeedStore) -> None:
        if fault is not None:
            raise fault

    monkeypatch.setattr(FeedStore, "fault", property(lambda _store: fault))
    monkeypatch.setattr(FeedStore, "probe", probe)


def test_a_whole_store_is_checked_and_said_to_be(kept: Kept) -> None:
    kept.keeper.check()
    assert (kept.keeper.damage, kept.logged()) == ((), ["store_checked"])


def test_a_damaged_store_is_said_to_be(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FeedStore, "quick_check", lambda _store: ["page 7 is lost"])
    kept.keeper.check()
    assert (kept.keeper.damage, kept.logged()) == (("page 7 is lost",), ["store_found_damaged"])


def test_a_store_that_is_too_damaged_to_be_checked_is_damaged(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_store: FeedStore) -> list[str]:
        raise Damaged("malformed")

    monkeypatch.setattr(FeedStore, "quick_check", fail)
    kept.keeper.check()
    assert (kept.keeper.damage, kept.logged()) == (("malformed",), ["store_found_damaged"])


def test_the_first_step_takes_the_reserve_and_a_quiet_one_does_nothing(kept: Kept) -> None:
    assert kept.keeper.is_reserved is None
    assert kept.step() == ["ballast_restored"]
    assert kept.keeper.is_reserved is True
    assert kept.local.paths.ballast.stat().st_size == SIZE_BYTES
    assert kept.step() == []


def test_a_full_disk_gets_the_reserve_and_is_tried_until_it_can_be_written(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.step()
    with monkeypatch.context() as broken:
        break_the_disk(broken, DiskFull("no space left"))
        assert kept.step() == ["ballast_dropped", "store_not_kept"]
        assert (kept.keeper.is_reserved, kept.local.paths.ballast.exists()) == (False, False)
        assert kept.step() == [], "the same is not said again"
        broken.setattr(FeedStore, "probe", lambda _store: None)
        assert kept.step() == ["store_recovered"]
    assert kept.step() == ["ballast_restored"]


def test_a_disk_that_is_not_full_keeps_the_reserve(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.step()
    break_the_disk(monkeypatch, ReadOnlyState("read-only"))
    assert kept.step() == ["store_not_kept"]
    assert kept.keeper.is_reserved is True


def test_a_store_that_can_not_be_opened_is_a_fault(kept: Kept) -> None:
    kept.local.paths.feeds_db.write_bytes(b"no database at all" * 4096)
    assert isinstance(kept.keeper.fault, Damaged)
    assert kept.step() == ["store_not_kept"]


def test_a_log_that_nothing_is_added_to_is_folded_after_a_quiet_minute(kept: Kept) -> None:
    feeds = kept.local.feeds
    feeds.write([Draft(space=feeds.home(), kind=EntryKind.RECORD, body=b"said")])
    log = kept.local.paths.feeds_db.with_name("feeds.db-wal")
    kept.step(ROUTINE_S)
    assert log.stat().st_size > 0, "something was added since the last look"
    kept.step(ROUTINE_S)
    assert log.stat().st_size == 0


def test_entries_that_waited_for_their_moment_are_taken_within_the_minute(kept: Kept) -> None:
    now_ms = wall_ms()
    anna = genesis(SeedSigner("anna"), "team", kind="space")
    early = anna.say(EntryKind.RECORD, b"early", hlc=pack(now_ms + 600_000))
    feeds = kept.local.feeds
    feeds.receive([entry.raw for entry in anna.entries])
    own = feeds._writing.own if feeds._writing else None
    assert own is not None
    own.authorship = msgspec.structs.replace(own.authorship, now_ms=lambda: now_ms + 300_000)
    kept.step(ROUTINE_S / 2)
    assert len(feeds.pending()) == 1
    assert "pending_entries_taken" in kept.step(ROUTINE_S / 2)
    assert feeds.pending() == []
    assert feeds.entry(early.hash) is not None
