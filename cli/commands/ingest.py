"""`atrium ingest`: take in an archive file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `ingest` takes."""

    file: str
    partial: bool
    as_json: bool


@declare("ingest", Options, examples=("atrium ingest archive.jsonl", "atrium ingest part.jsonl --partial"))
@click.argument("file", metavar="FILE")
@click.option("--partial", is_flag=True, help="Keep conversations of its sources that the file doesn't have.")
@json_option
def command(options: Options) -> int:
    """Take in an archive file; its hash and count are checked, and a bad line changes nothing."""
    request = {"path": arguments.absolute(options.file), "partial": options.partial}
    with progress.shown() as report:
        document = call("ingest", request, report)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    counts = [
        output.plural(output.number_of(document, "conversations"), "conversation"),
        f"{output.plural(output.number_of(document, 'written'), 'record')} written",
        f"{output.number_of(document, 'unchanged'):,} unchanged",
        f"{output.number_of(document, 'removed'):,} removed",
    ]
    output.line(", ".join(counts))
    rejected = output.part_of(document, "rejected")
    if rejected:
        output.note("not indexed: " + ", ".join(f"{reason} {count}" for reason, count in rejected.items()))
    return exits.DONE
