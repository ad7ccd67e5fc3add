"""`atrium memory`: entries of shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output
from cli.client import call
from cli.command import declare_family, json_option


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
    from cli.commands import memory_lines, memory_read

    document = call("memory.list", {})
    memory_read.shown(document, memory_lines.row, as_json=options.as_json)
    if not options.as_json and not document.get("items"):
        output.line('nothing is kept yet; `atrium memory add "…"` keeps a text')
    return exits.DONE


for _name, _module, _attribute in (
    ("add", "memory_write", "add"),
    ("get", "memory_read", "get"),
    ("list", "memory_read", "list_"),
    ("edit", "memory_write", "edit"),
    ("tag", "memory_change", "tag"),
    ("delete", "memory_change", "delete"),
    ("restore", "memory_change", "restore"),
    ("history", "memory_read", "history"),
    ("revert", "memory_change", "revert"),
    ("conflicts", "memory_read", "conflicts"),
    ("accept", "memory_change", "accept"),
):
    command.place_command(_name, f"cli.commands.{_module}", _attribute)
