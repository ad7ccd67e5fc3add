"""`atrium ingest-synthesis`: take in the mirror of statements and session records."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option
from cli.commands.capture import print_skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `ingest-synthesis` takes."""

    as_json: bool


@declare("ingest-synthesis", Options, examples=("atrium ingest-synthesis", "atrium ingest-synthesis --json"))
@json_option
def command(options: Options) -> int:
    """Take in statements and session records from synthesis/records that this node doesn't have yet."""
    with progress.shown() as report:
        document = call("ingest-synthesis", {}, report)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    output.line(
        f"{output.plural(output.number_of(document, 'files'), 'file')}, "
        f"{output.plural(output.number_of(document, 'written'), 'record')} written, "
        f"{output.number_of(document, 'already'):,} already there"
    )
    print_skipped(document)
    return exits.DONE
