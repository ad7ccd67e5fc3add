"""`atrium doctor`: what is wrong, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli import exits, output, progress
from cli.client import call
from cli.command import declare, json_option

REPORT = "atrium-report.json"
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
    for sentence in output.texts_of(document, "fixed"):
        output.line(f"mended  {output.plain(sentence)}")
    bundle = output.part_of(document, "report")
    if bundle:
        _leave(bundle)


def _leave(bundle: output.Document) -> None:
    """Show the bundle, then write it where the person stands, so that they know what they send."""
    import json
    import os
    from pathlib import Path

    from node.paths import FILE_MODE, write_error

    text = json.dumps(bundle, ensure_ascii=False, indent=2)
    output.line(output.plain(text))
    path = Path.cwd() / REPORT
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")
    except OSError as error:
        raise write_error(error, path) from error
    output.line(f"written to {REPORT}; send it or delete it")
