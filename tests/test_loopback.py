"""The guard that keeps tests on this machine."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.loopback import LeavingThisMachine, is_local


@pytest.mark.parametrize(
    ("family", "address", "local"),
    [
        (socket.AF_UNIX, "/run/x.sock", True),
        (socket.AF_INET, ("127.0.0.1", 80), True),
        (socket.AF_INET, ("127.9.9.9", 80), True),
        (socket.AF_INET, ("localhost", 80), True),
        (socket.AF_INET6, ("::1", 80, 0, 0), True),
        (socket.AF_INET, ("192.0.2.1", 80), False),
        (socket.AF_INET, ("0.0.0.0", 80), False),  # noqa: S104
        (socket.AF_INET, ("example.org", 80), False),
        (socket.AF_INET, ("127.0.0.1.example.org", 80), False),
        (socket.AF_INET6, ("2001:db8::1", 80, 0, 0), False),
        (socket.AF_INET, None, False),
    ],
)
def test_only_addresses_of_this_machine_are_local(family: int, address: object, local: bool) -> None:
    assert is_local(family, address) is local


def test_a_blocking_connection_elsewhere_is_refused() -> None:
    with socket.socket() as client, pytest.raises(LeavingThisMachine, match=r"192\.0\.2\.1"):
        client.connect(("192.0.2.1", 9))


async def test_a_connection_elsewhere_from_the_event_loop_is_refused() -> None:
    with pytest.raises(LeavingThisMachine):
        await asyncio.open_connection("192.0.2.1", 9)


def test_a_datagram_elsewhere_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, pytest.raises(LeavingThisMachine):
        sender.sendto(b"x", ("192.0.2.1", 9))


def test_loopback_still_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address, timeout=5) as client, server.accept()[0] as accepted:
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
