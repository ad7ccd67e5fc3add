"""Search and show what was found, however the words of the command were read."""

from __future__ import annotations

import sys
from typing import NamedTuple

from cli import arguments, exits, output
from cli.client import call
from cli.last_search import remember

ID_CHARS = 12
"""Of a record's id, to look it up by."""


class Options(NamedTuple):
    """What `search` takes; a tuple, since every search pays for making this class."""

    query: tuple[str, ...]
    lane: str = "auto"
    limit: int = 10
    project: str | None = None
    everywhere: bool = False
    all_kinds: bool = False
    fusion: str = "convex"
    as_json: bool = False


def search(options: Options) -> int:
    """Ask and print; the hits can be shown by number afterwards."""
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
        _print(query, document, options)
    return exits.DONE


def _print(query: str, document: output.Document, options: Options) -> None:
    hits = output.list_of(document, "hits")
    for number, hit in enumerate(hits, 1):
        output.line(f"{number:>3}  {describe(hit)}")
        output.line(f"     {output.excerpt(output.text_of(hit, 'text'), query)}")
    for warning in output.texts_of(document, "warnings"):
        output.note(f"warning: {warning}")
    if not hits:
        output.note(f"nothing found{_wider(options)}")
    elif sys.stdout.isatty():
        output.note(output.faint("`atrium show 1` shows the first one in its conversation"))


def _wider(options: Options) -> str:
    """Name what would look further than these options."""
    wider = [] if options.everywhere else ["--all"]
    wider += [] if options.lane == "substring" else ["--substring"]
    return f"; try {' or '.join(wider)}" if wider else ""


def superseded(hit: output.Document) -> str:
    """Say which record took the place of one, by the beginning of its id; empty for what holds."""
    newest = output.text_of(hit, "superseded_by")
    return f"superseded by {newest[:ID_CHARS]}" if newest else ""


def describe(hit: output.Document) -> str:
    """Say on one line when, by whom and where something was said."""
    place = output.text_of(hit, "note_path") or output.text_of(hit, "workspace")
    words = (
        output.age(output.text_of(hit, "authored_at")),
        output.text_of(hit, "provider"),
        output.text_of(hit, "role"),
        output.plain(output.text_of(hit, "author")),
        output.plain(place),
        superseded(hit),
    )
    return output.faint(" · ".join(word for word in words if word))
