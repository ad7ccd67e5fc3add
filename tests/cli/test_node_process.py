"""Starting, finding and stopping a node that is another process; the processes here only play one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cli import node_process
from cli.client import state_paths
from cli.node_process import Running, find_running, start, stop
from crdt.errors import AtriumError, BadInput, NodeUnreachable, StateBusy, Unavailable
from node.lock import StateLock
from tests.cli.conftest import Shell
from tests.cli.test_client import answering, fake_node
from tests.kit import CHECKOUT

HEALTH = {"status": "ok", "pid": 42, "port": 7707}
HOLD = """
import sys
from node.lock import StateLock
from pathlib import Path
lock = StateLock.acquire(Path(sys.argv[1]), sys.argv[2], timeout_s=0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ready(shell: Shell) -> Shell:
    """Give a shell whose state directory is there."""
    state_paths().create()
    return shell


def plays(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the started program be this code instead of a node."""
    monkeypatch.setattr(node_process, "_this_program", lambda: [sys.executable, "-c", code])


def holder(command: str) -> subprocess.Popen[bytes]:
    """Start a process that has the state's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state_paths().lock), command],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_node_that_answers_is_found(shell: Shell) -> None:
    assert find_running(state_paths()) is None
    with fake_node(shell, answering(HEALTH)):
        assert find_running(state_paths()) == Running(pid=42, port=7707)


def test_something_else_on_the_socket_is_no_node(shell: Shell) -> None:
    with fake_node(shell, answering({"hello": 1})), pytest.raises(NodeUnreachable, match="something else"):
        find_running(state_paths())


@pytest.mark.parametrize(("status", "kind"), [(1, Unavailable), (2, BadInput), (7, Unavailable)])
def test_what_a_node_reported_before_it_ended_is_raised(
    ready: Shell, monkeypatch: pytest.MonkeyPatch, status: int, kind: type[AtriumError]
) -> None:
    state_paths().log.write_text("atrium: an old error\nhint: an old hint\n")
    report = r"atrium: port 7707 is taken\nhint: run another\n"
    plays(monkeypatch, f"import sys; sys.stderr.write('{report}'); sys.exit({status})")
    with pytest.raises(kind) as caught:
        start(state_paths(), [])
    assert (caught.value.detail, caught.value.hint) == ("port 7707 is taken", "run another")


def test_a_node_that_ended_without_a_word_is_said(ready: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    plays(monkeypatch, "raise SystemExit(9)")
    with pytest.raises(Unavailable, match="status 9") as caught:
        start(state_paths(), [])
    assert "node.log" in caught.value.hint


def test_a_node_that_never_answers_is_given_up(ready: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_process, "START_S_MAX", 0.2)
    plays(monkeypatch, "import sys; sys.stdin.read(); import signal; signal.alarm(5); signal.pause()")
    with pytest.raises(NodeUnreachable, match="did not answer"):
        start(state_paths(), [])


def test_a_state_that_stays_in_use_names_the_holder(ready: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_process, "START_S_MAX", 1.0)
    plays(monkeypatch, "import sys; sys.stderr.write('atrium: in use by x\\n'); sys.exit(75)")
    with pytest.raises(StateBusy, match="in use by x"):
        start(state_paths(), [])


def test_a_node_is_started_as_this_very_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/cli/main.py", "up"])
    assert node_process._this_program() == [sys.executable, "-m", "cli.main"]
    monkeypatch.setattr(sys, "argv", ["/venv/bin/atrium", "up"])
    assert node_process._this_program() == [sys.executable, "/venv/bin/atrium"]


def test_where_nothing_runs_nothing_is_stopped(ready: Shell) -> None:
    assert stop(state_paths()) is False
    StateLock.acquire(state_paths().lock, "x", timeout_s=0).release()
    assert stop(state_paths()) is False


def test_a_node_that_holds_the_state_without_answering_is_ended(ready: Shell) -> None:
    process = holder("atrium up")
    assert stop(state_paths()) is True
    assert process.wait(timeout=20) == -15
    process.communicate(timeout=20)


def test_another_command_that_holds_the_state_is_left_alone(ready: Shell) -> None:
    process = holder("atrium capture")
    assert stop(state_paths()) is False
    assert process.poll() is None
    process.communicate(timeout=20)


def test_a_node_that_does_not_end_is_named(ready: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_process, "STOP_S_MAX", 0.1)
    monkeypatch.setattr("cli.node_process.os.kill", lambda _pid, _number: None)
    process = holder("atrium up")
    try:
        with pytest.raises(Unavailable, match="did not end") as caught:
            stop(state_paths())
    finally:
        process.communicate(timeout=20)
    assert f"kill -9 {process.pid}" in caught.value.hint
    assert os.getpid() != process.pid
