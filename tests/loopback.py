"""Keep the tests on this machine: connections to anything but loopback and unix sockets are refused.

The guard sits in `socket.socket`, so it holds for every library of the test process.  Processes that a test
starts are not guarded; they are given nothing but loopback addresses to talk to.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

import pytest


class LeavingThisMachine(AssertionError):
    """A test tried to talk to another machine.  No `except OSError` swallows it."""


def is_local(family: int, address: object) -> bool:
    """Tell whether a socket address stays on this machine; `localhost` does, other names do not."""
    if family == socket.AF_UNIX:
        return True
    if not isinstance(address, tuple) or not address:
        return False
    host = str(address[0])
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def block_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the guard into every way that a Python socket can name an address to send to."""
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))


def _guarded(method: Callable[..., object]) -> Callable[..., object]:
    def guard(self: socket.socket, *arguments: object) -> object:
        if not is_local(self.family, arguments[-1]):
            raise LeavingThisMachine(f"a test tried to reach {arguments[-1]!r}")
        return method(self, *arguments)

    return guard
