"""`atrium search`: find what was said."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import declare, json_option
from cli.last_search import remember


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `search` takes."""

    query: tuple[str, ...]
    lane: str
    limit: int
    project: str | None
    everywhere: bool
    all_kinds: bool
    fusion: str
    as_json: bool


@declare(
    "search",
    Options,
    examples=(
        "atrium search connection pool",
        "atrium search --all --substring WAL",
        "atrium search -- --dry-run",
    ),
)
@click.argument("query", nargs=-1, required=True)
@click.option("--words", "lane", flag_value="words", help="Whole words only.")
@click.option("--substring", "lane", flag_value="substring", help="Letters anywhere, also inside words.")
@click.option("--dense", "lane", flag_value="dense", help="By meaning, where vectors exist.")
@click.option("--auto", "lane", flag_value="auto", default=True, help="What fits best.  [default]")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="The most hits to give.")
@click.option("--project", metavar="DIR", help="Search another repository than the one around you.")
@click.option("--all", "everywhere", is_flag=True, help="Search every project.")
@click.option("--all-kinds", is_flag=True, help="Search tool output and reasoning too.")
@click.option("--fusion", default="convex", metavar="RULE", help="How lanes are mixed: convex or rrf.")
@json_option
def command(options: Options) -> int:
    """Find what was said, in the repository around you, or everywhere when there is none."""
    query = arguments.text(options.query)
    project = arguments.absolute(options.project) if options.project is not None else None
    document = call(
        "search",
        {
            "query": query,
            "lane": options.lane,
            "limit": options.limit,
            "project": project,
            "everywhere": options.everywhere,
            "directory": arguments.here(),
            "all_kinds": options.all_kinds,
            "fusion": options.fusion,
        },
    )
    hits = output.list_of(document, "hits")
    if options.as_json:
        output.print_json(document)
    else:
        remember([output.text_of(hit, "record_id") for hit in hits])
        _print(query, hits, options)
    return exits.DONE


def _print(query: str, hits: list[output.Document], options: Options) -> None:
    for number, hit in enumerate(hits, 1):
        output.line(f"{number:>3}  {describe(hit)}")
        output.line(f"     {output.excerpt(output.text_of(hit, 'text'), query)}")
    if not hits:
        wider = "--substring" if options.everywhere else "--all or --substring"
        output.note(f"nothing found; try {wider}")
    elif sys.stdout.isatty():
        output.note(output.faint("`atrium show 1` shows the first one in its conversation"))


def describe(hit: output.Document) -> str:
    """Say on one line when, by whom and where something was said."""
    place = output.text_of(hit, "note_path") or output.text_of(hit, "workspace")
    words = (
        output.age(output.text_of(hit, "authored_at")),
        output.text_of(hit, "provider"),
        output.text_of(hit, "role"),
        output.plain(place),
    )
    return output.faint(" · ".join(word for word in words if word))
