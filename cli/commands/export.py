"""`atrium export`: write the archive, or shared memory, to one file."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option
from crdt.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `export` takes."""

    file: str
    everything: bool
    partial: bool
    memory: bool
    private: bool
    as_json: bool


@declare(
    "export",
    Options,
    examples=(
        "atrium export archive.jsonl",
        "atrium export everything.jsonl --all",
        "atrium export memory.jsonl --memory",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--all", "everything", is_flag=True, help="Also conversations that a later ingest removed.")
@click.option("--partial", is_flag=True, help="Write what can be read where something is damaged.")
@click.option("--memory", is_flag=True, help="Shared memory with its history, instead of the archive.")
@click.option("--private", is_flag=True, help="With --memory: also what never leaves this node.")
@json_option
def command(options: Options) -> int:
    """Write every archived conversation to one file that `atrium ingest` reads, with its manifest.

    With --memory, write every record of shared memory to a file that `atrium import` reads.
    """
    if options.memory:
        return _memory(options)
    if options.private:
        raise BadInput("--private belongs to --memory", hint="add --memory, or leave it out")
    request = {
        "path": arguments.absolute(options.file),
        "everything": options.everything,
        "partial": options.partial,
    }
    with progress.shown() as report:
        document = call("export", request, report)
    if options.as_json:
        output.print_json(document)
    else:
        count = output.plural(output.number_of(document, "records"), "conversation")
        output.line(f"{count} written to {output.plain(output.text_of(document, 'output'))}")
        skipped = output.number_of(document, "skipped")
        if skipped:
            what = output.plural(skipped, "conversation")
            output.note(f"left out: {what} that can't be read; run `atrium doctor --deep`")
    return exits.DONE


def _memory(options: Options) -> int:
    if options.everything or options.partial:
        raise BadInput("--all and --partial are about the archive", hint="leave them out with --memory")
    request = {"path": arguments.absolute(options.file), "private": options.private}
    with progress.shown() as report:
        document = call("memory.export", request, report)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    records = output.plural(output.number_of(document, "records"), "record")
    versions = output.plural(output.number_of(document, "operations"), "version")
    output.line(f"{records}, {versions}, written to {output.plain(output.text_of(document, 'output'))}")
    return exits.DONE
