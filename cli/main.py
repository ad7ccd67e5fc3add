"""Start: answer an ordinary search at once, and leave everything else to the group of commands.

Nothing heavy is imported before it is known what is asked.
"""

from __future__ import annotations

import io
import sys

from cli import quick


def main() -> None:
    """Run the command of this process and end with its status."""
    _speak_utf8()
    status = quick.answer(sys.argv[1:])
    if status is None:
        from cli.group import run

        status = run(sys.argv[1:])
    sys.exit(status)


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says, and never fail at a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    main()
