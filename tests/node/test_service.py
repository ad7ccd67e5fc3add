"""Parts of the node that end, fail and start again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from crdt.errors import DiskFull
from node.logs import Logger, open_log
from node.service import LoopFailures, Service, supervise


@pytest.fixture
def log(tmp_path: Path) -> Logger:
    return open_log(tmp_path / "node.log", "info", 1 << 20)


async def test_a_part_that_ends_is_done(log: Logger) -> None:
    runs: list[int] = []

    async def run() -> None:
        runs.append(1)

    await supervise(Service(name="x", run=run), log)
    assert runs == [1]


async def test_a_part_that_fails_starts_again_and_the_log_says_why(tmp_path: Path, log: Logger) -> None:
    failures = [DiskFull("full of secrets"), LookupError("a secret")]

    async def run() -> None:
        if failures:
            raise failures.pop(0)

    await asyncio.wait_for(supervise(Service(name="x", run=run), log, pause_s_min=0.001), 20)
    lines = [json.loads(line) for line in (tmp_path / "node.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["service_failed"] * 2
    assert lines[0]["code"] == "disk_full"
    assert lines[1]["error"] == "LookupError"
    assert lines[1]["pause_s"] == 2 * lines[0]["pause_s"]
    assert "secret" not in str(lines)


async def test_a_part_can_be_cancelled(log: Logger) -> None:
    started = asyncio.Event()

    async def run() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(supervise(Service(name="x", run=run), log))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_the_loop_can_not_raise_is_logged_once_a_second_without_arguments(
    tmp_path: Path, log: Logger
) -> None:
    failures = LoopFailures(log)
    loop = asyncio.get_running_loop()
    for _ in range(100):
        failures(loop, {"message": "socket.accept() out of system resource", "exception": OSError(24, "x")})
    failures(
        loop, {"message": "Exception in callback said('a secret')", "exception": LookupError("a secret")}
    )
    failures(loop, {"message": "Task was destroyed but it is pending!"})
    lines = [json.loads(line) for line in (tmp_path / "node.log").read_text().splitlines()]
    assert [(line["event"], line["reason"], line.get("error")) for line in lines] == [
        ("loop_failed", "socket.accept() out of", "OSError"),
        ("loop_failed", "Exception in callback", "LookupError"),
        ("loop_failed", "Task was destroyed", None),
    ]
    assert "secret" not in str(lines)
