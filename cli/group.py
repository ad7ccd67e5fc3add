"""Find the command that was asked for and run it.

Commands are listed here by name and one line; their modules are imported when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from cli import exits
from cli.command import CONTEXT, Commands
from node.version import VERSION

TABLE: dict[str, dict[str, str]] = {
    "Start": {
        "up": "Set up, import transcripts, start the node.",
        "down": "Stop the node.",
        "demo": "Import a small sample and search it.",
        "status": "Counts, ages and the digest.",
        "doctor": "What is wrong, and what mends it.",
    },
    "Find": {
        "search": "Find what was said, by words or fragments.",
        "show": "Show a hit in its conversation.",
        "context": "Evidence for a question, for agents.",
        "recall": "What was kept about this project.",
        "file-context": "What was kept about one file.",
        "gaps": "Questions that found nothing.",
    },
    "Shared memory": {
        "remember": "Keep a statement about a project.",
        "memory": "Keep, find and change entries.",
        "decision": "Keep what was decided and why.",
        "project": "What several agents work on together.",
        "spaces": "What is shared, and with whom.",
    },
    "Take in and give out": {
        "capture": "Read the transcripts of this machine's agents.",
        "ingest": "Take in an archive file.",
        "ingest-notes": "Index a tree of Markdown notes.",
        "export": "Write the archive, or shared memory, to one file.",
        "import": "Take in shared memory from a file.",
        "ingest-synthesis": "Take in the mirror of statements.",
        "feeds": "Exchange signed feeds with another machine by file.",
    },
    "Look after": {
        "backup": "Copy the state to another directory.",
        "restore": "Make a backup the data of this state directory.",
        "verify": "Check every hash, signature, chain and segment.",
        "compact": "What could be dropped of what is old.",
        "identity": "This node's key: show, back up, revoke.",
        "redact": "Apply today's redaction to the whole archive.",
        "rebuild": "Make the index anew.",
        "prepare-context": "Make the indexes that context reads.",
        "help": "Explain a command.",
    },
}
HELP = """The shared memory of people and teams who work with AI coding agents.

\b
  atrium up                              set up, import transcripts, start the node
  atrium search connection pool          find what was said, in this repository
  atrium search --all --substring WAL    letters inside words, in every project
  atrium show 1                          the first hit in its conversation
  atrium context "why the retry?" --json evidence for an agent
"""


@click.pass_context
def _without_command(context: click.Context) -> int:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return exits.DONE


group = Commands(
    "cli.commands",
    TABLE,
    name="atrium",
    help=HELP,
    callback=_without_command,
    invoke_without_command=True,
    context_settings=CONTEXT,
)
group.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda context, _parameter, given: _print_version(context) if given else None,
        help="Print the version.",
    )
)


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit status; every error has become one."""
    return exits.guarded(lambda: _run(list(arguments)))


def _run(arguments: list[str]) -> int:
    try:
        with group.make_context("atrium", arguments) as context:
            status = group.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort as abort:
        raise KeyboardInterrupt from abort
    except click.ClickException as error:
        return exits.usage(error.format_message(), _command_of(error))
    return status if isinstance(status, int) else exits.DONE


def _command_of(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return context.command_path if context is not None else "atrium"


def _print_version(context: click.Context) -> None:
    click.echo(f"atrium {VERSION}")
    context.exit()
