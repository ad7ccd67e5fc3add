"""`atrium rebuild`: make the index anew."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `rebuild` takes."""

    as_json: bool


@declare("rebuild", Options, examples=("atrium rebuild",))
@json_option
def command(options: Options) -> int:
    """Drop the index and make it anew from archive and notes; nothing is lost by it.

    An index within the feeds' file that doesn't fit its table is made anew as well.
    Ends with 1 where segments are damaged: what is in them is not found until they are whole.
    """
    with progress.shown(lines=not options.as_json) as report:
        document = call("rebuild", {}, report)
    if options.as_json:
        output.print_json(document)
    else:
        output.counts(document)
    damaged = output.number_of(document, "damaged_segments")
    if damaged:
        segments = output.plural(damaged, "segment is", "segments are")
        output.note(f"{segments} damaged, and what is in there is not found; run `atrium verify`")
    return exits.BROKEN if damaged else exits.DONE
