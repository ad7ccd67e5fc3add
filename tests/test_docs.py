"""What exists is documented, and what the documents name exists."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli import group as entry
from crdt.errors import AtriumError
from node import config
from tests import rules
from tests.kit import CHECKOUT, World
from tests.rules import PACKAGES, every, none, package_sources

DOCUMENTS = ("README.md", "ARCHITECTURE.md")
SET_UP = ("python3 deploy/bootstrap.py up", "python3 deploy/bootstrap.py test")
PACKAGE_DOCSTRING_LINES = range(30, 61)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def read(name: str) -> str:
    """Read a document; one that is not there is empty, so that every test says what it lacks."""
    path = CHECKOUT / name
    return path.read_text("utf-8") if path.is_file() else ""


def documented() -> str:
    """Read all documents."""
    return "\n".join(map(read, DOCUMENTS))


def unnamed(names: list[str], text: str) -> list[str]:
    """Give the names that a text doesn't have as words of their own."""
    return [name for name in names if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)]


def the_group() -> click.Group:
    """Find the command itself."""
    groups = [value for value in vars(entry).values() if isinstance(value, click.Group)]
    assert len(groups) == 1
    return groups[0]


def commands() -> list[str]:
    """Name every command."""
    group = the_group()
    return group.list_commands(click.Context(group, info_name="atrium"))


def kinds_of_error(kind: type[AtriumError] = AtriumError) -> Iterator[type[AtriumError]]:
    """Walk the tree of errors."""
    yield kind
    for child in kind.__subclasses__():
        yield from kinds_of_error(child)


def test_everything_public_has_a_docstring() -> None:
    none(every(rules.undocumented, package_sources()))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_is_for(package: str) -> None:
    said = ast.get_docstring(ast.parse((CHECKOUT / package / "__init__.py").read_text("utf-8"))) or ""
    assert len(said.splitlines()) in PACKAGE_DOCSTRING_LINES


@pytest.mark.parametrize("part", ["What it is not", "Seams", "Invariants"])
@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_holds_in_it(package: str, part: str) -> None:
    assert part in (CHECKOUT / package / "__init__.py").read_text("utf-8")


def test_every_command_is_in_the_readme() -> None:
    assert commands()
    none([name for name in commands() if f"atrium {name}" not in read("README.md")])


def test_every_setting_is_documented() -> None:
    keys = list(config.SETTINGS)
    variables = [setting.variable for setting in config.SETTINGS.values() if setting.variable]
    none(unnamed([*keys, *variables, "ATRIUM_STATE"], documented()))


def test_every_error_code_is_documented() -> None:
    codes = sorted({kind.code for kind in kinds_of_error()})
    assert "bad_input" in codes
    none(unnamed(codes, documented()))


def test_the_errors_drawn_are_the_errors_there_are() -> None:
    kinds = list(kinds_of_error())
    drawn = (CHECKOUT / "crdt" / "errors.py").read_text("utf-8").split('"""')[1]
    rows = [(k.__name__, k.code, str(k.http_status), str(k.exit_status)) for k in kinds]
    none([" ".join(row) for row in rows if not re.search(r"\b" + r"\s+".join(row) + r"\b", drawn)])


def test_every_code_of_the_doctor_is_documented() -> None:
    codes = importlib.import_module("node.services.doctor").CODES
    assert len(codes) > 5
    none(unnamed(sorted(codes), documented()))


@pytest.mark.parametrize("command", SET_UP)
def test_the_readme_has_the_command(command: str) -> None:
    assert command in read("README.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = read(document)
    assert text, f"{document} is missing"
    links = [one or other for one, other in LINK.findall(text)]
    none([link for link in links if not leads_somewhere(link, document)])


def leads_somewhere(link: str, document: str) -> bool:
    """Tell whether a link's file and heading exist; other sites are not asked."""
    if re.match(r"[a-z]+:", link):
        return True
    name, _, anchor = link.partition("#")
    target = Path(name or document)
    return (CHECKOUT / target).exists() and (not anchor or anchor in anchors(str(target)))


def anchors(document: str) -> set[str]:
    """Name the headings as links spell them."""
    headings = HEADING.findall(read(document))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_a_link_to_nothing_is_found() -> None:
    assert not leads_somewhere("nowhere.md", "README.md")
    assert not leads_somewhere("#no-such-heading", "README.md")
    assert leads_somewhere("LICENSE", "README.md")


def test_every_command_s_help_has_an_example() -> None:
    group = the_group()
    parent = click.Context(group, info_name="atrium")
    lacking = []
    for name in commands():
        command = group.get_command(parent, name)
        assert command is not None, name
        text = command.get_help(click.Context(command, info_name=name, parent=parent))
        if not re.search(rf"^\s+(?:\$ )?atrium {re.escape(name)}\b", text.partition("\n")[2], re.MULTILINE):
            lacking.append(name)
    none(lacking)


def test_the_command_s_own_help_starts_with_an_example(world: World) -> None:
    shown = world.run("--help").ok().stdout
    assert re.search(r"^\s*(?:\$ )?atrium (?:up|search|context)\b", shown, re.MULTILINE), shown


def test_names_are_looked_for_as_whole_words() -> None:
    assert unnamed(["read_only", "up", "log.level"], "`read_only` and update log.levels") == [
        "up",
        "log.level",
    ]
