"""Find the command that was asked for, run it, and map whatever goes wrong to an exit status, once.

Nothing heavy is imported before the command is known.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import click

from cli import exits
from cli.command import CONTEXT, Commands
from crdt.errors import AtriumError
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
        "gaps": "Questions that found nothing.",
    },
    "Take in and give out": {
        "capture": "Read the transcripts of this machine's agents.",
        "ingest": "Take in an archive file.",
        "ingest-notes": "Index a tree of Markdown notes.",
        "export": "Write the archive to one file.",
    },
    "Look after": {
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


def main() -> None:
    """Run the command of this process and end with its status."""
    _speak_utf8()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; every error becomes a status and at most three lines on standard error."""
    try:
        with group.make_context("atrium", list(arguments)) as context:
            status = group.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        return exits.usage(error)
    except AtriumError as error:
        return exits.known(error)
    except (KeyboardInterrupt, click.Abort):
        return exits.interrupted()
    except BrokenPipeError:
        return exits.pipe_closed()
    except OSError as error:
        return exits.system(error)
    except Exception as error:
        return exits.unexpected(error)
    return status if isinstance(status, int) else exits.DONE


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says, and never fail at a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _print_version(context: click.Context) -> None:
    click.echo(f"atrium {VERSION}")
    context.exit()


if __name__ == "__main__":
    main()
