"""`atrium memory get`, `list`, `history`, `conflicts`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def add(shell: Shell, *words: object) -> str:
    return str(shell.run("memory", "add", *words, "--json").document()["id"])


def test_one_entry_is_shown_whole(shell: Shell) -> None:
    identity = add(shell, "the pier\nis open", "--tag", "sea", "--project", "tidewatch")
    out = shell.run("memory", "get", identity[:6]).ok().out
    assert out.splitlines()[0].startswith(identity)
    assert "tidewatch · #sea" in out
    assert out.endswith("  the pier\n  is open\n")


def test_an_entry_that_is_not_there_is_told(shell: Shell) -> None:
    shell.run("memory", "get", "abcdef").refused("nothing is kept")
    add(shell, "x")
    shell.run("memory", "get", "zzzzzz").refused("zzzzzz")
    shell.run("memory", "get", "zz").refused("zz", "at least 4")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--type", "doc"), ["doc"]),
        (("--tag", "t"), ["tagged"]),
        (("--project", "P"), ["project"]),
        (("--agent", "bot"), ["agent"]),
        (("--conflicts",), []),
        (("--limit", "2"), ["agent", "project"]),
    ],
)
def test_lists_are_narrowed(shell: Shell, words: tuple[str, ...], found: list[str]) -> None:
    for more in (
        ("doc", "--type", "doc"),
        ("tagged", "--tag", "t"),
        ("project", "--project", "p"),
        ("agent", "--agent", "bot"),
    ):
        shell.run("memory", "add", *more).ok()
    items = shell.run("memory", "list", *words, "--json").document()["items"]
    assert [item["content"] for item in items] == found  # type: ignore[attr-defined]


def test_the_next_page_is_named(shell: Shell) -> None:
    for number in range(3):
        shell.run("memory", "add", str(number)).ok()
    said = shell.run("memory", "list", "--limit", "2").ok()
    cursor = said.err.split("--cursor ")[1].split()[0]
    assert "  0\n" in shell.run("memory", "list", "--limit", "2", "--cursor", cursor).ok().out
    shell.run("memory", "list", "--limit", "0").refused("limit")


def test_a_history_shows_every_version(shell: Shell) -> None:
    identity = add(shell, "one")
    shell.run("memory", "edit", identity, "two", "--headline", "Two", "--agent", "bot").ok()
    shell.run("memory", "tag", identity, "--add", "t").ok()
    out = shell.run("memory", "history", identity).ok().out
    assert out.index("one") < out.index("two")
    assert "bot@" in out
    assert "text, headline" in out
    assert "+#t" in out
    assert len(shell.run("memory", "history", identity, "--json").document()["items"]) == 3  # type: ignore[arg-type]


def test_no_conflicts_are_told(shell: Shell) -> None:
    assert shell.run("memory", "conflicts").ok().out == "no conflicts\n"
