"""`atrium up`: set up, import transcripts, start the node."""

from __future__ import annotations

import os
from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import state_paths
from cli.command import declare
from cli.commands.capture import print_skipped, print_summary
from cli.node_process import Running, find_running, start
from crdt.errors import DiskFull
from node.paths import StatePaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `up` takes."""

    foreground: bool
    detached: bool
    port: int | None


@declare("up", Options, examples=("atrium up", "atrium up --port 7717", "atrium up --foreground"))
@click.option("--foreground", is_flag=True, help="Run the node in this terminal, without importing first.")
@click.option("--port", type=int, metavar="N", help="Port of the local listener; 7707 by default.")
@click.option("--detached", is_flag=True, hidden=True)
def command(options: Options) -> int:
    """Set up the state directory, import the transcripts of this machine's agents and start the node."""
    return _run_here(options) if options.foreground else _start(options)


def _start(options: Options) -> int:
    from node.config import load
    from node.state import refuse_doubtful

    config = load(_overrides(options))
    refuse_doubtful(config.state)
    paths = state_paths()
    running = find_running(paths)
    if running is not None:
        output.line(f"already running: {running.address}, process {running.pid}")
        return exits.DONE
    paths.create()
    output.line(f"state directory: {exits.shown(paths.root)}")
    found = _import_transcripts()
    flags = [] if options.port is None else ["--port", str(options.port)]
    _print_next(paths, start(paths, flags), found=found)
    return exits.DONE


def _import_transcripts() -> bool:
    """Import what agents left on this machine; False where there are no transcripts, or no room for them."""
    from pathlib import Path

    from cli.client import call
    from node.config import capture_roots, load

    roots = capture_roots(load())
    present = {
        name: [folder for folder in folders if Path(folder).is_dir()] for name, folders in roots.items()
    }
    names = [name for name, folders in present.items() if folders]
    if not names:
        output.line("no transcripts of agents were found on this machine")
        return False
    output.line(f"importing transcripts of {', '.join(names)}; Ctrl-C is safe, the next run goes on")
    try:
        with progress.shown(lines=True) as report:
            document = call("capture", {"roots": present}, report)
    except DiskFull as error:
        # A node still answers, and keeps what is small.
        output.note(f"warning: {error.detail}; the node imports them once there is room")
        return False
    print_summary(document)
    print_skipped(document)
    return True


def _print_next(paths: StatePaths, running: Running, *, found: bool) -> None:
    output.line(f"the node runs: {output.strong(running.address)}, process {running.pid}")
    output.line(f"its log: {exits.shown(paths.log)}")
    output.line("try next:")
    if found:
        output.line("  atrium search WORDS           find what was said, in the repository around you")
        output.line("  atrium search --all WORDS     the same in every project")
        output.line("  atrium context QUESTION       evidence for a question")
    else:
        output.line("  atrium demo                   import a small sample and search it")
        output.line("  atrium ingest-notes DIR       index your Markdown notes")
    output.line("  atrium status                 what is there, and how fresh")


def _run_here(options: Options) -> int:
    from node.config import load
    from node.foreground import run

    config = load(_overrides(options))

    def announce(port: int) -> None:
        if options.detached:
            # A service must not keep the directory busy in which it happened to be started.
            os.chdir(config.paths.root)
        else:
            output.line(f"the node runs: http://127.0.0.1:{port}; Ctrl-C stops it")

    return run(config, announce)


def _overrides(options: Options) -> dict[str, object]:
    return {"node.port": options.port}
