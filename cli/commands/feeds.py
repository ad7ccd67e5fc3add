"""`atrium feeds`: exchange signed feeds with another machine by file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, declare_family, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `feeds` takes."""

    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What `feeds export` takes."""

    file: str
    space: tuple[str, ...]
    without_archive: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What `feeds import` takes."""

    file: str
    as_json: bool


@declare_family("feeds", Options, examples=("atrium feeds", "atrium feeds export ~/usb/feeds"))
@json_option
def command(options: Options) -> int:
    """List the signed feeds that are here; export and import them by file."""
    document = call("feeds.overview", {})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    for space in output.list_of(document, "spaces"):
        digest = output.text_of(space, "digest")[:12]
        output.line(f"{output.strong(output.plain(output.text_of(space, 'label')))}  digest {digest}")
        for feed in output.list_of(space, "feeds"):
            entries = output.plural(output.number_of(feed, "entries"), "entry", "entries")
            forked = "  FORKED: two nodes wrote it" if feed.get("forked") else ""
            name = output.plain(output.text_of(feed, "name"))
            output.line(f"  {name}  {output.text_of(feed, 'incarnation')}  {entries}{forked}")
    waiting = output.part_of(document, "pending")
    for reason in waiting:
        output.line(f"waiting: {output.number_of(waiting, reason)} ({reason})")
    return exits.DONE


@declare("export", ExportOptions, examples=("atrium feeds export ~/usb/feeds --space home",))
@click.argument("file", metavar="FILE")
@click.option("--space", multiple=True, metavar="SPACE", help="Only this space, by label or id; repeatable.")
@click.option("--without-archive", is_flag=True, help="Leave out the conversations, which are most of it.")
@json_option
def export(options: ExportOptions) -> int:
    """Write the feeds of all shared spaces, and the conversations that they name, to one file.

    A member of those spaces takes it in with `atrium feeds import`; nobody else can.
    """
    request = {
        "path": arguments.absolute(options.file),
        "spaces": list(options.space),
        "with_archive": not options.without_archive,
    }
    with progress.shown() as report:
        document = call("feeds.export", request, report)
    if options.as_json:
        output.print_json(document)
    else:
        spaces = output.plural(output.number_of(document, "spaces"), "space")
        pages = output.plural(output.number_of(document, "pages"), "page")
        blobs = _pieces(output.number_of(document, "blobs"))
        where = output.plain(output.text_of(document, "output"))
        output.line(f"wrote {spaces}, {pages} and {blobs} to {where}")
    return exits.DONE


@declare("import", ImportOptions, examples=("atrium feeds import ~/usb/feeds",))
@click.argument("file", metavar="FILE")
@json_option
def import_(options: ImportOptions) -> int:
    """Take in what another member's `atrium feeds export` wrote; ends with 1 where something is refused.

    Every entry is checked as if it came from a stranger.  Taking in the same file again changes nothing.
    """
    with progress.shown() as report:
        document = call("feeds.import", {"path": arguments.absolute(options.file)}, report)
    refused = output.texts_of(document, "refused")
    blobs = output.part_of(document, "blobs")
    damaged = output.number_of(blobs, "damaged")
    if options.as_json:
        output.print_json(document)
    else:
        entries = output.plural(output.number_of(document, "entries"), "new entry", "new entries")
        output.line(f"took in {entries} and {_pieces(output.number_of(blobs, 'taken'))}")
        pending = output.number_of(document, "pending")
        if pending:
            output.line(f"{pending} wait for something that is not here yet; `atrium feeds` says for what")
    for left in output.list_of(document, "passedOver"):
        why, hint = output.plain(output.text_of(left, "why")), output.plain(output.text_of(left, "hint"))
        output.note(f"passed over: {why}; {hint}")
    for sentence in refused:
        output.note(f"refused: {sentence}")
    if damaged:
        output.note(f"{_pieces(damaged)} not as named, left out; export the file again")
    return exits.BROKEN if refused or damaged else exits.DONE


def _pieces(count: int) -> str:
    """Count segments and fragments that wait for one, which are the same to whoever carries them."""
    return f"{output.plural(count, 'piece')} of the archive"


command.add_command(export)
command.add_command(import_)
