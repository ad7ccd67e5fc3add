"""`atrium help`: explain a command."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.command import declare


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `help` takes."""

    name: str | None


@declare("help", Options, examples=("atrium help", "atrium help search"))
@click.argument("name", required=False, metavar="COMMAND")
def command(options: Options) -> int:
    """Explain a command, or list them all."""
    parent = click.get_current_context().find_root()
    if options.name is None:
        output.line(parent.get_help())
        return exits.DONE
    group = parent.command
    assert isinstance(group, click.Group)  # noqa: S101 - the root of this program is a group
    name, found, _ = group.resolve_command(parent, [options.name])
    assert found is not None  # noqa: S101 - an unknown command was refused one line above
    output.line(found.get_help(click.Context(found, info_name=name, parent=parent)))
    return exits.DONE
