"""The commands as a whole: their list, their help, their refusals."""

from __future__ import annotations

import pytest

from cli.group import TABLE
from node.services.catalog import USE_CASES
from tests.cli.conftest import Shell

NAMES = [name for section in TABLE.values() for name in section]


def test_every_use_case_is_a_command() -> None:
    assert {name for name in USE_CASES if "." not in name} <= set(NAMES)


def test_no_arguments_teach_by_example(shell: Shell) -> None:
    said = shell.run().ok()
    assert "atrium up  " in said.out
    assert "atrium search connection pool" in said.out
    for name in NAMES:
        assert f"  {name}" in said.out


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself_with_an_example(shell: Shell, name: str) -> None:
    said = shell.run(name, "--help").ok()
    assert said.out.startswith(f"Usage: atrium {name}")
    assert f"    atrium {name}" in said.out
    assert said.err == ""
    assert shell.run("help", name).ok().out.strip() == said.out.strip()


def test_help_without_a_name_lists_the_commands(shell: Shell) -> None:
    assert "prepare-context" in shell.run("help").ok().out


def test_the_version_is_said(shell: Shell) -> None:
    assert shell.run("--version").ok().out == "atrium 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["serach", "x"], ("serach", "did you mean `search`")),
        (["help", "contxt"], ("contxt", "did you mean `context`")),
        (["zzzz"], ("zzzz",)),
        (["--wrong"], ("--wrong",)),
        (["search"], ("QUERY", "atrium search --help")),
        (["search", "x", "--limit", "many"], ("--limit", "many")),
        (["search", "x", "--wrong"], ("--wrong",)),
        (["context", "x", "--max-chars", "x"], ("--max-chars",)),
        (["gaps", "--days", "x"], ("--days",)),
        (["ingest"], ("FILE",)),
        (["ingest", "a", "b"], ("b",)),
        (["ingest-notes"], ("ROOT",)),
        (["export"], ("FILE",)),
        (["show"], ("N|ID",)),
        (["capture", "--since"], ("--since",)),
        (["up", "--port", "x"], ("--port",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_words_that_make_no_sense_are_refused(shell: Shell, words: list[str], named: tuple[str, ...]) -> None:
    shell.run(*words).refused(*named)


def test_lone_surrogates_are_no_bug(shell: Shell) -> None:
    assert shell.run("\udcff").rc == 2
    shell.run("ingest", "\udcff").refused("UTF-8")
    shell.run("capture").ok()
    assert shell.run("search", "\udcff").rc == 0
