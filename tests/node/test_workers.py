"""Reads side by side, writes in a row, bounded queues, and calls that are left."""

from __future__ import annotations

import asyncio
import threading

import pytest

from crdt.errors import Cancelled, Unavailable
from node.services.catalog import Document, UseCase
from node.services.requests import SearchRequest
from node.workers import COMMITTERS, Lane, Workers


async def test_writes_run_one_after_the_other_in_order() -> None:
    workers = Workers()
    seen: list[tuple[int, int]] = []

    def work(number: int) -> None:
        seen.append((number, threading.get_ident()))

    await asyncio.gather(*(workers.write(lambda number=number: work(number)) for number in range(20)))  # type: ignore[misc]
    assert [number for number, _ in seen] == list(range(20))
    assert len({thread for _, thread in seen}) == 1
    await workers.close(lambda: None)


async def test_a_read_does_not_wait_for_a_write() -> None:
    workers = Workers()
    free = threading.Event()
    write = asyncio.ensure_future(workers.write(lambda: free.wait(20)))
    assert await asyncio.wait_for(workers.read(lambda: "read"), 10) == "read"
    assert not write.done()
    free.set()
    assert await write
    await workers.close(lambda: None)


async def test_commits_run_side_by_side_and_wait_for_no_write() -> None:
    workers = Workers()
    free = threading.Event()
    together = threading.Barrier(2)
    case = UseCase(name="x", request=SearchRequest, lane="commit", module="unused")

    def commit() -> Document:
        return {"place": together.wait(20)}

    write = asyncio.ensure_future(workers.write(lambda: free.wait(20)))
    places = await asyncio.gather(*(workers.run(case, commit) for _ in range(2)))
    assert sorted(str(document["place"]) for document in places) == ["0", "1"]
    assert not write.done()
    free.set()
    assert await write
    await workers.close(lambda: None)


async def test_what_follows_runs_once_for_all_who_asked_before_it_began() -> None:
    workers = Workers()
    began, free, runs = threading.Event(), threading.Event(), []

    def work() -> None:
        runs.append(len(runs))
        began.set()
        free.wait(20)

    follow = workers.follow_soon(work)
    first = follow()
    assert first is not None
    assert await asyncio.to_thread(began.wait, 20)
    second, third = follow(), follow()
    assert second is third is not None, "the one that runs may have missed what was committed since"
    free.set()
    await asyncio.wait_for(asyncio.wrap_future(second), 20)
    assert runs == [0, 1]
    await workers.close(lambda: None)


async def test_nobody_waits_for_what_stands_behind_other_writing() -> None:
    workers = Workers()
    free = threading.Event()
    writing = asyncio.ensure_future(workers.write(lambda: free.wait(20)))
    await asyncio.sleep(0)
    runs: list[int] = []
    follow = workers.follow_soon(lambda: runs.append(1))
    assert (follow(), follow()) == (None, None)
    free.set()
    assert await writing
    await workers.close(lambda: None)
    assert runs == [1]


async def test_a_full_queue_says_so() -> None:
    lane = Lane("x", threads=1, waiting_max=2)
    free = threading.Event()
    waiting = [lane.submit(lambda: free.wait(20)) for _ in range(2)]
    with pytest.raises(Unavailable, match="too much to do"):
        lane.submit(lambda: None)
    free.set()
    assert all([await asyncio.wrap_future(one) for one in waiting])
    assert await asyncio.wrap_future(lane.submit(lambda: "again")) == "again"
    await lane.close()


async def test_a_call_that_is_left_ends_at_its_next_sign_of_progress() -> None:
    seen: list[dict[str, object]] = []
    call = Workers().start_call(seen.append)
    call.progress({"done": 1})
    call.leave()
    with pytest.raises(Cancelled):
        call.progress({"done": 2})
    assert seen == [{"done": 1}]


async def test_a_stopping_node_ends_calls_and_takes_none() -> None:
    workers = Workers()
    call = workers.start_call(lambda _document: None)
    workers.stop()
    with pytest.raises(Unavailable, match="stopping"):
        call.progress({})
    with pytest.raises(Unavailable, match="stopping"):
        await workers.read(lambda: None)
    await workers.close(lambda: None)


async def test_who_still_waits_for_a_turn_is_told_that_the_node_ends() -> None:
    workers = Workers()
    free = threading.Event()
    case = UseCase(name="x", request=SearchRequest, lane="commit", module="unused")

    def commit() -> Document:
        return {"free": free.wait(20)}

    calls = [asyncio.ensure_future(workers.run(case, commit)) for _ in range(COMMITTERS + 3)]
    await workers.read(lambda: None)
    workers.stop()
    closing = asyncio.ensure_future(workers.close(lambda: None))
    for call in calls[COMMITTERS:]:
        with pytest.raises(Unavailable, match="stopping"):
            await call
    free.set()
    assert [await call for call in calls[:COMMITTERS]] == [{"free": True}] * COMMITTERS
    await closing


async def test_the_last_work_runs_after_what_was_running() -> None:
    workers = Workers()
    order: list[str] = []
    free = threading.Event()

    def slow() -> None:
        free.wait(20)
        order.append("write")

    write = asyncio.ensure_future(workers.write(slow))
    await workers.read(lambda: None)
    workers.stop()
    closing = asyncio.ensure_future(workers.close(lambda: order.append("close")))
    free.set()
    await closing
    await write
    assert order == ["write", "close"]
