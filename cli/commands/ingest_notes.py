"""`atrium ingest-notes`: index a tree of Markdown notes."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option
from cli.commands.capture import print_skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `ingest-notes` takes."""

    root: str
    provider: str
    exclude: tuple[str, ...]
    third_party: bool
    partial: bool
    watch: bool
    as_json: bool


@declare(
    "ingest-notes",
    Options,
    examples=(
        "atrium ingest-notes ~/notes",
        "atrium ingest-notes ~/notes --exclude sources --watch",
        "atrium ingest-notes ~/clippings --provider web --third-party",
    ),
)
@click.argument("root", metavar="ROOT")
@click.option(
    "--provider", default="brain", show_default=True, metavar="NAME", help="Name of this collection."
)
@click.option("--exclude", multiple=True, metavar="DIR", help="Skip directories of this name; repeatable.")
@click.option("--third-party", is_flag=True, help="Somebody else's text: found, but never given as context.")
@click.option("--partial", is_flag=True, help="Keep notes that the tree doesn't have any more.")
@click.option("--watch", is_flag=True, help="Stay and follow changes until Ctrl-C.")
@json_option
def command(options: Options) -> int:
    """Index a tree of Markdown notes; notes stay on this machine."""
    _ingest(options)
    if options.watch:
        _follow(options)
    return exits.DONE


def _ingest(options: Options) -> None:
    request = {
        "root": arguments.absolute(options.root),
        "provider": options.provider,
        "exclude": list(options.exclude),
        "third_party": options.third_party,
        "partial": options.partial,
    }
    with progress.shown() as report:
        document = call("ingest-notes", request, report)
    if options.as_json:
        output.print_json(document)
        return
    counts = [
        output.plural(output.number_of(document, "notes"), "note"),
        f"{output.plural(output.number_of(document, 'records'), 'record')} written",
        f"{output.number_of(document, 'unchanged'):,} unchanged",
        f"{output.number_of(document, 'removed'):,} removed",
    ]
    output.line(", ".join(counts))
    print_skipped(document)


def _follow(options: Options) -> None:
    import asyncio
    from contextlib import aclosing

    from node.watch import changes_below

    async def follow() -> None:
        async with aclosing(changes_below(arguments.absolute(options.root))) as batches:
            async for _changes in batches:
                await asyncio.to_thread(_ingest, options)

    output.note("following changes; Ctrl-C ends it")
    asyncio.run(follow())
