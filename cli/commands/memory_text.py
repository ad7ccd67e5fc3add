"""Where the text of an entry comes from: a word of the command, standard input, or an editor."""

from __future__ import annotations

import sys

import click

from crdt.errors import BadInput

STDIN = "-"
_EXTENSION = ".md"


def given(text: str | None) -> str:
    """Give the text of a new entry: what was given, else what comes in, else what is typed in an editor."""
    if text is not None and text != STDIN:
        return word(text)
    if text is None and sys.stdin.isatty():
        return edited("") or ""
    return read()


def word(text: str) -> str:
    """Give a text that was an argument; raises `BadInput` for bytes that are no UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the text is not UTF-8, at character {error.start}", hint="convert it first"
        ) from error
    return text


def read() -> str:
    """Read standard input to its end; raises `BadInput` for more than an entry can hold, or no UTF-8."""
    from crdt.operations import TEXT_BYTES_MAX

    raw = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
    if len(raw) > TEXT_BYTES_MAX:
        raise BadInput(
            f"an entry holds at most {TEXT_BYTES_MAX >> 10} KiB", hint="cut the text, or keep it as a note"
        )
    try:
        return raw.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"the text is not UTF-8, at byte {error.start}", hint="convert it first") from error


def edited(text: str) -> str | None:
    """Let somebody edit a text; None where nothing was saved.

    Raises `BadInput` when the editor can't be run.
    """
    try:
        saved = click.edit(text, extension=_EXTENSION, require_save=True)
    except click.ClickException as error:
        raise BadInput(error.format_message(), hint="set EDITOR, or give the text as an argument") from error
    return None if saved is None else saved.removesuffix("\n")
