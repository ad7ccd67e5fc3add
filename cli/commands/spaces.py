"""`atrium spaces`: units of sharing and who belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import declare, declare_family, json_option

RIGHTS = ("read", "append", "moderate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `spaces` takes."""

    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions:
    """What `spaces create` takes."""

    label: str
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersOptions:
    """What `spaces members` takes."""

    space: str
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """What `spaces members add` takes."""

    space: str
    key: str
    right: tuple[str, ...]
    name: str | None
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOptions:
    """What `spaces members remove` takes."""

    space: str
    key: str
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateOptions:
    """What `spaces private` takes."""

    limit: int
    as_json: bool


@declare_family("spaces", Options, examples=("atrium spaces", "atrium spaces create team"))
@json_option
def command(options: Options) -> int:
    """List the spaces of this node, and say who belongs to them."""
    document = call("spaces", {})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    listed = output.list_of(document, "spaces")
    for space in listed:
        _print_space(space)
    if not listed:
        output.line("no spaces yet; the first capture makes `home` and `private`")
    return exits.DONE


@declare("create", CreateOptions, examples=("atrium spaces create team",))
@click.argument("label", metavar="LABEL")
@json_option
def create(options: CreateOptions) -> int:
    """Make a space that this node owns."""
    document = call("spaces.create", {"label": options.label})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    space = output.part_of(document, "space")
    said = "made" if document.get("created") else "is there already:"
    output.line(f"{said} {output.plain(output.text_of(space, 'label'))}  {output.text_of(space, 'id')[:12]}")
    return exits.DONE


@declare_family(
    "members",
    MembersOptions,
    examples=(
        "atrium spaces members home",
        "atrium spaces members add team KEY --name ben-desktop",
        "atrium spaces members remove team ben-desktop",
    ),
)
@click.option("--space", default="home", show_default=True, metavar="SPACE", help="Whose members to list.")
@json_option
def members(options: MembersOptions) -> int:
    """List the members of a space, add and remove them."""
    return _list(options)


@declare("list", MembersOptions, examples=("atrium spaces members list home",))
@click.argument("space", metavar="SPACE")
@json_option
def listed(options: MembersOptions) -> int:
    """List the members of a space, former ones too."""
    return _list(options)


@declare(
    "add",
    AddOptions,
    examples=(
        "atrium spaces members add home KEY --name desktop",
        "atrium spaces members add team KEY --right read",
    ),
)
@click.argument("space", metavar="SPACE")
@click.argument("key", metavar="KEY")
@click.option(
    "--right", multiple=True, type=click.Choice(RIGHTS), help="What the member may do; repeatable.  [usual]"
)
@click.option("--name", metavar="NAME", help="What people call the member's node.")
@json_option
def add(options: AddOptions) -> int:
    """Make a node a member by the KEY that its `atrium identity show` prints, or change its rights.

    Usual are all rights in home, whose members own it together, and read and append elsewhere.
    """
    request = {
        "space": options.space,
        "key": options.key,
        "rights": list(options.right),
        "name": options.name,
    }
    document = call("spaces.add-member", request)
    return _print_change(document, "is a member of", as_json=options.as_json)


@declare("remove", RemoveOptions, examples=("atrium spaces members remove team ben-desktop",))
@click.argument("space", metavar="SPACE")
@click.argument("key", metavar="MEMBER")
@json_option
def remove(options: RemoveOptions) -> int:
    """End a membership, by name or key; what the member said until now stays, later words count nowhere."""
    document = call("spaces.remove-member", {"space": options.space, "key": options.key})
    return _print_change(document, "is no member any more of", as_json=options.as_json)


@declare("private", PrivateOptions, examples=("atrium spaces private", 'atrium memory add --private "…"'))
@click.option("--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many.")
@json_option
def private(options: PrivateOptions) -> int:
    """Show what never leaves this machine; `--private` of memory and remember writes there."""
    document = call("spaces.private", {"limit": options.limit})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    records = output.list_of(document, "records")
    for record in records:
        head = f"{output.text_of(record, 'id')[:8]}  {output.text_of(record, 'type')}"
        output.line(f"{head} · {output.age(output.text_of(record, 'updated'))}")
        output.line(f"  {output.plain(output.text_of(record, 'headline'))}")
    if not records:
        output.line('nothing is private yet; `atrium memory add --private "…"` keeps a text on this machine')
    return exits.DONE


def _list(options: MembersOptions) -> int:
    document = call("spaces.members", {"space": options.space})
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    for member in output.list_of(output.part_of(document, "space"), "members"):
        _print_member(member)
    return exits.DONE


def _print_space(space: output.Document) -> None:
    label = output.strong(output.plain(output.text_of(space, "label")))
    owner = output.part_of(space, "owner")
    whose = "" if space.get("mine") else f" · of {output.plain(output.text_of(owner, 'name'))}"
    counts = [
        output.plural(len(output.list_of(space, "members")), "member"),
        output.plural(output.number_of(space, "entries"), "entry", "entries"),
    ]
    kind = {"private": "never leaves this machine", "home": "all of one person's machines"}
    said = kind.get(output.text_of(space, "kind"), "shared")
    output.line(f"{label}  {output.text_of(space, 'id')[:12]}  {said}{whose} · {' · '.join(counts)}")


def _print_member(member: output.Document) -> None:
    marks = [
        *(["this node"] if member.get("self") else []),
        *(["owner"] if member.get("owner") else []),
        *(["removed"] if member.get("removed") else [" ".join(output.texts_of(member, "rights"))]),
    ]
    name = output.strong(output.plain(output.text_of(member, "name")))
    output.line(f"{name}  {' · '.join(marks)}")
    output.line(output.faint(f"  {output.text_of(member, 'fingerprint')}"))


def _print_change(document: output.Document, said: str, *, as_json: bool) -> int:
    if as_json:
        output.print_json(document)
        return exits.DONE
    space, member = output.part_of(document, "space"), output.part_of(document, "member")
    label = output.plain(output.text_of(space, "label"))
    already = "" if document.get("changed") else " (nothing changed)"
    output.line(f"{output.plain(output.text_of(member, 'name'))} {said} {label}{already}")
    return exits.DONE


members.otherwise = "list"
for _member_command in (listed, add, remove):
    members.add_command(_member_command)
_commands: tuple[click.Command, ...] = (create, members, private)
for _command in _commands:
    command.add_command(_command)
