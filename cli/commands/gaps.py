"""`atrium gaps`: questions that found nothing."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `gaps` takes."""

    days: int
    as_json: bool


@declare("gaps", Options, examples=("atrium gaps", "atrium gaps --days 60"))
@click.option("--days", type=int, default=14, show_default=True, metavar="N", help="How far to look back.")
@json_option
def command(options: Options) -> int:
    """List questions that found nothing or little, most asked first, and what is served most."""
    document = call("gaps", {"days": options.days})
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _print(document: output.Document) -> None:
    questions = output.list_of(document, "questions")
    for item in questions:
        asked = f"{output.number_of(item, 'asked')}x"
        found = output.faint(output.text_of(item, "found"))
        output.line(f"{asked:>5}  {output.plain(output.text_of(item, 'query'))}  {found}".rstrip())
    if not questions:
        output.line("every question found something")
