"""Start: answer an ordinary search at once, and leave everything else to the group of commands.

Nothing heavy is imported before it is known what is asked.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from cli import quick

INTERRUPTED = 130
"""As `exits` has it, which an ordinary search does not load."""


def main() -> None:
    """Run the command of this process and end with its status."""
    _fill_closed_streams()
    _speak_utf8()
    try:
        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        # It came while modules were imported.
        from cli import exits

        status = exits.interrupted()
    if status == INTERRUPTED:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> None:
    """End at once: `python -m` ends by the signal after a Ctrl-C that left a string which was executed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


def _run(words: list[str]) -> int:
    status = quick.answer(words)
    if status is not None:
        return status
    import signal

    from cli import exits, group

    def end(_number: int, _frame: object) -> None:
        raise exits.Terminated

    signal.signal(signal.SIGTERM, end)
    return group.run(words)


def _fill_closed_streams() -> None:
    """Point standard streams that were closed at nothing, lest a file that we open take their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w"))


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says, and never fail at a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    main()
