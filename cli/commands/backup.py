"""`atrium backup`: copy the state to another directory."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `backup` takes."""

    directory: str
    with_identity: bool
    as_json: bool


@declare("backup", Options, examples=("atrium backup /mnt/disk/atrium", "atrium backup DIR --with-identity"))
@click.argument("directory", metavar="DIR")
@click.option(
    "--with-identity", is_flag=True, help="Also this node's key: who has it can speak as this node."
)
@json_option
def command(options: Options) -> int:
    """Copy archive, memory and settings to a directory, checked, also while the node runs.

    Run it again on the same directory and only what is new is copied.  The node's key stays out unless you
    ask for it.
    """
    request = {"path": arguments.absolute(options.directory), "with_identity": options.with_identity}
    with progress.shown() as report:
        document = call("backup", request, report)
    if options.as_json:
        output.print_json(document)
    else:
        files = output.plural(output.number_of(document, "files"), "file")
        size = output.size(output.number_of(document, "bytes"))
        output.line(f"backed up {files}, {size}, to {output.plain(output.text_of(document, 'output'))}")
        if not document.get("identity"):
            output.line("without this node's key: `atrium identity backup FILE` keeps that")
    damaged = output.number_of(document, "damaged")
    if damaged:
        segments = output.plural(damaged, "segment was", "segments were")
        output.note(f"{segments} damaged before; run `atrium verify`")
    return exits.BROKEN if damaged else exits.DONE
