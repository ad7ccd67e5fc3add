"""`atrium project`: what several agents work on together."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import Function, declare, declare_family, json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `project` and `project list` take."""

    space: str | None
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions:
    """What `project create` takes."""

    label: str
    is_open: bool | None
    space: str | None
    agent: str
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """What `project show` and `project members list` take."""

    label: str
    space: str | None
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersOptions:
    """What `project members add` and `remove` take."""

    label: str
    members: tuple[str, ...]
    space: str | None
    agent: str
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """What `project members` takes by itself."""


def space_option(function: Function) -> Function:
    """Add `--space`."""
    text = "The space it is in, by label or the beginning of its id."
    return click.option("--space", metavar="SPACE", help=text)(function)


def agent_option(function: Function) -> Function:
    """Add `--agent`."""
    text = "Who says it."
    return click.option("--agent", default="local", show_default=True, metavar="NAME", help=text)(function)


@declare_family("project", Options, examples=("atrium project", "atrium project create tidewatch --open"))
@space_option
@json_option
def command(options: Options) -> int:
    """List projects, make them, and say who takes part."""
    return _list(options)


@declare("list", Options, examples=("atrium project list",))
@space_option
@json_option
def listed(options: Options) -> int:
    """List the projects of all spaces."""
    return _list(options)


@declare(
    "create",
    CreateOptions,
    examples=("atrium project create tidewatch", "atrium project create tidewatch --open"),
)
@click.argument("label", metavar="LABEL")
@click.option(
    "--open/--closed", "is_open", default=None, help="Whether every member of the space takes part.  [closed]"
)
@space_option
@agent_option
@json_option
def create(options: CreateOptions) -> int:
    """Make a project, or open or close one that is there."""
    document = call(
        "projects.create",
        {"label": options.label, "is_open": options.is_open, "space": options.space, "agent": options.agent},
    )
    said = (
        "made" if document.get("created") else "changed" if document.get("changed") else "is there already:"
    )
    return _print_change(document, said, as_json=options.as_json)


@declare("show", ShowOptions, examples=("atrium project show tidewatch",))
@click.argument("label", metavar="LABEL")
@space_option
@json_option
def show(options: ShowOptions) -> int:
    """Show a project and who takes part."""
    return _show(options)


@declare_family(
    "members",
    NoOptions,
    examples=("atrium project members tidewatch", "atrium project members add tidewatch builder@desktop"),
)
def members(options: NoOptions) -> int:  # noqa: ARG001 - the common shape
    """List who takes part in a project, add and remove agents."""
    output.line(click.get_current_context().get_help())
    return exits.DONE


@declare("list", ShowOptions, examples=("atrium project members list tidewatch",))
@click.argument("label", metavar="LABEL")
@space_option
@json_option
def members_listed(options: ShowOptions) -> int:
    """Show a project and who takes part."""
    return _show(options)


def _member_arguments(function: Function) -> Function:
    label = click.argument("label", metavar="LABEL")
    named = click.argument("members", metavar="AGENT@NODE…", nargs=-1, required=True)
    return label(named(space_option(agent_option(json_option(function)))))


@declare("add", MembersOptions, examples=("atrium project members add tidewatch builder@desktop",))
@_member_arguments
def add(options: MembersOptions) -> int:
    """Let agents take part in a project."""
    return _change(options, "projects.add-members")


@declare("remove", MembersOptions, examples=("atrium project members remove tidewatch builder@desktop",))
@_member_arguments
def remove(options: MembersOptions) -> int:
    """End the part of agents in a project."""
    return _change(options, "projects.remove-members")


def _change(options: MembersOptions, use_case: str) -> int:
    request = {
        "label": options.label,
        "members": list(options.members),
        "space": options.space,
        "agent": options.agent,
    }
    document = call(use_case, request)
    said = "changed" if document.get("changed") else "stays as it is:"
    return _print_change(document, said, as_json=options.as_json)


def _list(options: Options) -> int:
    document = call("projects.list", {"space": options.space})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    projects = output.list_of(document, "projects")
    for project in projects:
        output.line(_row(project))
    if not projects:
        output.line("no projects yet; `atrium project create LABEL` makes one")
    return exits.DONE


def _show(options: ShowOptions) -> int:
    document = call("projects.show", {"label": options.label, "space": options.space})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    project = output.part_of(document, "project")
    output.line(_row(project))
    for member in output.texts_of(project, "members"):
        output.line(f"  {output.plain(member)}")
    return exits.DONE


def _print_change(document: output.Document, said: str, *, as_json: bool) -> int:
    if as_json:
        output.print_json(document)
    else:
        output.line(f"{said} {_row(output.part_of(document, 'project'))}")
    return exits.DONE


def _row(project: output.Document) -> str:
    label = output.strong(output.plain(output.text_of(project, "label")))
    count = output.plural(len(output.texts_of(project, "members")), "member")
    words = [
        "open" if project.get("open") else "closed",
        f"in {output.text_of(project, 'space')}",
        f"of {output.text_of(project, 'owner')}",
        count,
    ]
    return f"{label}  {output.plain(' · '.join(words))}"


members.otherwise = "list"
for _member_command in (members_listed, add, remove):
    members.add_command(_member_command)
_commands: tuple[click.Command, ...] = (listed, create, show, members)
for _command in _commands:
    command.add_command(_command)
