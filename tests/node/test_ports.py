"""A taken port has a holder with a name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from crdt.errors import Unavailable
from node.ports import bind_loopback, find_holder


def test_a_free_port_is_bound_on_loopback_alone() -> None:
    with bind_loopback(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists sockets there")
def test_a_taken_port_names_its_holder_and_another_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"process {os.getpid()}" in (find_holder(port) or "")
        with pytest.raises(Unavailable) as caught:
            bind_loopback(port)
    assert f"port {port} is taken by" in caught.value.detail
    assert f"process {os.getpid()}" in caught.value.detail
    assert "--port" in caught.value.hint


def test_a_port_that_nobody_has_has_no_holder(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert find_holder(taken.getsockname()[1], tmp_path) is None


def test_a_holder_that_can_not_be_seen_is_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.ports.find_holder", lambda _port: None)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Unavailable, match="another process"):
        bind_loopback(taken.getsockname()[1])


def test_a_port_that_is_not_ours_to_open_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: socket.socket, _address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(Unavailable, match="port 80 can't be opened: Permission denied"):
        bind_loopback(80)
