"""Asking a node: what is sent, what comes back, and what a broken answer becomes."""

from __future__ import annotations

import errno
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from cli import client
from cli.client import Document, call, connect, error_of, state_paths
from crdt import errors
from crdt.errors import AtriumError, BadInput, NodeUnreachable, StateBusy
from node.server import problem_of
from tests.cli.conftest import Shell

Serve = Callable[[socket.socket], None]
HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"


@contextmanager
def fake_node(shell: Shell, serve: Serve) -> Iterator[list[bytes]]:
    """Listen on the node's socket and serve one connection; gives the requests that came."""
    shell.world.state.mkdir(mode=0o700)
    requests: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(state_paths().socket))
    listener.listen()

    def work() -> None:
        connection, _ = listener.accept()
        with connection:
            requests.append(connection.recv(1 << 16))
            serve(connection)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield requests
    finally:
        thread.join(timeout=20)
        listener.close()


def answering(*lines: object, head: bytes = HEAD) -> Serve:
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return lambda connection: connection.sendall(head + body)


def test_a_call_is_one_json_request(shell: Shell) -> None:
    with fake_node(shell, answering({"result": {"a": 1}})) as requests:
        assert call("search", {"query": "é\u2028"}) == {"a": 1}
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /call/search HTTP/1.0\r\n")
    assert b"Content-Type: application/json" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body) == {"query": "é\u2028"}


def test_progress_is_passed_on_and_signs_of_life_are_not(shell: Shell) -> None:
    seen: list[Document] = []
    lines: tuple[object, ...] = (
        {"progress": {"done": 1}},
        {"progress": {}},
        {"progress": {"done": 2}},
        {"result": {}},
    )
    with fake_node(shell, answering(*lines)):
        assert call("capture", {}, seen.append) == {}
    assert seen == [{"done": 1}, {"done": 2}]


def every_error() -> list[type[AtriumError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in found if issubclass(kind, AtriumError)]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.code)
def test_an_error_comes_back_as_it_was_raised(kind: type[AtriumError]) -> None:
    raised = kind("what is wrong", hint="what mends it")
    found = error_of(json.loads(json.dumps(problem_of(raised))))
    assert type(found) is kind
    assert (found.detail, found.hint) == ("what is wrong", "what mends it")


def test_a_problem_is_raised(shell: Shell) -> None:
    problem = {"problem": problem_of(StateBusy("taken"))}
    with fake_node(shell, answering(problem, head=b"HTTP/1.0 423 Locked\r\n\r\n")), pytest.raises(StateBusy):
        call("capture", {})


def test_an_unknown_error_is_an_error_all_the_same() -> None:
    found = error_of({"code": "of_a_newer_node", "detail": "what", "hint": "do"})
    assert (type(found), found.detail, found.exit_status) == (AtriumError, "what", 1)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.0",
        HEAD,
        HEAD + b'{"progress": {"done": 1}}\n',
        HEAD + b'{"resu',
        HEAD + b"no json\n",
        b"HTTP/1.0 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"rubbish\r\n\r\n",
    ],
    ids=[
        "nothing",
        "half a head",
        "no line",
        "progress alone",
        "half a line",
        "no json",
        "refused",
        "rubbish",
    ],
)
def test_an_answer_that_is_cut_off_is_a_node_that_died(shell: Shell, sent: bytes) -> None:
    with (
        fake_node(shell, lambda connection: connection.sendall(sent)),
        pytest.raises(NodeUnreachable) as caught,
    ):
        call("capture", {})
    assert caught.value.hint


def test_a_silent_node_is_not_waited_for_without_end(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENCE_S_MAX", 0.1)
    answered = threading.Event()

    def stay_silent(_connection: socket.socket) -> None:
        answered.wait(20)

    with fake_node(shell, stay_silent):
        with pytest.raises(NodeUnreachable, match="does not answer"):
            call("capture", {})
        answered.set()


def test_without_a_socket_no_node_runs(shell: Shell) -> None:
    assert connect(state_paths()) is None


def test_a_dead_socket_is_no_node(shell: Shell) -> None:
    shell.world.state.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(state_paths().socket))
    assert connect(state_paths()) is None


@contextmanager
def crowded(shell: Shell) -> Iterator[socket.socket]:
    """Listen on the node's socket, with as many at the door as may stand there."""
    shell.world.state.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as waiting:
        listener.bind(str(state_paths().socket))
        listener.listen(0)
        full = 0
        while full != errno.EAGAIN:
            other = waiting.enter_context(socket.socket(socket.AF_UNIX))
            other.setblocking(False)
            full = other.connect_ex(str(state_paths().socket))
        yield listener


def test_who_finds_many_at_the_door_waits_for_a_place(shell: Shell) -> None:
    with crowded(shell) as listener, ThreadPoolExecutor(1) as pool:
        connecting = pool.submit(connect, state_paths())
        listener.accept()[0].close()
        connection = connecting.result(20)
    assert connection is not None
    connection.close()


def test_a_door_where_nobody_opens_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_TIMEOUT_S", 0.1)
    with crowded(shell), pytest.raises(NodeUnreachable, match="can't be used"):
        connect(state_paths())


def test_a_file_in_the_state_s_place_is_no_node(shell: Shell) -> None:
    shell.world.state.write_text("x")
    assert connect(state_paths()) is None


def test_what_is_not_utf8_is_refused_before_anybody_is_asked(shell: Shell) -> None:
    with fake_node(shell, answering({"result": {}})) as requests:
        with pytest.raises(BadInput, match="ingest-notes"):
            call("ingest-notes", {"exclude": ["\udcff"]})
        call("gaps", {})
    assert [request.split(b" ")[1] for request in requests] == [b"/call/gaps"]
