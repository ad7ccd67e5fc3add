"""`atrium identity`: this node's key."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from cli import arguments, exits, output
from cli.client import call
from cli.command import Function, declare, declare_family, json_option
from crdt.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `identity` and `identity show` take."""

    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupOptions:
    """What `identity backup` takes."""

    file: str
    take_next: bool
    passphrase: bool
    passphrase_stdin: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """What `identity restore` takes."""

    file: str
    leave_next: bool
    passphrase: bool
    passphrase_stdin: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeOptions:
    """What `identity revoke` takes."""

    source: str | None
    yes: bool
    passphrase: bool
    passphrase_stdin: bool
    as_json: bool


def passphrase_options(function: Function) -> Function:
    """Add the two ways to give a passphrase; neither puts it where other users see it."""
    asked = click.option("--passphrase", is_flag=True, help="Ask for a passphrase on this terminal.")
    piped = click.option("--passphrase-stdin", is_flag=True, help="Read a passphrase from standard input.")
    return asked(piped(function))


@declare_family("identity", Options, examples=("atrium identity", "atrium identity backup ~/usb/atrium.key"))
@json_option
def command(options: Options) -> int:
    """Show this node's key, back it up, put it back, or revoke it."""
    return _show(as_json=options.as_json)


@declare("show", Options, examples=("atrium identity show",))
@json_option
def show(options: Options) -> int:
    """Show this node's fingerprint, its spaces, and the key that `spaces members add` takes elsewhere."""
    return _show(as_json=options.as_json)


@declare(
    "backup",
    BackupOptions,
    examples=(
        "atrium identity backup ~/usb/atrium.key --passphrase",
        "atrium identity backup ~/usb/atrium.key --take-next",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--take-next", is_flag=True, help="Leave no copy of the promised key here: a thief needs both.")
@passphrase_options
@json_option
def backup(options: BackupOptions) -> int:
    """Write this node's key, and the one that is promised to follow it, to a new file for elsewhere."""
    request = {
        "path": arguments.absolute(options.file),
        "take_next": options.take_next,
        "passphrase": _passphrase(options, is_new=True),
    }
    document = call("identity.backup", request)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    sealed = "sealed with your passphrase" if document.get("sealed") else "readable by whoever has the file"
    output.line(f"written to {output.plain(output.text_of(document, 'output'))}, {sealed}")
    if output.text_of(document, "nextKey") == "elsewhere":
        output.line("the promised key is in that file alone now: keep it away from this machine")
    return exits.DONE


@declare("restore", RestoreOptions, examples=("atrium identity restore ~/usb/atrium.key",))
@click.argument("file", metavar="FILE")
@click.option("--leave-next", is_flag=True, help="Leave the promised key in the backup.")
@passphrase_options
@json_option
def restore(options: RestoreOptions) -> int:
    """Put a backup's key into a state directory that has none."""
    request = {
        "path": arguments.absolute(options.file),
        "leave_next": options.leave_next,
        "passphrase": _passphrase(options, is_new=False),
    }
    document = call("identity.restore", request)
    if options.as_json:
        output.print_json(document)
        return exits.DONE
    said = "this node is now" if document.get("restored") else "this node already is"
    output.line(f"{said} {output.text_of(document, 'fingerprint')}")
    return exits.DONE


@declare(
    "revoke",
    RevokeOptions,
    examples=("atrium identity revoke", "atrium identity revoke --from ~/usb/atrium.key --yes"),
)
@click.option("--from", "source", metavar="FILE", help="A backup that has the promised key.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@passphrase_options
@json_option
def revoke(options: RevokeOptions) -> int:
    """Put the promised key in the place of this node's, when that may be in somebody else's hands.

    Where the machine itself was stolen: put the backup into a new state directory by `identity restore`, then
    do this there.  What the old key says from now on counts nowhere.
    """
    request: dict[str, object] = {
        "source": None if options.source is None else arguments.absolute(options.source),
        "passphrase": _passphrase(options, is_new=False),
    }
    document = call("identity.revoke", request)
    if not options.as_json:
        _print_revocation(document)
    if options.yes or (not options.as_json and _is_wanted()):
        document = call("identity.revoke", {**request, "apply": True})
        if not options.as_json:
            output.line(f"this node is now {output.text_of(output.part_of(document, 'new'), 'fingerprint')}")
            output.line("back it up again: `atrium identity backup FILE --take-next`")
    elif not options.as_json:
        output.note("nothing was changed; `atrium identity revoke --yes` does it")
    if options.as_json:
        output.print_json(document)
    return exits.DONE


def _show(*, as_json: bool) -> int:
    document = call("identity", {})
    if as_json:
        output.print_json(document)
        return exits.DONE
    is_here = output.text_of(document, "nextKey") == "here"
    takes = "on this machine; `atrium identity backup FILE --take-next` takes it elsewhere"
    spaces = [
        output.text_of(space, "label") + (" (owner)" if space.get("owner") else "")
        for space in output.list_of(document, "spaces")
    ]
    output.table(
        [
            ("fingerprint", output.strong(output.text_of(document, "fingerprint"))),
            ("key", output.text_of(document, "key")),
            ("created", output.text_of(document, "created")),
            ("next key", takes if is_here else "elsewhere, promised"),
            ("spaces", output.plain(", ".join(spaces)) or "none yet"),
        ]
    )
    for former in output.texts_of(document, "former"):
        output.note(f"before this key, {former[:8]} wrote here; `atrium identity restore` takes its backup")
    return exits.DONE


def _print_revocation(document: output.Document) -> None:
    old, new = output.part_of(document, "old"), output.part_of(document, "new")
    output.line(f"revokes       {output.text_of(old, 'fingerprint')}")
    output.line(f"in favour of  {output.text_of(new, 'fingerprint')}")
    for space in output.list_of(document, "spaces"):
        output.line(f"  in {output.plain(output.text_of(space, 'label'))}")
    for space in output.list_of(document, "unpromised"):
        label = output.plain(output.text_of(space, "label"))
        output.line(f"  not in {label}, whose owner was never told the promise and has to add the new key")


def _is_wanted() -> bool:
    return sys.stdin.isatty() and click.confirm("revoke it?", err=True)


def _passphrase(options: BackupOptions | RestoreOptions | RevokeOptions, *, is_new: bool) -> str | None:
    if options.passphrase_stdin:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise BadInput("there is no passphrase on standard input", hint="pipe one line into the command")
        return line
    if not options.passphrase:
        return None
    if not sys.stdin.isatty():
        raise BadInput("there is no terminal to ask on", hint="use --passphrase-stdin")
    asked: str = click.prompt("passphrase", hide_input=True, confirmation_prompt=is_new, err=True)
    return asked


for _command in (show, backup, restore, revoke):
    command.add_command(_command)
