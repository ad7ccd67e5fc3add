"""`atrium doctor`: what is wrong, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option

SIGNS = {"ok": "ok    ", "warn": "warn  ", "broken": "BROKEN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `doctor` takes."""

    fix: bool
    deep: bool
    report: bool
    as_json: bool


@declare("doctor", Options, examples=("atrium doctor", "atrium doctor --deep --json"))
@click.option("--fix", is_flag=True, help="Mend what is safe to mend.")
@click.option("--deep", is_flag=True, help="Read every stored byte again; takes time.")
@click.option("--report", is_flag=True, help="Add a redacted bundle for a bug report.")
@json_option
def command(options: Options) -> int:
    """Check this node; ends with 1 exactly when something is broken."""
    from node.config import capture_roots, load

    request = {
        "fix": options.fix,
        "deep": options.deep,
        "report": options.report,
        "roots": capture_roots(load()),
    }
    with progress.shown() as report:
        document = call("doctor", request, report)
    checks = output.list_of(document, "checks")
    if options.as_json:
        output.print_json(document)
    else:
        _print(document, checks)
    broken = any(output.text_of(check, "severity") == "broken" for check in checks)
    return exits.BROKEN if broken else exits.DONE


def _print(document: output.Document, checks: list[output.Document]) -> None:
    for check in checks:
        severity = output.text_of(check, "severity")
        sign = SIGNS.get(severity, severity)
        shown = output.faint(sign) if severity == "ok" else output.strong(sign)
        hint = output.plain(output.text_of(check, "hint"))
        words = f"{output.text_of(check, 'name')}: {output.text_of(check, 'code')}"
        output.line(f"{shown}  {words}" + (f"  ({hint})" if hint and severity != "ok" else ""))
    path = output.text_of(document, "report")
    if path:
        output.line(f"report written to {output.plain(path)}")
