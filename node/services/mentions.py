"""Whether a text names a file: as a path of its own, never as a piece of another path.

`a.py` is not in `data.py`, `lib/a.py` or `a.py.orig`.  A path relative to the project, with or without `./`,
is meant, and one from the root of the file system, which after redaction begins with `[HOME]` where it lies
in the home directory.  A bare name means a file at the top of the project: another directory may have one
of the same name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from retrieval.scope import HOME, contains

_BEFORE = r"(?<![\w./~\]-])"
_AFTER = r"(?![\w/~-]|\.\w)"


def mentions_of(file: str, workspace: str) -> Callable[[str], bool]:
    """Make what tells whether a text of a workspace names a file; both are spelled as workspaces are."""
    spellings = [file, f"file://{file}"]
    if contains(HOME, file):
        spellings.append("~" + file[len(HOME) :])
    if contains(workspace, file) and file != workspace:
        relative = file[len(workspace.rstrip("/")) + 1 :]
        spellings += [relative, f"./{relative}"]
    pattern = re.compile(f"{_BEFORE}(?:{'|'.join(re.escape(_plain(path)) for path in spellings)}){_AFTER}")
    return lambda text: pattern.search(_plain(text)) is not None


def _plain(text: str) -> str:
    """Write accents in one way, and paths as they are written outside Windows."""
    return unicodedata.normalize("NFC", text).replace("\\", "/")
