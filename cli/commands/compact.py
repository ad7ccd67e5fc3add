"""`atrium compact`: what could be dropped of what is old."""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option
from crdt.errors import BadInput

DAYS_MAX = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `compact` takes."""

    older_than: str
    dry_run: bool
    as_json: bool


@declare(
    "compact", Options, examples=("atrium compact --dry-run", "atrium compact --older-than 30d --dry-run")
)
@click.option("--older-than", default="90d", metavar="DAYS", help="Only what is older than so many days.")
@click.option("--dry-run", is_flag=True, help="Say what could be dropped; the only thing there is so far.")
@json_option
def command(options: Options) -> int:
    """Say which old versions of records no longer show in them, and what space they take."""
    days = _days(options.older_than)
    if not options.dry_run:
        raise BadInput(
            "dropping history needs the word of every machine that it has it, which no mesh carries yet",
            hint="add --dry-run to see what could be dropped",
        )
    with progress.shown() as report:
        document = call("compact", {"older_than_days": days}, report)
    if options.as_json:
        output.print_json(document)
    else:
        versions = output.plural(output.number_of(document, "operations"), "version")
        records = output.plural(output.number_of(document, "records"), "record")
        size = output.size(output.number_of(document, "bytes"))
        output.line(f"could be dropped: {versions} of {records}, {size}, older than {days} days")
        output.line("nothing was dropped")
    return exits.DONE


def _days(text: str) -> int:
    found = re.fullmatch(r"(\d{1,5})d?", text.strip())
    days = int(found[1]) if found else 0
    if not 1 <= days <= DAYS_MAX:
        raise BadInput(f"`{text[:20]}` is no number of days", hint="write it as 90d")
    return days
