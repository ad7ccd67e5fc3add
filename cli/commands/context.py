"""`atrium context`: evidence for a question, with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import declare, json_option
from cli.searching import ID_CHARS, superseded

QUOTE = "  │ "


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `context` takes."""

    query: tuple[str, ...]
    project: str | None
    limit: int
    max_chars: int
    lane: str
    as_json: bool


@declare(
    "context",
    Options,
    examples=(
        "atrium context why do we retry uploads twice",
        'atrium context "pool exhausted" --project . --json',
    ),
)
@click.argument("query", nargs=-1, required=True)
@click.option("--project", metavar="DIR", help="Conversations of the repository around this directory only.")
@click.option(
    "--limit", type=int, default=8, show_default=True, metavar="N", help="The most pieces of evidence."
)
@click.option("--max-chars", type=int, default=16_000, show_default=True, metavar="N", help="Budget of text.")
@click.option("--lane", default="auto", show_default=True, help="auto, words, substring or dense.")
@json_option
def command(options: Options) -> int:
    """Gather evidence for a question: conversations, notes and what they link to, each with its source."""
    project = arguments.absolute(options.project) if options.project is not None else None
    request = {
        "query": arguments.text(options.query),
        "project": project,
        "limit": options.limit,
        "max_chars": options.max_chars,
        "lane": options.lane,
    }
    document = call("context", request)
    if options.as_json:
        output.print_json(document)
    else:
        _print(document)
    available = document.get("index_status") != "unavailable"
    if not available and not options.as_json:
        exits.say("atrium: there is no index to answer from")
        exits.say("hint: run `atrium capture`")
    return exits.DONE if available else exits.BROKEN


def _print(document: output.Document) -> None:
    for item in output.list_of(document, "evidence"):
        words = (
            output.text_of(item, "trust"),
            output.age(output.text_of(item, "authored_at")),
            output.text_of(item, "note_path") or output.text_of(item, "provider"),
            output.text_of(item, "role"),
            output.text_of(item, "author"),
            output.text_of(item, "record_id")[:ID_CHARS],
            superseded(item),
        )
        output.line(output.strong(" · ".join(output.plain(word) for word in words if word)))
        for piece in output.plain(output.text_of(item, "text")).splitlines():
            output.line(f"{QUOTE}{piece}")
        output.line()
    warnings = output.texts_of(document, "warnings")
    if warnings:
        output.note(f"warnings: {', '.join(warnings)}")
