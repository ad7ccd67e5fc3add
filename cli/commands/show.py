"""`atrium show`: one record in its conversation."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import declare, json_option
from cli.last_search import recall
from cli.searching import describe

NUMBER_DIGITS_MAX = 3
"""Longer digits are the beginning of an id: ids are hexadecimal and shortened to at least four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `show` takes."""

    record: str
    around: int
    as_json: bool


@declare("show", Options, examples=("atrium show 1", "atrium show 3f9a12c0 --around 10"))
@click.argument("record", metavar="N|ID")
@click.option("--around", type=int, default=3, show_default=True, metavar="N", help="Turns before and after.")
@json_option
def command(options: Options) -> int:
    """Show a hit of the last search in this terminal by its number, or any record by its id."""
    by_number = (
        options.record.isascii() and options.record.isdigit() and len(options.record) <= NUMBER_DIGITS_MAX
    )
    record = recall(int(options.record)) if by_number else options.record
    document = call("show", {"record": record, "around": options.around})
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _print(document: output.Document) -> None:
    conversation = output.part_of(document, "conversation")
    title = output.plain(output.text_of(conversation, "title"))
    output.line(f"{output.strong(title)}  {describe(output.part_of(document, 'record'))}".strip())
    turns = output.list_of(document, "around")
    for turn in turns:
        when = output.age(output.text_of(turn, "authored_at"))
        head = " · ".join(word for word in (output.text_of(turn, "role"), when) if word)
        output.line()
        output.line(output.strong(f"▶ {head}") if turn.get("is_record") else output.faint(f"  {head}"))
        for piece in output.plain(output.text_of(turn, "text")).splitlines():
            output.line(f"  {piece}")
    _print_conflicts(output.list_of(document, "conflicts"))
    records = output.number_of(conversation, "records")
    if records > len(turns):
        output.note(f"{len(turns)} of {output.plural(records, 'record')}; --around N shows more")


def _print_conflicts(conflicts: list[output.Document]) -> None:
    """Show what sources say differently; the first version is the one that is served."""
    for conflict in conflicts:
        output.line()
        output.line(output.strong("sources disagree about one message:"))
        for version in output.list_of(conflict, "versions"):
            output.line(output.faint(f"  {output.plain(output.text_of(version, 'relative_path'))}"))
            for piece in output.plain(output.text_of(version, "text")).splitlines():
                output.line(f"    {piece}")
