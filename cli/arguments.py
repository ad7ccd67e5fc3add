"""What people type, made fit for a request: absolute paths, text that is Unicode."""

from __future__ import annotations

import os
from collections.abc import Sequence

from crdt.errors import BadInput


def text(words: Sequence[str]) -> str:
    """Join the words of a question; bytes that were no UTF-8 become the replacement character."""
    return " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def absolute(path: str) -> str:
    """Make a path absolute, since the node stands elsewhere; links are kept as they are.

    Raises `BadInput` for a path that isn't UTF-8, because it can't be sent to the node, and for an empty one,
    which a script's unset variable gives.
    """
    if not path:
        raise BadInput("a path is empty", hint="name the file or directory; `.` is the one you stand in")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(f"the path {path!a} is not UTF-8", hint="rename it") from error
    if "\0" in path:
        raise BadInput("a path holds no NUL character")
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - links are kept


def here() -> str:
    """Name the working directory; `/` stands for one that was removed or can't be written in UTF-8."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - pathlib is not needed on the way to a search
        folder.encode("utf-8")
    except (FileNotFoundError, UnicodeEncodeError):
        return os.sep
    return folder
