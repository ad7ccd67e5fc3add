"""Run one node: its listeners, its long-running parts, its end.

The order of a start: the lock on the state (`foreground`), the local port, the stores (in the writing
thread), the socket.  Who can connect to the socket can therefore be answered.  The end is the same backwards
and takes at most five seconds: nothing new is taken, what writes ends with its batch, then everything is
closed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from crdt.errors import AtriumError, BadInput
from node.config import NodeConfig, capture_roots
from node.keeper import STEP_S, Keeper
from node.logs import Logger, open_log
from node.paths import StatePaths, ensure_private, write_error
from node.ports import bind_loopback
from node.server import Gate, local_app, runner_of, socket_app
from node.service import LoopFailures, Service, describe, supervise
from node.services.catalog import USE_CASES, Progress
from node.services.requests import CaptureRequest
from node.version import VERSION
from node.watch import Watcher, scan_regularly
from node.workers import Workers, bind

if TYPE_CHECKING:
    from node.composition import Local

STOP_S_MAX = 4.5
"""All of the end; five seconds is what service managers and people are promised."""
BACKLOG = 128


def serve(config: NodeConfig, announce: Callable[[int], None]) -> int:
    """Run until a signal or a call to stop; the caller holds the state's lock.

    `announce` gets the local port once the node answers.  Raises `Unavailable` for a taken port.
    """
    log = open_log(config.paths.log, config.log.level, config.log.size_bytes_max)
    return asyncio.run(_Node(config, log).run(announce))


class _Node:
    """One run of the node."""

    def __init__(self, config: NodeConfig, log: Logger) -> None:
        self._config = config
        self._log = log
        self._workers = Workers()
        self._deadline = threading.Timer(STOP_S_MAX, self._give_up)
        self._deadline.daemon = True

    async def run(self, announce: Callable[[int], None]) -> int:
        asyncio.get_running_loop().set_exception_handler(LoopFailures(self._log))
        with bind_loopback(self._config.port) as port:
            await self._run(port, announce)
        self._deadline.cancel()
        return 0

    async def _run(self, port: socket.socket, announce: Callable[[int], None]) -> None:
        local = await self._workers.write(self._open)
        local.keeper = keeper = Keeper(local, self._log)
        local.follow_soon = self._workers.follow_soon(partial(self._follow_records, local))
        number = int(port.getsockname()[1])
        gate = Gate(workers=self._workers, local=local, log=self._log, port=number)
        _stop_on_signals(gate.stop)
        listeners = AsyncExitStack()
        try:
            await self._listen(gate, port, listeners)
            announce(number)
            self._log.info("node_started", version=VERSION, process=os.getpid())
            await self._serve_until_stopped(gate, self._parts(local, keeper))
        finally:
            await self._end(listeners, local)
        self._log.info("node_stopped")

    def _open(self) -> Local:
        from node.composition import open_local

        local = open_local(self._config, writable=True, served_by="node")
        local.tell_lost_key = partial(self._log.warning, "identity_lost")
        try:
            local.feeds.head()
        except AtriumError as error:
            # What the index knows is answered all the same, and each write says what is wrong.
            self._log.error("store_not_opened", **describe(error))
        return local

    async def _listen(self, gate: Gate, port: socket.socket, listeners: AsyncExitStack) -> None:
        near = open_socket(self._config.paths)
        listeners.callback(self._remove_socket)
        for app, listener in ((local_app(), port), (socket_app(gate), near)):
            runner = runner_of(app)
            await runner.setup()
            listeners.push_async_callback(runner.cleanup)
            await web.SockSite(runner, listener, backlog=BACKLOG).start()

    async def _serve_until_stopped(self, gate: Gate, services: list[Service]) -> None:
        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(supervise(service, self._log)) for service in services]
            await gate.stop.wait()
            self._log.info("node_stopping")
            self._deadline.start()
            self._workers.stop()
            for part in parts:
                part.cancel()

    def _parts(self, local: Local, keeper: Keeper) -> list[Service]:
        roots = capture_roots(self._config)
        capture = partial(self._capture, local)
        interval_s = self._config.capture.scan_interval_s
        parts = [
            Service(name="index", run=partial(self._catch_up, local)),
            Service(name="store_check", run=partial(self._workers.read, keeper.check)),
            Service(name="store", run=partial(self._keep, keeper)),
        ]
        if self._config.capture.watch:
            parts.append(Service(name="scan", run=partial(scan_regularly, roots, capture, interval_s)))
            parts.append(Service(name="watch", run=Watcher(roots, capture, self._log).run))
        return parts

    async def _catch_up(self, local: Local) -> None:
        """Bring the index level with the archive, which grew while no node ran."""
        call = self._workers.start_call(lambda _document: None)
        await self._workers.write(partial(catch_up, local, call.progress))

    async def _keep(self, keeper: Keeper) -> None:
        """Keep the store able to write, until cancelled."""
        while True:
            await self._workers.read(keeper.step)
            await asyncio.sleep(STEP_S)

    def _follow_records(self, local: Local) -> None:
        """Bring the index level with records that were just committed; a failure is left to the next ones."""
        from node.services.level import follow_records

        try:
            follow_records(local, lambda _document: None)
        except AtriumError as error:
            self._log.warning("follow_failed", **describe(error))

    async def _capture(self, local: Local, roots: dict[str, list[str]]) -> None:
        """Capture from some directories; a failure is logged and left to the next scan."""
        call = self._workers.start_call(lambda _document: None)
        case = USE_CASES["capture"]
        try:
            done = await self._workers.run(case, bind(case, local, CaptureRequest(roots=roots), call))
        except AtriumError as error:
            self._log.warning("capture_failed", **describe(error))
            return
        finally:
            call.leave()
        if done.get("events"):
            counts = {key: done.get(key) for key in ("conversations", "events", "redactions")}
            self._log.info("capture_finished", **counts)

    async def _end(self, listeners: AsyncExitStack, local: Local) -> None:
        """Let what runs end, close the stores, answer who waits, then take the socket away."""
        self._workers.stop()
        await self._workers.close(local.close)
        await listeners.aclose()

    def _remove_socket(self) -> None:
        self._config.paths.socket.unlink(missing_ok=True)

    def _give_up(self) -> None:
        """End the process under threads that won't end; the stores are safe against that by design."""
        self._log.error("node_stopped_hard")
        self._remove_socket()
        os._exit(1)


def catch_up(local: Local, progress: Progress) -> None:
    """Bring the index level with the archive and the substring lane with the index, in the writing thread."""
    from node.services.level import bring_level, step

    bring_level(local, progress)
    local.substrings.catch_up(step(progress, "substrings", "records"))


def open_socket(paths: StatePaths) -> socket.socket:
    """Bind the unix socket, 0600; the caller holds the state's lock, so an older socket is a dead node's."""
    path = paths.socket
    if path.parent != paths.root:
        ensure_private(path.parent)
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode has to be right from the first moment, before anybody can connect.
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except OSError as error:
        listener.close()
        raise write_error(error, path) from error
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _remove_stale(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise BadInput(f"{path} is in the way of the node's socket", hint=f"move {path} elsewhere")
    path.unlink()


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
