"""`atrium capture`: read the transcripts of this machine's agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import click

from cli import arguments, exits, output, progress
from cli.client import call
from cli.command import declare, json_option
from crdt.errors import BadInput, NotFound

REASONS_SHOWN = 12
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `capture` takes."""

    provider: tuple[str, ...]
    root: str | None
    since: str | None
    dry_run: bool
    as_json: bool


@declare(
    "capture",
    Options,
    examples=(
        "atrium capture",
        "atrium capture --provider codex --since 2026-01-01",
        "atrium capture --provider claude-code --root /mnt/old/.claude/projects",
    ),
)
@click.option("--provider", multiple=True, metavar="NAME", help="Only this agent's transcripts; repeatable.")
@click.option("--root", metavar="DIR", help="Read one provider's transcripts from here.")
@click.option("--since", metavar="DATE", help="Only transcripts changed since then.")
@click.option("--dry-run", is_flag=True, help="Read and count, store nothing.")
@json_option
def command(options: Options) -> int:
    """Read the transcripts that agents left on this machine, redact, archive and index what is new."""
    roots = choose_roots(options.provider, options.root)
    request = {"roots": roots, "since": options.since, "dry_run": options.dry_run}
    with progress.shown() as report:
        document = call("capture", request, report)
    if options.as_json:
        output.print_json(document)
    else:
        print_summary(document, dry_run=options.dry_run)
        print_skipped(document)
    return exits.DONE


def choose_roots(providers: tuple[str, ...], root: str | None) -> dict[str, list[str]]:
    """Choose the directories to read, by provider; raises `BadInput` for an unknown one."""
    from node.config import capture_roots, load

    known = capture_roots(load())
    for name in providers:
        if name not in known:
            raise BadInput(f"there is no provider `{name}`", hint=f"providers: {', '.join(known)}")
    if root is not None:
        return _other_root(providers, arguments.absolute(root), known)
    return {name: folders for name, folders in known.items() if not providers or name in providers}


def print_summary(document: output.Document, *, dry_run: bool = False) -> None:
    """Say what a capture did."""
    events = output.number_of(document, "events")
    conversations = output.plural(output.number_of(document, "conversations"), "conversation")
    if not events:
        output.line(
            f"nothing new, {output.plural(output.number_of(document, 'unchanged'), 'unchanged source')}"
        )
    else:
        verb = "would archive" if dry_run else "archived"
        words = (
            f"{verb} {output.plural(events, 'event')} of {conversations}",
            f"{output.size(output.number_of(document, 'bytes'))} read",
            f"{output.plural(output.number_of(document, 'redactions'), 'secret')} redacted",
        )
        output.line(", ".join(words))


def print_skipped(document: output.Document) -> None:
    """Name what a capture could not or need not read: the commonest reasons, and what was closed to us."""
    counts = output.part_of(document, "skipped")
    commonest = sorted(counts, key=lambda reason: (-output.number_of(counts, reason), reason))
    reasons = [f"{reason} {counts[reason]}" for reason in commonest]
    if reasons:
        output.note(f"left out: {_listed(reasons, REASONS_SHOWN)}")
    closed = output.texts_of(document, "unreadable")
    if closed:
        output.note(
            f"can't be read: {_listed(closed, NAMES_SHOWN)}; see who may read them, then run it again"
        )


def _listed(words: list[str], shown: int) -> str:
    more = [f"{len(words) - shown} more"] if len(words) > shown else []
    return " ".join(output.plain(", ".join(words[:shown] + more)).split())


def _other_root(
    providers: tuple[str, ...], root: str, known: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    from pathlib import Path

    if len(providers) != 1:
        raise BadInput(
            "--root needs exactly one --provider, whose directory it stands for",
            hint=f"providers: {', '.join(known)}",
        )
    if not Path(root).is_dir():
        raise NotFound(f"{root} is no directory", hint="name the directory that holds the transcripts")
    return {providers[0]: [root]}
