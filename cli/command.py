"""What all commands share: how they are declared, imported and explained.

A command is a frozen dataclass of its options and a function that takes it and returns an exit status.
The group knows commands by name only; a module is imported when its command is called.
"""

from __future__ import annotations

import importlib
import inspect
import keyword
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import cast

import click

Function = Callable[..., object]
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Command(click.Command):
    """A command whose help is set in colour on a terminal."""

    def get_help(self, ctx: click.Context) -> str:
        """Give the help text, plain in a pipe."""
        return _rich_help(self, ctx) if _on_a_terminal() else super().get_help(ctx)


class Commands(click.Group):
    """A group that imports `<package>.<name>` for its command `name`.

    `table` maps sections to commands and their one-line help, in the order in which help shows them.
    """

    def __init__(self, package: str, table: dict[str, dict[str, str]], **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self._package = package
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the table."""
        return [*(name for section in self._table.values() for name in section), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command by its name."""
        if not any(cmd_name in section for section in self._table.values()):
            return super().get_command(ctx, cmd_name)
        name = cmd_name.replace("-", "_")
        # A module can't have the name of a keyword, as `import` is one.
        name += "_" if keyword.iskeyword(name) else ""
        module = importlib.import_module(f"{self._package}.{name}")
        return cast("click.Command", module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one there is."""
        _refuse_unknown(self, ctx, args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands by section, importing none."""
        width = max(len(name) for section in self._table.values() for name in section)
        for section, commands in self._table.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


class Family(click.Group):
    """A command that has commands of its own, and does something without any of them too.

    `otherwise` names the one of them that takes words which begin with no command's name.
    """

    otherwise: str | None = None

    def __init__(self, *arguments: object, **settings: object) -> None:
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self._places: dict[str, str] = {}

    def place_command(self, name: str, module: str, attribute: str) -> None:
        """Add a command that is in another module, which is imported once the command is called or listed."""
        self._places[name] = f"{module}:{attribute}"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names, those in other modules first."""
        return [*self._places, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command by its name where it is in another module."""
        if cmd_name not in self._places:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._places[cmd_name].partition(":")
        return cast("click.Command", getattr(importlib.import_module(module), attribute))

    def get_help(self, ctx: click.Context) -> str:
        """Give the help text, plain in a pipe."""
        return _rich_help(self, ctx) if _on_a_terminal() else super().get_help(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one there is."""
        if self.otherwise is not None and args and self.get_command(ctx, args[0]) is None:
            args = [self.otherwise, *args]
        _refuse_unknown(self, ctx, args)
        return super().resolve_command(ctx, args)


Decorator = Callable[[Function], Command]


def declare(name: str, options: Callable[..., object], examples: Sequence[str]) -> Decorator:
    """Declare a command whose function takes its options as one value of the type `options`.

    Decorators of click for its options and arguments stand below this one.  The help is the function's
    docstring and the examples, which can be pasted as they are.
    """

    def decorate(run: Function) -> Command:
        @wraps(run)
        def callback(**given: object) -> object:
            return run(options(**given))

        help_text = _help_text(run, examples)
        return click.command(name, cls=Command, context_settings=CONTEXT, help=help_text)(callback)

    return decorate


def declare_family(
    name: str, options: Callable[..., object], examples: Sequence[str]
) -> Callable[[Function], Family]:
    """Declare a command as `declare` does; other commands are added to it by `add_command`.

    Its function runs when none of those is called.  What is given to it before the name of one of those,
    such as `--json`, is given to that one.
    """

    def decorate(run: Function) -> Family:
        @wraps(run)
        def callback(**given: object) -> object:
            context = click.get_current_context()
            if context.invoked_subcommand is None:
                return run(options(**given))
            typed = {name: value for name, value in given.items() if _is_typed(context, name)}
            context.default_map = {context.invoked_subcommand: typed}
            return None

        return click.group(
            name,
            cls=Family,
            context_settings=CONTEXT,
            help=_help_text(run, examples),
            invoke_without_command=True,
        )(callback)

    return decorate


def json_option(function: Function) -> Function:
    """Add `--json`."""
    text = "Print one JSON document instead of lines for people."
    return click.option("--json", "as_json", is_flag=True, help=text)(function)


def _help_text(run: Function, examples: Sequence[str]) -> str:
    said = inspect.cleandoc(run.__doc__ or "")
    return f"{said}\n\n\b\n" + "\n".join(f"  {example}" for example in examples)


def _is_typed(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _refuse_unknown(group: click.Group, ctx: click.Context, args: list[str]) -> None:
    """Name the command that is nearest to one that is not there."""
    if not args or args[0].startswith("-") or group.get_command(ctx, args[0]) is not None:
        return
    import difflib

    near = difflib.get_close_matches(args[0], group.list_commands(ctx), n=1)
    guess = f", did you mean `{near[0]}`?" if near else ""
    ctx.fail(f"there is no command `{args[0]}`{guess}")


def _on_a_terminal() -> bool:
    from node.config import wants_colour

    return sys.stdout.isatty() and wants_colour()


def _rich_help(shown: click.Command, ctx: click.Context) -> str:
    import rich_click
    from rich_click.rich_help_rendering import get_rich_help_text

    rich_context = rich_click.RichContext(
        shown, info_name=ctx.command_path, help_option_names=["-h", "--help"]
    )
    formatter = rich_context.make_formatter()
    get_rich_help_text(shown, rich_context, formatter)
    return formatter.getvalue().rstrip("\n")
