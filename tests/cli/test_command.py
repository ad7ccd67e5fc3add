"""How commands are declared and explained."""

from __future__ import annotations

import sys

import click
import pytest

from cli.command import Commands
from cli.group import group
from tests.cli.conftest import Shell
from tests.cli.test_group import NAMES


def test_on_a_terminal_help_is_set_in_colour(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.command._on_a_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    said = shell.run("search", "--help").ok()
    assert "atrium search connection pool" in said.out
    assert "--substring" in said.out
    assert "rich_click" in sys.modules


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("up", "down", "demo", "help")])
def test_every_command_with_an_answer_takes_json(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert any("--json" in param.opts for param in command.params)


def test_listing_commands_imports_none_of_them() -> None:
    listed = Commands("no.such.package", {"One": {"first": "Do.", "second": "Do more."}}, name="x")
    context = click.Context(listed, info_name="x")
    assert listed.list_commands(context) == ["first", "second"]
    assert "Do more." in listed.get_help(context)


def test_a_command_is_imported_by_its_name() -> None:
    found = group.get_command(click.Context(group), "ingest-notes")
    assert found is sys.modules["cli.commands.ingest_notes"].command
    assert group.get_command(click.Context(group), "absent") is None
