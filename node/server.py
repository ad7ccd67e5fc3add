"""Answer on the unix socket and on the local port.

Unix socket: `POST /call/{use-case}` with the request as JSON; the answer is lines of JSON, first any number
of `{"progress": …}`, then exactly one `{"result": …}` or `{"problem": …}`.  An answer without such a last
line was cut off.  Before the first line of progress a problem sets the HTTP status too.
Local port: `GET /health` and nothing else; every other path and method is the same empty 404.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from crdt.errors import AtriumError, BadInput, NotFound
from node.guard import Handler, guard, strip_server
from node.logs import Logger
from node.service import describe
from node.services.catalog import USE_CASES, Document, UseCase
from node.services.requests import Request
from node.version import VERSION
from node.workers import Workers, bind

if TYPE_CHECKING:
    from node.composition import Local

BODY_BYTES_MAX = 4 << 20
BODY_TIMEOUT_S = 15
HEARTBEAT_S = 5
"""An empty sign of progress after so much silence, so that the asker can tell slow from dead."""
PROGRESS_WAITING_MAX = 64
"""Signs of progress beyond it are dropped: an asker that doesn't read must not fill the memory."""
SILENT = logging.getLogger("atrium.http")
"""What aiohttp would log of broken requests quotes them."""
SILENT.disabled = True
CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the listeners need of the node."""

    workers: Workers
    local: Local
    log: Logger
    port: int
    """The local port, for who asks over the socket."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)


class Answer:
    """Lines of an answer on their way to the asker; the response starts with the first of them."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._response: web.StreamResponse | None = None

    async def send(self, line: Document, *, status: int = 200) -> web.StreamResponse:
        """Send one line."""
        if self._response is None:
            self._response = web.StreamResponse(
                status=status, headers={"Content-Type": "application/x-ndjson"}
            )
            await self._response.prepare(self._request)
        await self._response.write(msgspec.json.encode(line) + b"\n")
        return self._response


def socket_app(gate: Gate) -> web.Application:
    """Make the application behind the unix socket."""

    @web.middleware
    async def owner(request: web.Request, handler: Handler) -> web.StreamResponse:
        if peer_user(request) not in (None, os.geteuid()):
            return web.Response(status=403)
        return await handler(request)

    async def call(request: web.Request) -> web.StreamResponse:
        return await _answer(gate, request)

    async def stop(_request: web.Request) -> web.StreamResponse:
        gate.stop.set()
        return web.json_response({"status": "stopping", "pid": os.getpid()})

    async def health(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok", "version": VERSION, "pid": os.getpid(), "port": gate.port})

    app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[owner])
    app.on_response_prepare.append(strip_server)
    app.router.add_post("/call/{name}", call)
    app.router.add_post("/stop", stop)
    app.router.add_get("/health", health)
    return app


def local_app() -> web.Application:
    """Make the application behind the local port."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "GET" and request.path == "/health":
            return web.json_response({"status": "ok", "version": VERSION})
        return web.Response(status=404)

    app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[guard])
    app.on_response_prepare.append(strip_server)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


def runner_of(app: web.Application) -> web.AppRunner:
    """Make the runner of an application: bounds on slow clients, and no log of who asked what."""
    return web.AppRunner(
        app,
        auto_decompress=False,
        keepalive_timeout=5,
        lingering_time=1,
        max_line_size=4096,
        max_field_size=4096,
        access_log=None,
        logger=SILENT,
        handler_cancellation=True,
        shutdown_timeout=1,
    )


def peer_user(request: web.Request) -> int | None:
    """Give the user id at the other end of a unix socket, None where the system doesn't tell."""
    found = request.transport.get_extra_info("socket") if request.transport else None
    if found is None or not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return int(CREDENTIALS.unpack(raw)[1])


def problem_of(error: AtriumError) -> Document:
    """Give the document of an error, from which the asker makes the same error again."""
    return {
        "code": error.code,
        "status": error.http_status,
        "detail": error.detail,
        "hint": error.hint,
        "exit_status": error.exit_status,
    }


async def _answer(gate: Gate, request: web.Request) -> web.StreamResponse:
    """Answer one call; whatever goes wrong becomes the last line."""
    name = request.match_info["name"]
    answer = Answer(request)
    try:
        case, arguments = await _read_call(name, request)
        result = await _run(gate, case, arguments, answer)
        return await answer.send({"result": result})
    except AtriumError as error:
        return await answer.send({"problem": problem_of(error)}, status=error.http_status)
    except ConnectionError:
        # The asker went away between two lines; there is nobody left to tell.
        raise
    except Exception as error:
        gate.log.error("call_failed", use_case=name, **describe(error))  # noqa: TRY400
        failure = AtriumError(f"the node failed at {name}: {type(error).__name__}", hint="see the node's log")
        return await answer.send({"problem": problem_of(failure)}, status=500)


async def _read_call(name: str, request: web.Request) -> tuple[UseCase, Request]:
    case = USE_CASES.get(name)
    if case is None:
        raise NotFound(
            f"the node knows no use-case `{name[:64]}`", hint="run `atrium down`, then `atrium up`"
        )
    if request.content_type != "application/json":
        raise BadInput("a call is application/json")
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            body = await request.read()
        return case, msgspec.json.decode(body, type=case.request)
    except TimeoutError as error:
        raise BadInput(f"the request did not come within {BODY_TIMEOUT_S} s") from error
    except web.HTTPRequestEntityTooLarge as error:
        raise BadInput(f"a request has at most {BODY_BYTES_MAX >> 20} MiB") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: {error}") from error


async def _run(gate: Gate, case: UseCase, arguments: Request, answer: Answer) -> Document:
    """Run a call in its thread and send its progress; when the asker goes, the handler is told."""
    queue: asyncio.Queue[Document | None] = asyncio.Queue(PROGRESS_WAITING_MAX + 1)
    loop = asyncio.get_running_loop()

    def offer(document: Document) -> None:
        if queue.qsize() < PROGRESS_WAITING_MAX:
            queue.put_nowait(document)

    call = gate.workers.start_call(lambda document: _post(loop, offer, document))
    job = asyncio.ensure_future(gate.workers.run(case, bind(case, gate.local, arguments, call)))
    job.add_done_callback(lambda _job: queue.put_nowait(None))
    try:
        async for document in _until_none(queue):
            await answer.send({"progress": document})
        return await job
    finally:
        call.leave()
        job.cancel()


def _post(loop: asyncio.AbstractEventLoop, offer: Callable[[Document], None], document: Document) -> None:
    if document:
        loop.call_soon_threadsafe(offer, document)


async def _until_none(queue: asyncio.Queue[Document | None]) -> AsyncIterator[Document]:
    while True:
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                document = await queue.get()
        except TimeoutError:
            document = {}
        if document is None:
            return
        yield document
