"""`atrium recall`: what was kept about the project one stands in."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `recall` takes."""

    cwd: str | None
    limit: int
    as_json: bool


@declare("recall", Options, examples=("atrium recall", "atrium recall --cwd ~/yard --limit 5"))
@click.option("--cwd", metavar="DIR", help="Where the project is, instead of where you stand.")
@click.option("--limit", type=int, default=12, show_default=True, metavar="N", help="The most titles.")
@json_option
def command(options: Options) -> int:
    """List the titles of what was kept about this project, newest first; prints nothing if there is none."""
    directory = arguments.here() if options.cwd is None else arguments.absolute(options.cwd)
    document = call("recall", {"directory": directory, "limit": options.limit})
    if options.as_json:
        output.print_json(document)
    elif text := output.text_of(document, "text"):
        output.line(output.plain(text))
    return exits.DONE
