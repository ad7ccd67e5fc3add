"""`atrium redact`: apply today's redaction to the whole archive."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `redact` takes."""

    apply: bool
    as_json: bool


@declare("redact", Options, examples=("atrium redact", "atrium redact --apply"))
@click.option("--apply", is_flag=True, help="Write what the dry run shows.")
@json_option
def command(options: Options) -> int:
    """Re-run today's redaction rules over everything archived; a dry run unless told otherwise."""
    with progress.shown() as report:
        document = call("redact", {"apply": options.apply}, report)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    output.counts(document)
    if not options.apply:
        output.note("nothing was changed; `atrium redact --apply` does it")
    return exits.DONE
