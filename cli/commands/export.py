"""`atrium export`: write the archive to one file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `export` takes."""

    file: str
    everything: bool
    partial: bool
    as_json: bool


@declare("export", Options, examples=("atrium export archive.jsonl", "atrium export everything.jsonl --all"))
@click.argument("file", metavar="FILE")
@click.option("--all", "everything", is_flag=True, help="Also conversations that a later ingest removed.")
@click.option("--partial", is_flag=True, help="Write what can be read where something is damaged.")
@json_option
def command(options: Options) -> int:
    """Write every archived conversation to one file that `atrium ingest` reads, with its manifest."""
    request = {
        "path": arguments.absolute(options.file),
        "everything": options.everything,
        "partial": options.partial,
    }
    with progress.shown() as report:
        document = call("export", request, report)
    if options.as_json:
        output.print_json(document)
    else:
        count = output.plural(output.number_of(document, "records"), "conversation")
        output.line(f"{count} written to {output.plain(output.text_of(document, 'output'))}")
        skipped = output.number_of(document, "skipped")
        if skipped:
            what = output.plural(skipped, "conversation")
            output.note(f"left out: {what} that can't be read; run `atrium doctor --deep`")
    return exits.DONE
