"""`atrium search`: find what was said.

`cli.quick` reads the same words without click; a test holds the two together.
"""

from __future__ import annotations

import click

from cli.command import declare, json_option
from cli.searching import Options, search


@declare(
    "search",
    Options,
    examples=(
        "atrium search connection pool",
        "atrium search --all --substring WAL",
        "atrium search -- --dry-run",
    ),
)
@click.argument("query", nargs=-1, required=True)
@click.option("--words", "lane", flag_value="words", help="Whole words only.")
@click.option("--substring", "lane", flag_value="substring", help="Letters anywhere, also inside words.")
@click.option("--dense", "lane", flag_value="dense", help="By meaning, where vectors exist.")
@click.option("--auto", "lane", flag_value="auto", default=True, help="What fits best.  [default]")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="The most hits to give.")
@click.option("--project", metavar="DIR", help="Search another repository than the one around you.")
@click.option("--all", "everywhere", is_flag=True, help="Search every project.")
@click.option("--all-kinds", is_flag=True, help="Search tool output and reasoning too.")
@click.option("--fusion", default="convex", metavar="RULE", help="How lanes are mixed: convex or rrf.")
@json_option
def command(options: Options) -> int:
    """Find what was said, in the repository around you, or everywhere when there is none."""
    return search(options)
