"""Changes below transcript directories reach capture, whatever exists when."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node import watch
from node.logs import Logger, open_log
from node.watch import Watcher, existing, scan_regularly, touched_roots

WAIT_S = 20


class Captures:
    """Captures that were asked for, one after the other."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[dict[str, list[str]]] = asyncio.Queue()

    async def capture(self, roots: dict[str, list[str]]) -> None:
        self.queue.put_nowait(roots)

    async def next(self) -> dict[str, list[str]]:
        return await asyncio.wait_for(self.queue.get(), WAIT_S)

    async def until(self, roots: dict[str, list[str]]) -> None:
        """Wait for a capture of exactly these roots; others before it don't matter."""
        async with asyncio.timeout(WAIT_S):
            while await self.queue.get() != roots:
                continue


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_MS", 100)


@pytest.fixture
def log(tmp_path: Path) -> Logger:
    return open_log(tmp_path / "node.log", "info", 1 << 20)


@asynccontextmanager
async def watching(roots: dict[str, list[str]], log: Logger) -> AsyncIterator[Captures]:
    captures = Captures()
    task = asyncio.ensure_future(Watcher(roots, captures.capture, log).run())
    try:
        yield captures
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def folder(path: Path) -> str:
    path.mkdir(parents=True)
    return str(path)


async def test_a_write_is_noticed_within_two_seconds(tmp_path: Path, log: Logger) -> None:
    roots = {"codex": [folder(tmp_path / "codex")], "claude-code": [folder(tmp_path / "claude")]}
    async with watching(roots, log) as captures:
        await captures.until(roots)
        began = asyncio.get_running_loop().time()
        (tmp_path / "codex" / "a.jsonl").write_text("{}\n")
        assert await captures.next() == {"codex": roots["codex"]}
        assert asyncio.get_running_loop().time() - began < 2


async def test_a_write_in_a_new_directory_is_noticed(tmp_path: Path, log: Logger) -> None:
    roots = {"codex": [folder(tmp_path / "codex")]}
    async with watching(roots, log) as captures:
        await captures.until(roots)
        (tmp_path / "codex" / "2026" / "11").mkdir(parents=True)
        await captures.until(roots)
        (tmp_path / "codex" / "2026" / "11" / "a.jsonl").write_text("{}\n")
        await captures.until(roots)


async def test_a_directory_that_appears_later_is_captured_at_once(tmp_path: Path, log: Logger) -> None:
    roots = {"codex": [folder(tmp_path / "codex")], "opencode": [str(tmp_path / "later")]}
    async with watching(roots, log) as captures:
        await captures.until({"codex": roots["codex"]})
        (tmp_path / "later").mkdir()
        await captures.until(roots)


async def test_watching_starts_when_the_first_directory_appears(tmp_path: Path, log: Logger) -> None:
    roots = {"codex": [str(tmp_path / "later")]}
    async with watching(roots, log) as captures:
        await asyncio.sleep(0)
        (tmp_path / "later").mkdir()
        await captures.until(roots)


async def test_a_directory_that_goes_away_ends_nothing(tmp_path: Path, log: Logger) -> None:
    roots = {"codex": [folder(tmp_path / "codex")], "opencode": [folder(tmp_path / "goes")]}
    async with watching(roots, log) as captures:
        await captures.until(roots)
        (tmp_path / "goes").rmdir()
        await captures.until({"codex": roots["codex"]})


async def test_beyond_the_kernel_s_limit_directories_are_polled(
    tmp_path: Path, log: Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = watch.awatch

    def limited(*folders: str, **options: object) -> object:
        if not options["force_polling"]:
            raise OSError("OS file watch limit reached.")
        return real(*folders, **{**options, "poll_delay_ms": 50})  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "awatch", limited)
    roots = {"codex": [folder(tmp_path / "codex")]}
    async with watching(roots, log) as captures:
        await captures.until(roots)
        (tmp_path / "codex" / "a.jsonl").write_text("{}\n")
        await captures.until(roots)
    events = [json.loads(line)["event"] for line in (tmp_path / "node.log").read_text().splitlines()]
    assert "watching_fell_back_to_polling" in events


async def test_a_scan_covers_everything_and_comes_again() -> None:
    captures = Captures()
    pauses: asyncio.Queue[float] = asyncio.Queue()

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)
        await asyncio.sleep(0)

    roots = {"codex": ["/absent"]}
    task = asyncio.ensure_future(scan_regularly(roots, captures.capture, 300, pause=pause))
    assert [await captures.next(), await captures.next()] == [roots, roots]
    assert await pauses.get() == 300
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


ROOTS = {"codex": ["/a/codex", "/b"], "claude-code": ["/a/claude"]}


@pytest.mark.parametrize(
    ("paths", "touched"),
    [
        (["/a/codex/x.jsonl"], {"codex": ["/a/codex"]}),
        (["/a/codex"], {"codex": ["/a/codex"]}),
        (["/a/codex/x", "/a/claude/y"], {"codex": ["/a/codex"], "claude-code": ["/a/claude"]}),
        (["/a/codex2/x"], ROOTS),
        (["/elsewhere"], ROOTS),
        ([], {}),
    ],
)
def test_changes_are_matched_to_their_directories(paths: list[str], touched: dict[str, list[str]]) -> None:
    assert touched_roots(ROOTS, paths) == touched


def test_only_directories_that_exist_are_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    roots = {"codex": [str(tmp_path), str(tmp_path / "absent")], "generic": [str(tmp_path / "file")]}
    assert existing(roots) == {"codex": [str(tmp_path)]}
