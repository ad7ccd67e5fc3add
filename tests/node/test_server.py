"""The unix socket: what is asked, what is streamed, how it fails."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import web

from crdt import errors
from crdt.errors import AtriumError, Cancelled, StateBusy
from node import server
from node.composition import Local
from node.daemon import open_socket
from node.logs import open_log
from node.paths import StatePaths
from node.server import Gate, problem_of, runner_of, socket_app
from node.services.catalog import USE_CASES, Document, Progress, UseCase
from node.services.requests import Request, SearchRequest
from node.workers import Workers

Handle = Callable[[object, Request, Progress], Document]
SEARCH = {"query": "x", "directory": "/"}


@dataclass(slots=True)
class Node:
    """A server with use-cases of the test's own."""

    paths: StatePaths
    gate: Gate
    monkeypatch: pytest.MonkeyPatch
    answers: list[Document] = field(default_factory=list)

    def serve(self, name: str, handle: Handle, *, writes: bool = False) -> None:
        module = f"handlers_of_a_test_{name}"
        self.monkeypatch.setitem(sys.modules, module, cast("object", SimpleNamespace(handle=handle)))
        case = UseCase(name=name, request=SearchRequest, lane="write" if writes else "read", module=module)
        self.monkeypatch.setitem(USE_CASES, name, case)

    async def send(self, request: bytes) -> tuple[int, list[dict[str, Document]]]:
        reader, writer = await asyncio.open_unix_connection(os.fspath(self.paths.socket), limit=1 << 24)
        writer.write(request)
        await writer.drain()
        head, _, body = (await asyncio.wait_for(reader.read(), 30)).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), [json.loads(line) for line in body.splitlines()]

    async def ask(self, name: str, body: object = None) -> tuple[int, list[dict[str, Document]]]:
        return await self.send(post(f"/call/{name}", json.dumps(SEARCH if body is None else body).encode()))


def post(path: str, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.0\r\nHost: atrium\r\nContent-Type: {content_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def running(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    paths = StatePaths(folder / "state")
    paths.create()
    log = open_log(paths.log, "info", 1 << 20)
    gate = Gate(workers=Workers(), local=cast("Local", object()), log=log, port=7)
    runner = runner_of(socket_app(gate))
    await runner.setup()
    try:
        await web.SockSite(runner, open_socket(paths)).start()
        yield Node(paths, gate, monkeypatch)
    finally:
        gate.workers.stop()
        await gate.workers.close(lambda: None)
        await runner.cleanup()


async def test_a_result_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", lambda _local, request, _progress: {"query": cast("SearchRequest", request).query})
        assert await node.ask("fake") == (200, [{"result": {"query": "x"}}])


async def test_progress_is_streamed_before_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_on = threading.Event()

    def handle(_local: object, _request: Request, progress: Progress) -> Document:
        progress({"phase": "capture", "done": 1})
        assert read_on.wait(20), "the first sign of progress came only with the end"
        progress({"phase": "capture", "done": 2})
        return {"n": 3}

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle, writes=True)
        reader, writer = await asyncio.open_unix_connection(os.fspath(node.paths.socket))
        writer.write(post("/call/fake", json.dumps(SEARCH).encode()))
        await reader.readuntil(b"\r\n\r\n")
        first = json.loads(await asyncio.wait_for(reader.readline(), 10))
        read_on.set()
        rest = [json.loads(line) for line in (await reader.read()).splitlines()]
        writer.close()
    assert first == {"progress": {"phase": "capture", "done": 1}}
    assert rest == [{"progress": {"phase": "capture", "done": 2}}, {"result": {"n": 3}}]


def every_error() -> list[type[AtriumError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in found if issubclass(kind, AtriumError)]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.code)
async def test_every_error_becomes_its_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[AtriumError]
) -> None:
    def handle(_local: object, _request: Request, _progress: Progress) -> Document:
        raise kind("what is wrong", hint="what mends it")

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle)
        status, lines = await node.ask("fake")
    assert status == kind.http_status
    assert lines == [{"problem": problem_of(kind("what is wrong", hint="what mends it"))}]
    assert lines[0]["problem"]["exit_status"] == kind.exit_status


async def test_an_error_after_progress_is_the_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(_local: object, _request: Request, progress: Progress) -> Document:
        progress({"done": 1})
        raise StateBusy("taken")

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle)
        status, lines = await node.ask("fake")
    assert status == 200
    assert lines[0] == {"progress": {"done": 1}}
    assert lines[1]["problem"]["code"] == "state_busy"


async def test_a_bug_is_reported_without_what_it_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(_local: object, _request: Request, _progress: Progress) -> Document:
        raise LookupError("a secret from a transcript")

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle)
        status, lines = await node.ask("fake")
        logged = node.paths.log.read_text()
    assert status == 500
    assert lines[0]["problem"]["code"] == "internal"
    assert "LookupError" in str(lines)
    assert "call_failed" in logged
    assert "a secret" not in logged + str(lines)


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (post("/call/absent", b"{}"), "not_found"),
        (post("/call/fake", b"{}"), "bad_input"),
        (post("/call/fake", b"{"), "bad_input"),
        (post("/call/fake", b'"\xff"'), "bad_input"),
        (post("/call/fake", json.dumps({**SEARCH, "extra": 1}).encode()), "bad_input"),
        (post("/call/fake", json.dumps({**SEARCH, "limit": "many"}).encode()), "bad_input"),
        (post("/call/fake", json.dumps(SEARCH).encode(), "text/plain"), "bad_input"),
        (post("/call/fake", b" " * ((4 << 20) + 1)), "bad_input"),
    ],
    ids=["absent", "empty", "cut", "no utf-8", "unknown field", "wrong type", "no json", "too large"],
)
async def test_a_call_that_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_bytes: bytes, code: str
) -> None:
    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", lambda _local, _request, _progress: {})
        status, lines = await node.send(request_bytes)
    assert status in (400, 404)
    assert lines[0]["problem"]["code"] == code


async def test_a_body_that_drips_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_TIMEOUT_S", 0.1)
    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", lambda _local, _request, _progress: {})
        status, lines = await node.send(post("/call/fake", b"{" + b" " * 99)[:-50])
    assert status == 400
    assert lines[0]["problem"]["code"] == "bad_input"


async def test_an_asker_that_goes_away_ends_the_work_between_two_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    ended = threading.Event()
    gone = threading.Event()

    def handle(_local: object, _request: Request, progress: Progress) -> Document:
        try:
            for number in range(1000):
                progress({"done": number})
                gone.wait(0.02)
                batches.append(number)
        except Cancelled:
            ended.set()
            raise
        return {}

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle, writes=True)
        reader, writer = await asyncio.open_unix_connection(os.fspath(node.paths.socket))
        writer.write(post("/call/fake", json.dumps(SEARCH).encode()))
        await reader.readuntil(b"progress")
        writer.close()
        assert await asyncio.to_thread(ended.wait, 20)
    assert len(batches) < 1000


async def test_silence_is_filled_with_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEARTBEAT_S", 0.02)
    heard = threading.Event()

    def handle(_local: object, _request: Request, _progress: Progress) -> Document:
        assert heard.wait(20)
        return {}

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle)
        reader, writer = await asyncio.open_unix_connection(os.fspath(node.paths.socket))
        writer.write(post("/call/fake", json.dumps(SEARCH).encode()))
        await reader.readuntil(b"\r\n\r\n")
        assert json.loads(await asyncio.wait_for(reader.readline(), 10)) == {"progress": {}}
        heard.set()
        assert (await reader.read()).endswith(b'{"result":{}}\n')
        writer.close()


async def test_progress_that_nobody_reads_does_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(_local: object, _request: Request, progress: Progress) -> Document:
        for number in range(20_000):
            progress({"done": number})
        return {"done": "all"}

    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", handle)
        _, lines = await node.ask("fake")
    assert lines[-1] == {"result": {"done": "all"}}
    assert len(lines) < 20_000


async def test_ten_clients_at_once_get_their_own_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", lambda _local, request, _progress: {"q": cast("SearchRequest", request).query})
        queries = [str(number) for number in range(100)]
        gate = asyncio.Semaphore(10)

        async def one(query: str) -> object:
            async with gate:
                return (await node.ask("fake", {**SEARCH, "query": query}))[1][0]["result"]["q"]

        assert await asyncio.gather(*map(one, queries)) == queries


async def test_a_stranger_s_user_is_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, monkeypatch) as node:
        node.serve("fake", lambda _local, _request, _progress: {})
        assert (await node.ask("fake"))[0] == 200
        monkeypatch.setattr(server, "peer_user", lambda _request: os.geteuid() + 1)
        assert await node.ask("fake") == (403, [])


async def test_the_kernel_tells_who_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int | None] = []
    real = server.peer_user
    monkeypatch.setattr(server, "peer_user", lambda request: seen.append(real(request)) or os.geteuid())
    async with running(tmp_path, monkeypatch) as node:
        await node.send(b"GET /health HTTP/1.0\r\nHost: atrium\r\n\r\n")
    assert seen == [os.geteuid()]


async def test_health_and_stop_are_for_the_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, monkeypatch) as node:
        _, health = await node.send(b"GET /health HTTP/1.0\r\nHost: atrium\r\n\r\n")
        assert (health[0]["pid"], health[0]["port"]) == (os.getpid(), 7)
        assert not node.gate.stop.is_set()
        assert (await node.send(post("/stop", b"{}")))[0] == 200
        assert node.gate.stop.is_set()


async def test_the_socket_is_private_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0)
    try:
        async with running(tmp_path, monkeypatch) as node:
            assert node.paths.socket.stat().st_mode & 0o777 == 0o600
        assert os.umask(0) == 0
    finally:
        os.umask(before)
