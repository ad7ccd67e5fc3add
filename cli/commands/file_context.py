"""`atrium file-context`: what was kept about one file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `file-context` takes."""

    path: str
    as_json: bool


@declare(
    "file-context", Options, examples=("atrium file-context src/pool.py", "atrium file-context a.py --json")
)
@click.argument("path", metavar="PATH")
@json_option
def command(options: Options) -> int:
    """Show the newest statements of a file's project that name it; prints nothing if there is none."""
    document = call("file-context", {"path": arguments.absolute(options.path)})
    if options.as_json:
        output.print_json(document)
    elif text := output.text_of(document, "text"):
        output.line(output.plain(text))
    return exits.DONE
