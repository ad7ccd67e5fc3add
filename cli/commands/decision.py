"""`atrium decision`: what was decided and why."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import output
from cli.client import call
from cli.command import declare, declare_family, json_option
from cli.commands.memory_lines import ID_CHARS
from cli.commands.memory_read import paged, shown
from cli.commands.memory_write import told


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `decision` takes by itself."""

    as_json: bool


@declare_family(
    "decision",
    Options,
    examples=(
        'atrium decision add "SQLite, no server" --rationale "one file to back up"',
        "atrium decision list --project tidewatch",
    ),
)
@json_option
def command(options: Options) -> int:
    """Keep what was decided and why; by itself, list the newest decisions."""
    return shown(call("decision.list", {}), row, as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """What `decision add` takes."""

    decision: str
    rationale: str | None
    alternatives: tuple[str, ...]
    task: str | None
    supersedes: tuple[str, ...]
    project: str | None
    private: bool
    space: str | None
    agent: str
    as_json: bool


@declare(
    "add",
    AddOptions,
    examples=(
        'atrium decision add "SQLite, no server" --rationale "one file to back up" --alternative PostgreSQL',
        'atrium decision add "PostgreSQL after all" --supersedes 77ab01ff',
    ),
)
@click.argument("decision", metavar="TEXT")
@click.option("--rationale", metavar="TEXT", help="Why.")
@click.option("--alternative", "alternatives", multiple=True, metavar="TEXT", help="What it was not.")
@click.option("--task", metavar="ID", help="The task that it was decided for.")
@click.option("--supersedes", multiple=True, metavar="ID", help="An older decision that it replaces.")
@click.option("--project", metavar="LABEL", help="The project that it is about.")
@click.option("--private", is_flag=True, help="Keep it on this node, never to be replicated.")
@click.option("--space", metavar="LABEL", help="The space that shares it; home where not given.")
@click.option("--agent", default="local", metavar="NAME", help="Who decided.", show_default=True)
@json_option
def add(options: AddOptions) -> int:
    """Keep a decision; it stays as it was said, and a later one can supersede it."""
    document = call(
        "decision.add",
        {
            "decision": options.decision,
            "rationale": options.rationale,
            "alternatives": options.alternatives,
            "task_id": options.task,
            "supersedes": options.supersedes,
            "project": options.project,
            "private": options.private,
            "space": options.space,
            "agent": options.agent,
        },
    )
    return told(document, "decided", as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What `decision list` takes."""

    project: str | None
    limit: int
    cursor: str | None
    as_json: bool


@declare("list", ListOptions, examples=("atrium decision list --project tidewatch",))
@click.option("--project", metavar="LABEL", help="Only decisions about this project.")
@paged
@json_option
def list_(options: ListOptions) -> int:
    """List decisions, the newest first."""
    request = {"project": options.project, "limit": options.limit, "cursor": options.cursor}
    return shown(call("decision.list", request), row, as_json=options.as_json)


def row(document: output.Document) -> None:
    """Print a decision, why it was taken, and what took its place."""
    words = [
        output.text_of(document, "agent") + "@" + output.text_of(document, "node"),
        output.age(output.text_of(document, "created_at")),
        output.text_of(document, "project"),
        "superseded" if document.get("superseded_by") else "",
    ]
    about = output.plain(" · ".join(word for word in words if word))
    output.line(f"{output.strong(output.text_of(document, 'id')[:ID_CHARS])}  {output.faint(about)}")
    for key, lead in (("decision", ""), ("rationale", "why: ")):
        for piece in output.plain(output.text_of(document, key)).splitlines():
            output.line(f"  {lead}{piece}")
    for alternative in output.texts_of(document, "alternatives"):
        output.line(f"  not: {' '.join(output.plain(alternative).split())}")


for _command in (add, list_):
    command.add_command(_command)
