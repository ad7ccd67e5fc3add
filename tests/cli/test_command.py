"""How commands are declared and explained."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click
import pytest

from cli.command import Commands, Family, declare, declare_family, json_option
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    as_json: bool


def family() -> click.Group:
    """Make a command with one command of its own; both say who was called and with what."""

    @declare_family("trees", Asked, ("atrium trees",))
    @json_option
    def trees(options: Asked) -> str:
        """List the trees."""
        return f"trees {options.as_json}"

    @declare("plant", Asked, ("atrium trees plant",))
    @json_option
    def plant(options: Asked) -> str:
        """Plant one."""
        return f"plant {options.as_json}"

    trees.add_command(plant)
    return trees


def called(*words: str) -> object:
    with family().make_context("trees", list(words)) as context:
        return context.command.invoke(context)


def test_a_family_answers_alone_and_by_each_of_its_commands() -> None:
    assert called() == "trees False"
    assert called("--json") == "trees True"
    assert called("plant", "--json") == "plant True"
    assert called("--json", "plant") == "plant True"
    assert called("plant") == "plant False"


def test_a_family_names_the_nearest_of_its_commands() -> None:
    with pytest.raises(click.UsageError, match="did you mean `plant`"):
        called("plan")


def test_a_family_may_have_a_command_for_what_names_none() -> None:
    trees = family()
    assert isinstance(trees, Family)
    trees.otherwise = "plant"
    with (
        trees.make_context("trees", ["--json", "oak"]) as context,
        pytest.raises(click.UsageError, match="oak"),
    ):
        trees.invoke(context)
    with trees.make_context("trees", ["plant"]) as context:
        assert trees.invoke(context) == "plant False"


def test_a_family_explains_itself_with_its_examples() -> None:
    shown = family().get_help(click.Context(family(), info_name="trees"))
    assert "atrium trees" in shown
    assert "Plant one." in shown


def memory() -> tuple[click.Group, click.Context]:
    """Give the command whose commands are in several modules."""
    found = group.get_command(click.Context(group), "memory")
    assert isinstance(found, Family)
    return found, click.Context(found, info_name="memory")


def test_a_command_placed_in_another_module_is_imported_by_its_name() -> None:
    found, context = memory()
    assert found.list_commands(context)[:2] == ["add", "get"]
    assert found.get_command(context, "tag") is sys.modules["cli.commands.memory_change"].tag
    assert found.get_command(context, "absent") is None


def test_every_command_of_memory_is_where_it_was_placed() -> None:
    found, context = memory()
    names = found.list_commands(context)
    commands = [found.get_command(context, name) for name in names]
    assert [command.name for command in commands if command is not None] == names
