"""`atrium import`: take in shared memory from a file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `import` takes."""

    file: str
    as_json: bool


@declare("import", Options, examples=("atrium export memory.jsonl --memory", "atrium import memory.jsonl"))
@click.argument("file", metavar="FILE")
@json_option
def command(options: Options) -> int:
    """Take in what `atrium export --memory` wrote, with its history; what is here already stays as it is."""
    with progress.shown() as report:
        document = call("memory.import", {"path": arguments.absolute(options.file)}, report)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    records = output.plural(output.number_of(document, "records"), "record")
    added = output.plural(output.number_of(document, "added"), "version")
    known = output.plural(output.number_of(document, "unchanged"), "version")
    output.line(f"{records} read, {added} taken in, {known} known already")
    return exits.DONE
