"""Ask: a running node over its unix socket, else the same use-case in this process.

The exchange is HTTP/1.0, one request for each connection, so that the end of the answer is the end of the
stream.  It is spelled out here instead of taken from `http.client`, whose import (40 to 70 ms, for its
e-mail parser and TLS) is more than a whole search may cost.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, cast

from crdt.errors import AtriumError, BadInput, NodeUnreachable
from node.config import find_state, runtime_directory
from node.paths import StatePaths

CONNECT_TIMEOUT_S = 5
CONNECT_PAUSE_S = 0.02
SILENCE_S_MAX = 30
"""A node shows a sign of life every five seconds while it works."""
HEAD_LINES_MAX = 64
LINE_BYTES_MAX = 256 << 20
"""Of one line of an answer: 50 records of 100,000 characters and their escapes fit many times."""

Document = dict[str, object]
Progress = Callable[[Document], None]


def call(name: str, arguments: Mapping[str, object], progress: Progress | None = None) -> Document:
    """Ask for a use-case by name and give its document.

    `arguments` are the fields of its request, paths absolute.  Raises the error that the use-case raised,
    `NodeUnreachable` when a node died or fell silent in the middle, or `BadInput` for what is not UTF-8.
    """
    _refuse_unsayable(name, arguments)
    paths = state_paths()
    connection = connect(paths)
    if connection is not None:
        return ask(connection, name, arguments, progress)
    from cli.local import run_here

    return run_here(name, arguments, progress)


def _refuse_unsayable(name: str, arguments: Mapping[str, object]) -> None:
    """Refuse what can't be written in UTF-8, with and without a node alike."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(f"something that was given to `{name}` is not UTF-8", hint="rename it") from error


def state_paths() -> StatePaths:
    """Give the paths of the state directory that is meant here."""
    return StatePaths(find_state().path, runtime_directory())


def connect(paths: StatePaths) -> socket.socket | None:
    """Connect to the running node, None when none runs."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_TIMEOUT_S)
    try:
        _wait_for_a_place(connection, os.fspath(paths.socket))
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        hint = DENIED if isinstance(error, PermissionError) else None
        raise NodeUnreachable(f"{paths.socket} can't be used: {error.strerror}", hint=hint) from error
    connection.settimeout(SILENCE_S_MAX)
    return connection


def _wait_for_a_place(connection: socket.socket, address: str) -> None:
    """Connect; where many do so at this moment, a unix socket refuses at once instead of waiting."""
    deadline_s = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        try:
            return connection.connect(address)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(CONNECT_PAUSE_S)


def ask(
    connection: socket.socket, name: str, arguments: Mapping[str, object], progress: Progress | None
) -> Document:
    """Send one call over a connection, which is used up, and give the answer's document."""
    for line in exchange(connection, "POST", f"/call/{name}", arguments):
        if "progress" in line:
            document = cast("Document", line["progress"])
            if progress is not None and document:
                progress(document)
        elif "result" in line:
            return cast("Document", line["result"])
        elif "problem" in line:
            raise error_of(cast("Document", line["problem"]))
    raise NodeUnreachable("the node ended in the middle of its answer")


def exchange(
    connection: socket.socket, method: str, path: str, body: Mapping[str, object] | None = None
) -> Iterator[Document]:
    """Send a request and give the answer's lines, each a JSON object, as they come."""
    data = json.dumps(body or {}).encode()
    head = (
        f"{method} {path} HTTP/1.0\r\nHost: atrium\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    try:
        with connection, connection.makefile("rb") as stream:
            connection.sendall(head.encode("ascii") + data)
            yield from _answer_lines(stream)
    except TimeoutError as error:
        raise NodeUnreachable("the node does not answer", hint=RESTART) from error
    except (ConnectionError, ValueError) as error:
        raise NodeUnreachable("the node ended in the middle of its answer", hint=RESTART) from error


DENIED = "check who may use the state directory, or name another with ATRIUM_STATE"
RESTART = "run the same command again; if it stays so, `atrium down` and `atrium up`"


def error_of(problem: Mapping[str, object]) -> AtriumError:
    """Make the error again that a node reported."""
    code, detail, hint = (str(problem.get(key, "")) for key in ("code", "detail", "hint"))
    return _classes().get(code, AtriumError)(detail, hint=hint)


def _answer_lines(stream: BinaryIO) -> Iterator[Document]:
    status = stream.readline(1024).split(b" ")
    for _ in range(HEAD_LINES_MAX):
        if stream.readline(8192) in (b"\r\n", b"\n", b""):
            break
    if len(status) < 2 or not status[1].isdigit():
        raise NodeUnreachable("the node ended before it answered", hint=RESTART)
    lines = iter(lambda: stream.readline(LINE_BYTES_MAX), b"")
    empty = True
    for raw in lines:
        line = json.loads(raw)
        if isinstance(line, dict):
            empty = False
            yield line
    if empty:
        raise NodeUnreachable(f"the node refused to answer (status {status[1].decode()})", hint=RESTART)


def _classes() -> dict[str, type[AtriumError]]:
    found: dict[str, type[AtriumError]] = {}
    waiting: list[type[AtriumError]] = [AtriumError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind
        waiting.extend(kind.__subclasses__())
    return found
