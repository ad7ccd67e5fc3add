"""Bind the local listener, and name who has the port when we can't."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from crdt.errors import Unavailable

LOOPBACK = "127.0.0.1"
LISTENING = "0A"
"""State of a listening socket in the kernel's table of TCP sockets."""


def bind_loopback(port: int) -> socket.socket:
    """Bind 127.0.0.1; port 0 takes any free one.  Raises `Unavailable` that names the holder."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise _refused(port, error) from error
    return listener


def find_holder(port: int, proc: Path = Path("/proc")) -> str | None:
    """Name the process that listens on a TCP port, as far as this system lets us see it."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not inodes:
        return None
    for folder in proc.glob("[0-9]*"):
        if _has_descriptor(folder / "fd", inodes):
            return f"{_name_of(folder)} (process {folder.name})"
    return None


def _refused(port: int, error: OSError) -> Unavailable:
    if error.errno == errno.EADDRINUSE:
        holder = find_holder(port) or "another process"
        return Unavailable(
            f"port {port} is taken by {holder}", hint=f"run `atrium up --port {_another(port)}`"
        )
    return Unavailable(
        f"port {port} can't be opened: {error.strerror}", hint=f"run `atrium up --port {_another(port)}`"
    )


def _another(port: int) -> int:
    return port + 10 if 1024 <= port < 65_500 else 7717


def _listening_inodes(port: int, proc: Path) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text("ascii").splitlines()[1:]
        except OSError:
            # Not Linux, or a kernel without IPv6: then the holder stays unnamed.
            continue
        for fields in map(str.split, lines):
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _has_descriptor(folder: Path, inodes: set[str]) -> bool:
    try:
        return any(_target(entry) in inodes for entry in folder.iterdir())
    except OSError:
        # Processes of other users keep their descriptors to themselves, and any process may end now.
        return False


def _target(entry: Path) -> str:
    try:
        return os.readlink(entry)  # noqa: PTH115 - the target is no path
    except OSError:
        return ""


def _name_of(folder: Path) -> str:
    try:
        return (folder / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "a process that just ended"
