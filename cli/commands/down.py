"""`atrium down`: stop the node."""

from __future__ import annotations

from dataclasses import dataclass

from cli import exits, output
from cli.client import state_paths
from cli.command import declare
from cli.node_process import stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `down` takes: nothing."""


@declare("down", Options, examples=("atrium down",))
def command(options: Options) -> int:  # noqa: ARG001 - all commands have the same form
    """Stop the node; what it writes is finished first."""
    output.line("stopped" if stop(state_paths()) else "not running")
    return exits.DONE
