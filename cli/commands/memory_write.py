"""`atrium memory add` and `edit`: what an entry says."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from cli import exits, output
from cli.client import call
from cli.command import Function, declare, json_option
from cli.commands import memory_text
from crdt.errors import BadInput
from crdt.memory_kinds import KINDS, SCOPES

NEVER = "never"
_TEXT = click.argument("text", required=False, metavar="[TEXT|-]")
_TYPES = [kind for kind in KINDS if kind != "compiled"]


def _fields(function: Function) -> Function:
    """Add the options that set fields."""
    options = (
        click.option("--project", metavar="LABEL", help="The project that it is about."),
        click.option("--confidence", type=float, metavar="X", help="How sure it is, 0 to 1."),
        click.option("--expires", metavar="RFC3339", help=f"When it ends to be true; `{NEVER}` for none."),
        click.option("--parent", "parents", multiple=True, metavar="ID", help="What it was made of."),
        click.option("--headline", "--title", metavar="TEXT", help="One line for lists."),
        click.option("--agent", default="local", metavar="NAME", help="Who says it.", show_default=True),
    )
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """What `memory add` takes."""

    text: str | None
    type: str
    scope: str
    private: bool
    space: str | None
    tags: tuple[str, ...]
    collaborative: bool
    project: str | None
    confidence: float | None
    expires: str | None
    parents: tuple[str, ...]
    headline: str | None
    agent: str
    as_json: bool


@declare(
    "add",
    AddOptions,
    examples=(
        'atrium memory add "the retry is capped at 30 s" --tag network',
        "atrium memory add - --type doc --title Deploying < deploy.md",
    ),
)
@_TEXT
@click.option("--type", type=click.Choice(_TYPES), default="memory", show_default=True, help="What it is.")
@click.option("--scope", type=click.Choice(SCOPES), default="project", help="`agent` keeps it on this node.")
@click.option("--private", is_flag=True, help="Keep it on this node, never to be replicated.")
@click.option("--space", metavar="LABEL", help="The space that shares it; home where not given.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A tag; any number of them.")
@click.option("--collaborative", is_flag=True, help="Of a doc: several people may edit it at once.")
@_fields
@json_option
def add(options: AddOptions) -> int:
    """Keep a text in shared memory: an argument, standard input, or what is typed in $EDITOR."""
    document = call(
        "memory.add",
        {
            "text": memory_text.given(options.text),
            "type": options.type,
            "scope": options.scope,
            "private": options.private,
            "space": options.space,
            "tags": options.tags,
            "project": options.project,
            "confidence": options.confidence,
            "expires_at": None if options.expires == NEVER else options.expires,
            "parents": options.parents,
            "headline": options.headline,
            "collaborative": options.collaborative,
            "agent": options.agent,
        },
    )
    return told(document, "added", as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """What `memory edit` takes."""

    id: str
    text: str | None
    type: str | None
    project: str | None
    confidence: float | None
    expires: str | None
    parents: tuple[str, ...]
    headline: str | None
    agent: str
    if_version: int | None
    as_json: bool

    def fields(self) -> dict[str, object]:
        """Give the fields to set; an empty text takes one away."""
        given: dict[str, object] = {
            "type": self.type,
            "project": self.project,
            "confidence": self.confidence,
            "expires_at": "" if self.expires == NEVER else self.expires,
            "parents": [parent for parent in self.parents if parent] if self.parents else None,
            "headline": self.headline,
        }
        return {
            name: None if value in ("", []) else value for name, value in given.items() if value is not None
        }


@declare(
    "edit",
    EditOptions,
    examples=(
        "atrium memory edit 3f9a12c0",
        'atrium memory edit 3f9a12c0 "the retry is capped at 60 s" --if-version 1',
        'atrium memory edit 3f9a12c0 --confidence 0.4 --headline ""',
    ),
)
@click.argument("id", metavar="ID")
@_TEXT
@click.option("--type", type=click.Choice(_TYPES), help="What it is.")
@_fields
@click.option("--if-version", type=int, metavar="N", help="Only if this is still the version.")
@json_option
def edit(options: EditOptions) -> int:
    """Change an entry's text or fields; a new text decides all its conflicts.

    Without a text and without fields, $EDITOR is opened, or the text read from standard input.
    """
    fields = options.fields()
    request: dict[str, object] = {
        "id": options.id,
        "fields": fields,
        "if_version": options.if_version,
        "agent": options.agent,
    }
    if options.text is None and not fields and sys.stdin.isatty():
        typed = _typed(options.id)
        if typed is None:
            output.note("nothing was changed")
            return exits.DONE
        request |= typed
    elif options.text is not None and options.text != memory_text.STDIN:
        request["text"] = memory_text.word(options.text)
    elif options.text is not None or not fields:
        request["text"] = memory_text.read()
    return told(call("memory.edit", request), "changed", as_json=options.as_json)


def _typed(identity: str) -> dict[str, object] | None:
    """Open the present text in an editor; what was saved, and what it was made from.

    Whatever others change meanwhile is merged with it, or stands beside it as a conflict.
    """
    seen = call("memory.history", {"id": identity})
    if seen.get("deleted"):
        raise BadInput(f"{seen.get('id')} is deleted", hint=f"run `atrium memory restore {seen.get('id')}`")
    text = memory_text.edited(output.text_of(seen, "content"))
    if text is None:
        return None
    return {"text": text, "base": output.texts_of(seen, "heads")}


def told(document: output.Document, what: str, *, as_json: bool) -> int:
    """Print an entry that was changed, or that it was."""
    if as_json:
        output.print_json(document)
    else:
        output.line(f"{what} {output.text_of(document, 'id')}")
    return exits.DONE
