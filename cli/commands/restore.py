"""`atrium restore`: make a backup the data of this state directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cli import arguments, exits, output, progress
from cli.command import declare, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `restore` takes."""

    directory: str
    replace: bool
    as_json: bool


@declare("restore", Options, examples=("atrium restore /mnt/disk/atrium", "atrium restore DIR --replace"))
@click.argument("directory", metavar="DIR")
@click.option(
    "--replace", is_flag=True, help="Set aside what this state directory holds; nothing is deleted."
)
@json_option
def command(options: Options) -> int:
    """Put a backup in place, every file of it checked first; the node must be down.

    What this node writes afterwards begins a new incarnation of its feed, so that it can't contradict what
    others have from it.
    """
    from node.config import load
    from node.lock import StateLock
    from node.services.restore import restore
    from node.state import refuse_doubtful

    config = load()
    refuse_doubtful(config.state)
    backup = Path(arguments.absolute(options.directory))
    config.paths.create()
    with StateLock.acquire(config.paths.lock, "atrium restore", timeout_s=0), progress.shown() as report:
        document = restore(backup, config.paths, report, replace=options.replace)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    output.line(f"restored {output.plural(output.number_of(document, 'files'), 'file')}")
    aside = output.text_of(document, "setAside")
    if aside:
        output.line(f"what was here before is in {aside}, in the state directory")
    if document.get("identity") == "none":
        output.line("without a key: this node gets a new one; `atrium identity restore FILE` brings the old")
    output.line("`atrium up` starts the node and makes the index")
    return exits.DONE
