"""The short way to a search reads the words as the long way does, or leaves them to it."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from archivist.sample import SampleSearches
from cli import quick
from cli.commands import search as long_way
from cli.searching import Options
from tests.cli.conftest import Shell

USUAL = [
    ["x"],
    ["connection", "pool"],
    ["--words", "x"],
    ["x", "--substring"],
    ["--dense", "x"],
    ["--auto", "x"],
    ["--words", "--substring", "x"],
    ["--limit", "5", "x"],
    ["--limit=5", "x"],
    ["x", "--limit", "007"],
    ["--limit", "1", "--limit", "2", "x"],
    ["--project", ".", "x"],
    ["--project=/a=b", "x"],
    ["--project", "--all", "x"],
    ["--all", "--all-kinds", "--json", "x"],
    ["--fusion", "rrf", "x"],
    ["--fusion", "", "x"],
    ["--", "--x"],
    ["--", "--", "x"],
    ["a", "--", "-b"],
    ["-"],
    [""],
    ["   "],
    ["\udcff"],
    ["--words", "--limit", "50", "--all", "--json", "--", "heron AND"],
]
UNUSUAL = [
    [],
    ["--"],
    ["--help"],
    ["-h"],
    ["x", "--limit", "many"],
    ["x", "--limit", "-1"],
    ["x", "--limit", "+5"],
    ["x", "--limit", "5_0"],
    ["x", "--limit", " 5"],
    ["x", "--limit", "५"],
    ["x", "--limit"],
    ["x", "--all=1"],
    ["x", "--words=1"],
    ["x", "--lim", "5"],
    ["x", "--unknown"],
    ["-x"],
    ["--json"],
]


def by_click(words: list[str]) -> Options:
    """Read words as the group of commands would."""
    seen: list[Options] = []
    callback: Callable[..., object] = lambda **given: seen.append(Options(**given))  # noqa: E731
    command = click.Command("search", params=long_way.command.params, callback=callback)
    command.main(words, standalone_mode=False)
    return seen[0]


@pytest.mark.parametrize("words", USUAL, ids=repr)
def test_usual_words_are_read_as_click_reads_them(words: list[str]) -> None:
    given = quick.read(words)
    assert given is not None
    make: Callable[..., Options] = Options
    assert make(**given) == by_click(words)


@pytest.mark.parametrize("words", UNUSUAL, ids=repr)
def test_unusual_words_are_left_to_click(words: list[str]) -> None:
    assert quick.read(words) is None


def test_every_option_of_search_is_known_or_left_to_click() -> None:
    named = {name for param in long_way.command.params for name in (*param.opts, *param.secondary_opts)}
    known = {*quick.LANES, *quick.SWITCHES, *quick.VALUES}
    assert known == {name for name in named if name.startswith("--")}


def test_other_commands_are_left_alone() -> None:
    assert quick.answer([]) is None
    assert quick.answer(["status"]) is None


def test_without_a_node_the_state_itself_is_searched(
    filled: Shell, sample: SampleSearches, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["search", "--all", "--json", sample.searches[0].query]
    by_group = filled.run(*words)
    assert quick.answer(words) == 0
    assert capsys.readouterr().out == by_group.out
    assert by_group.document()["hits"]


def test_errors_are_those_of_the_group(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.world.state.mkdir()
    (shell.world.state / "node.sock").symlink_to("node.sock")
    by_group = shell.run("search", "x")
    assert quick.answer(["search", "x"]) == by_group.rc == 1
    assert capsys.readouterr().err == by_group.err
