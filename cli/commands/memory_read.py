"""`atrium memory get`, `list`, `history` and `conflicts`: what entries say and how they came to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import Function, declare, json_option
from cli.commands import memory_lines
from crdt.memory_kinds import KINDS

LIMIT = 50
_ID = click.argument("id", metavar="ID")


def paged(function: Function) -> Function:
    """Add `--limit` and `--cursor`."""
    limit = click.option(
        "--limit", type=int, default=LIMIT, show_default=True, metavar="N", help="At most so many."
    )
    cursor = click.option("--cursor", metavar="C", help="Go on where a page of --json ended.")
    return limit(cursor(function))


def shown(document: output.Document, line: Callable[[output.Document], None], *, as_json: bool) -> int:
    """Print a page, each item by `line`."""
    if as_json:
        output.print_json(document)
        return exits.DONE
    for item in output.list_of(document, "items"):
        line(item)
    if document.get("cursor"):
        output.note(f"there are more; --cursor {output.text_of(document, 'cursor')} shows them")
    return exits.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOptions:
    """What `memory get` takes."""

    id: str
    as_json: bool


@declare("get", GetOptions, examples=("atrium memory get 3f9a12c0",))
@_ID
@json_option
def get(options: GetOptions) -> int:
    """Show one entry; the beginning of its id is enough."""
    document = call("memory.get", {"id": options.id})
    if options.as_json:
        output.print_json(document)
    else:
        memory_lines.entry(document)
    return exits.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What `memory list` takes."""

    type: str | None
    tag: str | None
    project: str | None
    agent: str | None
    conflicts: bool
    deleted: bool
    limit: int
    cursor: str | None
    as_json: bool


@declare("list", ListOptions, examples=("atrium memory list --project tidewatch --tag network",))
@click.option("--type", type=click.Choice(KINDS), help="Only entries of this type.")
@click.option("--tag", metavar="T", help="Only entries with this tag.")
@click.option("--project", metavar="LABEL", help="Only entries of this project.")
@click.option("--agent", metavar="NAME", help="Only entries of this agent.")
@click.option("--conflicts", is_flag=True, help="Only entries with conflicts.")
@click.option("--deleted", is_flag=True, help="Deleted entries instead of the others.")
@paged
@json_option
def list_(options: ListOptions) -> int:
    """List entries, those changed last first."""
    request = asdict(options)
    as_json = bool(request.pop("as_json"))
    return shown(call("memory.list", request), memory_lines.row, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """What `memory history` takes."""

    id: str
    as_json: bool


@declare("history", HistoryOptions, examples=("atrium memory history 3f9a12c0",))
@_ID
@json_option
def history(options: HistoryOptions) -> int:
    """Show every version of an entry: when, by whom, what."""
    document = call("memory.history", {"id": options.id})
    return shown(document, memory_lines.version, as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictsOptions:
    """What `memory conflicts` takes."""

    id: str | None
    limit: int
    cursor: str | None
    as_json: bool


@declare("conflicts", ConflictsOptions, examples=("atrium memory conflicts", "atrium memory edit 3f9a12c0"))
@click.argument("id", required=False, metavar="[ID]")
@paged
@json_option
def conflicts(options: ConflictsOptions) -> int:
    """Show the texts that were written at the same time; `atrium memory edit` decides between them."""
    request = {"id": options.id, "limit": options.limit, "cursor": options.cursor}
    document = call("memory.conflicts", request)
    status = shown(document, memory_lines.conflict, as_json=options.as_json)
    if not options.as_json and not document.get("items"):
        output.line("no conflicts")
    return status
