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
    gaps = output.list_of(document, "gaps")
    for gap in gaps:
        found = output.number_of(gap, "evidence")
        what = "found nothing" if not found else f"found little ({output.plural(found, 'piece')})"
        asked = f"{output.number_of(gap, 'times')}x"
        query = " ".join(output.plain(output.text_of(gap, "query")).split())
        output.line(f"{asked:>5}  {query}  {output.faint(what)}")
    questions = output.plural(output.number_of(document, "questions"), "question")
    period = output.plural(output.number_of(document, "days"), "day")
    if not gaps:
        output.line(f"no gaps in {questions} of {period}")
    served = output.list_of(document, "served")
    if served:
        output.line()
        output.line("served most:")
    for record in served:
        output.line(f"{output.number_of(record, 'times'):>4}x  {output.text_of(record, 'record_id')[:16]}")
