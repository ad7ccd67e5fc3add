"""Tell whether a node answers on its unix socket, without asking it anything."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Literal

CONNECT_S_MAX = 0.25
"""On one machine a connection is made at once or not at all; a full queue means that somebody listens."""

SocketState = Literal["absent", "answers", "refuses"]


def probe(path: Path) -> SocketState:
    """Try to connect.  `refuses` is what a node leaves that was killed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_S_MAX)
    try:
        connection.connect(os.fspath(path))
    except (FileNotFoundError, NotADirectoryError):
        return "absent"
    except OSError as error:
        return "refuses" if error.errno == errno.ECONNREFUSED else "answers"
    finally:
        connection.close()
    return "answers"
