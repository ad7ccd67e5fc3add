"""`atrium verify`: check every hash, signature, chain and segment."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `verify` takes."""

    every_signature: bool
    as_json: bool


@declare("verify", Options, examples=("atrium verify", "atrium verify --every-signature"))
@click.option(
    "--every-signature",
    is_flag=True,
    help="Verify each signature, instead of the last one of each chain, which vouches for those before it.",
)
@json_option
def command(options: Options) -> int:
    """Read all feeds and segments again and compare them with their hashes; ends with 1 where any differs."""
    with progress.shown() as report:
        document = call("verify", {"every_signature": options.every_signature}, report)
    damaged = output.number_of(document, "damaged")
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    return exits.BROKEN if damaged else exits.DONE


def _print(document: output.Document) -> None:
    entries = output.plural(output.number_of(document, "entries"), "entry", "entries")
    feeds = output.plural(output.number_of(document, "feeds"), "feed")
    segments = output.plural(output.number_of(document, "segments"), "segment")
    size = output.size(output.number_of(document, "bytes"))
    output.line(f"checked {entries} of {feeds} and {segments}, {size}")
    absent = output.number_of(document, "absent")
    if absent:
        output.line(f"{output.plural(absent, 'segment')} of other nodes have not come yet")
    listed = output.list_of(document, "damage")
    for item in listed:
        what = output.plain(f"{output.text_of(item, 'where')}: {output.text_of(item, 'what')}")
        output.line(f"{output.strong('DAMAGED')}  {what}")
    for hint in dict.fromkeys(output.text_of(item, "hint") for item in listed):
        output.line(f"hint: {hint}")
    more = output.number_of(document, "damaged") - len(listed)
    if more > 0:
        output.line(f"and {more} more")
    if not listed:
        output.line("everything is as it was written")
