"""`atrium remember`: keep a statement on purpose."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import declare, json_option
from crdt.errors import BadInput
from node.services.statements import checked

INPUT_BYTES_MAX = 1 << 20
"""Ten times the largest statement, as JSON may spell one character with six."""
SHOWN_DIGITS = 16
_SHAPE = 'such as {"title": "…", "summary": "…", "facts": ["…"], "open_ends": ["…"]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `remember` takes."""

    project: str
    supersedes: tuple[str, ...]
    private: bool
    agent: str
    as_json: bool


@declare(
    "remember",
    Options,
    examples=(
        "atrium remember --project . < statement.json",
        'echo \'{"title": "Tide", "summary": "The gauge is off by two inches."}\' | atrium remember',
        "atrium remember --project . --supersedes 3f9a12c0 < newer.json",
    ),
)
@click.option(
    "--project", default=".", metavar="DIR", help="A directory of the repository it is about.  [default: .]"
)
@click.option(
    "--supersedes",
    multiple=True,
    metavar="RECORD_ID",
    help="A record that this takes the place of; repeatable.",
)
@click.option("--private", is_flag=True, help="Keep it on this machine.")
@click.option("--agent", default="local", show_default=True, metavar="NAME", help="Who says it.")
@json_option
def command(options: Options) -> int:
    """Keep a statement, read from standard input as JSON: title, summary, and lists facts and open_ends."""
    project = arguments.absolute(options.project)
    request = {
        "project": project,
        "statement": _statement(),
        "supersedes": list(options.supersedes),
        "agent": options.agent,
        "private": options.private,
    }
    document = call("remember", request)
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _statement() -> dict[str, object]:
    """Read the statement; raises `BadInput` for what is none, before anything is locked or made."""
    if sys.stdin.isatty():
        output.note(f"reading a statement as JSON, {_SHAPE}; Ctrl-D ends it")
    data = sys.stdin.buffer.read(INPUT_BYTES_MAX + 1)
    if len(data) > INPUT_BYTES_MAX:
        raise BadInput(
            f"standard input has more than {INPUT_BYTES_MAX >> 20} MiB", hint=f"give JSON {_SHAPE}"
        )
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput("standard input is no JSON", hint=f"give JSON {_SHAPE}") from error
    if not isinstance(found, dict):
        raise BadInput("standard input is JSON, but no object", hint=f"give {_SHAPE}")
    checked(found)
    return found


def _print(document: output.Document) -> None:
    said = "remembered" if document.get("recorded") == "new" else "already remembered"
    record = output.text_of(document, "record_id")[:SHOWN_DIGITS]
    output.line(f"{said} in {output.plain(output.text_of(document, 'project'))}: {record}")
    for older in output.texts_of(document, "supersedes"):
        output.line(f"supersedes {older[:SHOWN_DIGITS]}")
    newer = output.text_of(document, "superseded_by")
    if newer:
        output.line(f"superseded by {newer[:SHOWN_DIGITS]}, and it stays so")
    redactions = output.number_of(document, "redactions")
    if redactions:
        output.note(f"{output.plural(redactions, 'secret')} redacted")
