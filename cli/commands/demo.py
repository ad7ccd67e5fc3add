"""`atrium demo`: a small sample to look at before there is anything of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli import exits, output, progress
from cli.client import call, state_paths
from cli.command import declare
from cli.commands.capture import print_summary
from cli.searching import describe
from crdt.errors import BadInput
from node.paths import ensure_private

if TYPE_CHECKING:
    from archivist.sample import SampleSearch, SampleSearches

HITS = 3
SAMPLE_CONVERSATIONS = 12
"""What a sample makes; a second run over nothing else is fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `demo` takes: nothing."""


@declare("demo", Options, examples=("atrium demo", "atrium search --all idempotency"))
def command(options: Options) -> int:  # noqa: ARG001 - all commands have the same form
    """Import a small made-up sample of two agents' conversations, and run three searches over it."""
    _refuse_beside_real_data()
    with _sample() as sample:
        output.line(f"a sample of {output.plural(sample.conversations, 'made-up conversation')}:")
        with progress.shown() as report:
            document = call("capture", {"roots": sample.roots}, report)
        print_summary(document)
        for search in sample.searches:
            _search(search)
    output.line()
    output.line("now yours: atrium search --all WORDS")
    return exits.DONE


def _refuse_beside_real_data() -> None:
    """Refuse to mix invented conversations into an archive that has others."""
    document = call("status", {})
    archived = output.number_of(output.part_of(document, "archive"), "conversations")
    if archived and archived != SAMPLE_CONVERSATIONS:
        raise BadInput(
            "there are conversations of your own in this archive, and the sample would stay in it",
            hint="give the sample a place of its own: `ATRIUM_STATE=/tmp/atrium-demo atrium demo`",
        )


@contextmanager
def _sample() -> Iterator[SampleSearches]:
    """Write the sample where a second run finds the same paths, and take it away afterwards.

    The same paths give the same records, so that doing it twice adds nothing.
    """
    from archivist.sample import write_sample

    folder: Path = state_paths().runtime / "demo"
    ensure_private(folder.parent)
    ensure_private(folder)
    try:
        yield write_sample(folder)
    finally:
        shutil.rmtree(folder)


def _search(search: SampleSearch) -> None:
    output.line()
    output.line(f"{output.strong(f'$ atrium search {search.query}')}  {output.faint(search.shows)}")
    request = {"query": search.query, "directory": str(search.directory), "limit": HITS}
    for number, hit in enumerate(output.list_of(call("search", request), "hits"), 1):
        output.line(f"{number:>3}  {describe(hit)}")
        output.line(f"     {output.excerpt(output.text_of(hit, 'text'), search.query)}")
