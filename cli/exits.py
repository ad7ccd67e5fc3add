"""Turn errors into exit statuses and at most three plain lines on standard error.

0 done, 1 unavailable or broken, 2 bad input, 3 no such pending thing, 75 state in use, 130 Ctrl-C,
143 SIGTERM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from crdt.errors import AtriumError

DONE = 0
BROKEN = 1
BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143
"""What a shell sees of a process that SIGTERM ended."""
PIPE_CLOSED = 141
"""What a shell sees of a process that SIGPIPE ended: others do the same when their reader goes."""
LINE_CHARS_MAX = 600


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the command ends as after Ctrl-C, so that nothing unfinished is left behind."""


def say(text: str) -> None:
    """Print one line on standard error; control characters and line ends become spaces, bad bytes `?`."""
    kept = (c if c.isprintable() or "\ud800" <= c <= "\udfff" else " " for c in text)
    line = " ".join("".join(kept).split())
    if len(line) > LINE_CHARS_MAX:
        line = line[: LINE_CHARS_MAX - 1] + "…"
    sys.stderr.write(line.encode("utf-8", "replace").decode() + "\n")


def guarded(work: Callable[[], int]) -> int:
    """Do the work of a command and give its status; the one place where errors become statuses."""
    try:
        status = work()
        sys.stdout.flush()
    except AtriumError as error:
        return known(error)
    except KeyboardInterrupt as stop:
        return interrupted(stop)
    except BrokenPipeError:
        return pipe_closed()
    except OSError as error:
        return system(error)
    except Exception as error:
        return unexpected(error)
    return status


def known(error: AtriumError) -> int:
    """Report an error of ours."""
    say(f"atrium: {error.detail}")
    if error.hint:
        say(f"hint: {error.hint}")
    return error.exit_status


def usage(message: str, command: str) -> int:
    """Report words that no command takes."""
    say(f"atrium: {message}")
    say(f"hint: see `{command} --help`")
    return BAD_INPUT


def interrupted(stop: KeyboardInterrupt | None = None) -> int:
    """Report Ctrl-C, or SIGTERM."""
    say("atrium: stopped; what was finished is kept, and it is safe to run the same command again")
    return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED


def pipe_closed() -> int:
    """End quietly after the reader of our output went away."""
    drop_output()
    return PIPE_CLOSED


def drop_output() -> None:
    """Point standard output at nothing, since Python flushes it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def system(error: OSError) -> int:
    """Report what the operating system refused."""
    from node.paths import system_error

    try:
        sys.stdout.flush()
    except OSError:
        # It was our output that could not be written.
        drop_output()
    return known(system_error(error))


def unexpected(error: BaseException) -> int:
    """Report a bug: one line, and where the frames of the traceback are.

    Messages of foreign errors may quote a transcript, so neither the screen nor the log gets them.
    """
    from cli.traces import leave_trace

    place = leave_trace(error)
    say(f"atrium: unexpected {type(error).__name__}, a bug" + (f"; details are in {place}" if place else ""))
    say("hint: run `atrium doctor`, and report this with the details")
    return BROKEN


def shown(path: Path) -> str:
    """Write a path as a person would, with `~` for the home directory."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home would raise where there is none
    text = os.fspath(path)
    return "~" + text[len(home) :] if home != "/" and text.startswith(home + os.sep) else text
