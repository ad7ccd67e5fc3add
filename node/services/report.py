"""Make the bundle that a person may send to somebody who helps: versions, settings, counts, the log's end.

It is redacted like everything else, and what looks like a path keeps its last name only.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from crdt.errors import AtriumError
from node.services.catalog import Document
from node.services.status import describe
from node.version import VERSION
from retrieval.index_health import engine

if TYPE_CHECKING:
    from node.composition import Local

LOG_LINES = 50
LOG_BYTES_MAX = 64 << 10
"""Fifty lines of the node's log are about 10 KiB; frames of an error make a line longer."""

_A_PATH = re.compile(r"""(?<![\w./\]])(?:\[HOME\])?/(?:[^\s"'/:,;\\]+/)*(?P<name>[^\s"'/:,;\\]+)""")


class Redacts(Protocol):
    """Takes secrets out of text."""

    def redact(self, text: str) -> tuple[str, int]:
        """Give the text without secrets, and the number of replacements."""
        ...


def bundle(view: Local, now_s: float) -> Document:
    """Gather what helps to find a fault; nothing in it is a secret, a text or a path."""
    settings = view.config
    return {
        "versions": {
            "atrium": VERSION,
            "python": platform.python_version(),
            "sqlite": engine().version,
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        },
        "settings": {
            "state": settings.state.source,
            "node.port": settings.port,
            "capture.watch": settings.capture.watch,
            "capture.scan_interval_s": settings.capture.scan_interval_s,
            "capture.roots": {name: len(folders) for name, folders in settings.capture.roots.items()},
            "log.level": settings.log.level,
        },
        "served_by": view.served_by,
        "status": _status(view, now_s),
        "log": last_lines(view.paths.log, view.redactor),
    }


def last_lines(log: Path, redactor: Redacts) -> list[str]:
    """Give the last lines of a log, redacted and without paths; none where there is no log."""
    try:
        with log.open("rb") as file:
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, size_bytes - LOG_BYTES_MAX))
            data = file.read(LOG_BYTES_MAX)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"the log can't be read: {error.strerror}"]
    lines = data.decode("utf-8", "replace").splitlines()
    whole = lines if size_bytes <= LOG_BYTES_MAX else lines[1:]
    return [without_paths(redactor.redact(line)[0]) for line in whole[-LOG_LINES:]]


def without_paths(text: str) -> str:
    """Keep of each absolute path its last name."""
    return _A_PATH.sub(r"[PATH]/\g<name>", text)


def _status(view: Local, now_s: float) -> Document:
    """Give the status document, or the code of the fault that keeps it from being made."""
    try:
        return describe(view, now_s)
    except AtriumError as error:
        return {"fault": error.code}
