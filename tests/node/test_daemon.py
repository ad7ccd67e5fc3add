"""How a node starts and ends, inside one process; `tests/e2e/test_node.py` has the processes."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from crdt.errors import BadInput, SettingsInvalid, StateBusy, Unavailable
from node.config import NodeConfig, load
from node.daemon import open_socket
from node.foreground import COMMAND, run
from node.lock import StateLock
from node.paths import StatePaths


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodeConfig:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ATRIUM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return load({"node.port": 0})


def ask(paths: StatePaths, method: str, path: str) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.fspath(paths.socket))
        connection.sendall(f"{method} {path} HTTP/1.0\r\nHost: atrium\r\n\r\n".encode())
        with connection.makefile("rb") as stream:
            found = json.loads(stream.read().partition(b"\r\n\r\n")[2])
    assert isinstance(found, dict)
    return found


def run_until_stopped(config: NodeConfig) -> list[dict[str, object]]:
    """Run a node in this thread; another asks for its health and stops it.  Gives what it said."""
    said: list[dict[str, object]] = []

    def stop(port: int) -> None:
        said.append({"port": port})
        said.extend(ask(config.paths, *what) for what in (("GET", "/health"), ("POST", "/stop")))

    status = run(config, lambda port: threading.Thread(target=stop, args=(port,)).start())
    assert status == 0
    return said


def events(config: NodeConfig) -> list[str]:
    return [str(json.loads(line)["event"]) for line in config.paths.log.read_text().splitlines()]


def test_a_node_answers_once_it_announces_itself_and_ends_when_asked(config: NodeConfig) -> None:
    announced, health, stopping = run_until_stopped(config)
    assert (health["status"], health["pid"], health["port"]) == ("ok", os.getpid(), announced["port"])
    assert stopping["status"] == "stopping"
    assert not config.paths.socket.exists()
    assert events(config)[0] == "node_started"
    assert events(config)[-1] == "node_stopped"
    StateLock.acquire(config.paths.lock, "x", timeout_s=0).release()


def test_another_node_is_refused_at_once(config: NodeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.lock.WAIT_S", 1000)
    config.paths.create()
    with (
        StateLock.acquire(config.paths.lock, COMMAND, timeout_s=0),
        pytest.raises(StateBusy, match="atrium up"),
    ):
        run(config, lambda _port: None)


def test_a_command_that_will_end_is_waited_for(config: NodeConfig) -> None:
    config.paths.create()
    lock = StateLock.acquire(config.paths.lock, "atrium capture", timeout_s=0)
    timer = threading.Timer(0.2, lock.release)
    timer.start()
    assert run_until_stopped(config)
    timer.join()


def test_a_taken_port_lets_go_of_everything(config: NodeConfig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port} is taken"):
            run(load({"node.port": port}), lambda _port: None)
    assert not config.paths.socket.exists()
    assert run_until_stopped(config)


def test_something_in_the_socket_s_place_lets_go_of_everything(config: NodeConfig) -> None:
    config.paths.create()
    config.paths.socket.write_text("mine")
    with pytest.raises(BadInput, match="in the way"):
        run(config, lambda _port: None)
    assert config.paths.socket.read_text() == "mine"
    config.paths.socket.unlink()
    assert run_until_stopped(config)


def test_a_state_that_is_only_guessed_is_not_made(
    config: NodeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATRIUM_STATE")
    monkeypatch.setenv("SYNTOPICA_DATA", str(tmp_path / "absent"))
    with pytest.raises(SettingsInvalid):
        run(load({"node.port": 0}), lambda _port: None)
    assert not (tmp_path / "absent").exists()


def test_a_dead_node_s_socket_is_replaced(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path)
    open_socket(paths).close()
    inode = paths.socket.stat().st_ino
    with open_socket(paths):
        assert paths.socket.is_socket()
    assert inode


def test_a_file_in_the_socket_s_place_is_not_removed(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path)
    paths.socket.write_text("mine")
    with pytest.raises(BadInput, match="in the way"):
        open_socket(paths)
    assert paths.socket.read_text() == "mine"


def test_a_long_state_gets_its_socket_in_the_runtime_directory(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / ("x" * 120), Path(f"/tmp/atrium-test-{os.getpid()}"))
    try:
        with open_socket(paths):
            assert paths.socket.parent == paths.runtime
            assert paths.runtime.stat().st_mode & 0o777 == 0o700
    finally:
        paths.socket.unlink()
        paths.runtime.rmdir()
