"""`atrium memory`: entries of shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output
from cli.client import call
from cli.command import declare_family, json_option
from cli.commands import memory_change, memory_lines, memory_read, memory_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `memory` takes by itself."""

    as_json: bool


@declare_family(
    "memory",
    Options,
    examples=(
        'atrium memory add "the retry is capped at 30 s" --tag network',
        "atrium memory list --project tidewatch",
        "atrium memory edit 3f9a12c0",
    ),
)
@json_option
def command(options: Options) -> int:
    """Keep, find and change entries of shared memory; by itself, list those changed last."""
    document = call("memory.list", {})
    memory_read.shown(document, memory_lines.row, as_json=options.as_json)
    if not options.as_json and not document.get("items"):
        output.line('nothing is kept yet; `atrium memory add "…"` keeps a text')
    return exits.DONE


for _command in (
    memory_write.add,
    memory_read.get,
    memory_read.list_,
    memory_write.edit,
    memory_change.tag,
    memory_change.delete,
    memory_change.restore,
    memory_read.history,
    memory_change.revert,
    memory_read.conflicts,
    memory_change.accept,
):
    command.add_command(_command)
