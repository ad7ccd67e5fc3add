"""`atrium memory tag`, `delete`, `restore`, `revert` and `accept`: what becomes of an entry."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import Function, declare, json_option
from cli.commands.memory_write import told

_ID = click.argument("id", metavar="ID")


def _agent(function: Function) -> Function:
    """Add `--agent`."""
    return click.option("--agent", default="local", metavar="NAME", help="Who does it.", show_default=True)(
        function
    )


def _if_version(function: Function) -> Function:
    """Add `--if-version`."""
    return click.option("--if-version", type=int, metavar="N", help="Only if this is still the version.")(
        function
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOptions:
    """What `memory tag` takes."""

    id: str
    add: tuple[str, ...]
    remove: tuple[str, ...]
    agent: str
    as_json: bool


@declare("tag", TagOptions, examples=("atrium memory tag 3f9a12c0 --add network --remove draft",))
@_ID
@click.option("--add", multiple=True, metavar="T", help="A tag to add; any number of them.")
@click.option("--remove", multiple=True, metavar="T", help="A tag to remove; any number of them.")
@_agent
@json_option
def tag(options: TagOptions) -> int:
    """Add tags to an entry and remove tags from it."""
    request = {"id": options.id, "add": options.add, "remove": options.remove, "agent": options.agent}
    return told(call("memory.tag", request), "tagged", as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """What `memory delete` takes."""

    ids: tuple[str, ...]
    agent: str
    if_version: int | None
    as_json: bool


@declare("delete", DeleteOptions, examples=("atrium memory delete 3f9a12c0 77ab01ff",))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@_agent
@_if_version
@json_option
def delete(options: DeleteOptions) -> int:
    """Delete entries: all that are named, or none; `restore` brings them back."""
    request = {"ids": options.ids, "agent": options.agent, "if_version": options.if_version}
    document = call("memory.delete", request)
    if options.as_json:
        output.print_json(document)
    else:
        for item in output.list_of(document, "items"):
            output.line(f"deleted {output.text_of(item, 'id')}")
    return exits.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """What `memory restore` takes."""

    id: str
    agent: str
    as_json: bool


@declare("restore", RestoreOptions, examples=("atrium memory restore 3f9a12c0",))
@_ID
@_agent
@json_option
def restore(options: RestoreOptions) -> int:
    """Bring a deleted entry back."""
    request = {"id": options.id, "agent": options.agent}
    return told(call("memory.restore", request), "restored", as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertOptions:
    """What `memory revert` takes."""

    id: str
    version: int
    agent: str
    if_version: int | None
    as_json: bool


@declare("revert", RevertOptions, examples=("atrium memory revert 3f9a12c0 --version 2",))
@_ID
@click.option("--version", type=int, required=True, metavar="N", help="A version that `history` shows.")
@_agent
@_if_version
@json_option
def revert(options: RevertOptions) -> int:
    """Make an earlier version of an entry the newest one; nothing between is lost."""
    request = {
        "id": options.id,
        "version": options.version,
        "agent": options.agent,
        "if_version": options.if_version,
    }
    return told(call("memory.revert", request), "reverted", as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptOptions:
    """What `memory accept` takes."""

    id: str
    as_json: bool


@declare("accept", AcceptOptions, examples=("atrium memory accept 3f9a12c0",))
@_ID
@json_option
def accept(options: AcceptOptions) -> int:
    """Make a directive that came from elsewhere active on this node, with exactly its present text."""
    return told(call("memory.accept", {"id": options.id}), "accepted", as_json=options.as_json)
