"""`atrium prepare-context`: make the indexes that context reads."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `prepare-context` takes."""

    as_json: bool


@declare("prepare-context", Options, examples=("atrium prepare-context",))
@json_option
def command(options: Options) -> int:
    """Make the indexes that context reads, if they are missing; doing it again changes nothing."""
    with progress.shown() as report:
        document = call("prepare-context", {}, report)
    if options.as_json:
        output.print_json(document)
    else:
        output.counts(document)
    return exits.DONE
