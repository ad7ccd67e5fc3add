"""`atrium status`: counts, ages and the digest."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call, connect, state_paths
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `status` takes."""

    publish: bool
    as_json: bool


@declare("status", Options, examples=("atrium status", "atrium status --json"))
@click.option("--publish", is_flag=True, help="Also write the document to status/refresh.json.")
@json_option
def command(options: Options) -> int:
    """Say what is there, how fresh it is, and the digest that equal archives share."""
    document = call("status", {"publish": options.publish})
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _print(document: output.Document) -> None:
    records = output.part_of(document, "records")
    sources = output.part_of(records, "bySource")
    rows = [("records", f"{output.number_of(records, 'total'):,}")]
    rows += [(f"  {name}", f"{count:,}") for name, count in sources.items() if isinstance(count, int)]
    archive = output.part_of(document, "archive")
    if archive:
        size = output.size(output.number_of(archive, "bytes"))
        count = output.plural(output.number_of(archive, "conversations"), "conversation")
        segments = output.plural(output.number_of(archive, "segments"), "segment")
        rows.append(("archive", f"{count}, {segments}, {size}"))
    rows.append(("last refresh", _age(output.part_of(document, "refresh"))))
    rows.append(("newest content", _age(output.part_of(document, "content"))))
    rows.append(("digest", output.text_of(document, "digest")))
    rows.append(("node", _node()))
    output.table(rows)


def _age(part: output.Document) -> str:
    seconds = part.get("ageSeconds")
    if not isinstance(seconds, int | float):
        return "never"
    return "now" if seconds < 1 else f"{output.span(seconds)} ago"


def _node() -> str:
    connection = connect(state_paths())
    if connection is None:
        return "not running; `atrium up` starts it"
    connection.close()
    return "running"
