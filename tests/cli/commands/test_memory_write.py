"""`atrium memory add` and `edit`: texts from arguments, standard input and an editor."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from cli.commands import memory_text
from crdt.operations import TEXT_BYTES_MAX
from tests.cli.conftest import Shell


class Terminal(io.TextIOWrapper):
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put bytes on standard input."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return put


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], str | None]], None]:
    """Sit at a terminal whose editor makes of a text what a function says."""

    def use(edit: Callable[[str], str | None]) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO()))
        monkeypatch.setattr(memory_text, "edited", edit)

    return use


def add(shell: Shell, *words: object) -> str:
    return str(shell.run("memory", "add", *words, "--json").document()["id"])


def content(shell: Shell, identity: str) -> object:
    return shell.run("memory", "get", identity, "--json").document()["content"]


def test_an_entry_is_added_with_everything_that_can_be_said_of_it(shell: Shell) -> None:
    parent = add(shell, "the harbour")
    found = shell.run(
        "memory", "add", "the pier", "--type", "skill", "--project", "P", "--tag", "a", "--tag", "b",
        "--confidence", "0.25", "--expires", "2999-01-01T00:00:00Z", "--parent", parent[:6],
        "--title", "Pier", "--agent", "bot", "--json",
    ).document()  # fmt: skip
    expected = {
        "content": "the pier", "type": "skill", "project": "p", "tags": ["a", "b"], "confidence": 0.25,
        "expires_at": "2999-01-01T00:00:00.000Z", "parents": [parent], "headline": "Pier", "agent": "bot",
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_people_are_told_the_id(shell: Shell) -> None:
    out = shell.run("memory", "add", "the pier").ok().out
    assert out.startswith("added ")
    assert shell.run("memory", "get", out.split()[1]).ok().out.endswith("  the pier\n")


@pytest.mark.parametrize("words", [["-"], []])
def test_a_text_can_come_on_standard_input(
    shell: Shell, typed: Callable[[bytes], None], words: list[str]
) -> None:
    typed("zwei\nZeilen: ö\n".encode())
    assert content(shell, add(shell, *words)) == "zwei\nZeilen: ö"


def test_what_is_no_text_or_too_much_is_refused(shell: Shell, typed: Callable[[bytes], None]) -> None:
    typed(b"caf\xe9")
    shell.run("memory", "add", "-").refused("UTF-8", "byte 3")
    shell.run("memory", "add", "caf\udce9").refused("UTF-8", "character 3")
    typed(b"x" * (TEXT_BYTES_MAX + 1))
    shell.run("memory", "add", "-").refused("256 KiB")
    typed(b"")
    shell.run("memory", "add").refused("no text")
    assert shell.run("memory", "list", "--json").document()["items"] == []


def test_private_and_scope_keep_an_entry_here(shell: Shell) -> None:
    for words in (["--private"], ["--scope", "agent"]):
        identity = add(shell, "x", *words)
        assert shell.run("memory", "get", identity, "--json").document()["space"] == "private"
    shell.run("memory", "add", "x", "--space", "nowhere").refused("nowhere")


def test_an_edit_replaces_the_text_and_leaves_the_rest(shell: Shell) -> None:
    identity = add(shell, "the pier", "--headline", "Pier")
    shell.run("memory", "edit", identity[:8], "the quay").ok()
    found = shell.run("memory", "get", identity, "--json").document()
    assert (found["content"], found["headline"], found["version"]) == ("the quay", "Pier", 2)


def test_an_edit_to_what_is_no_text_is_refused(shell: Shell) -> None:
    identity = add(shell, "x")
    shell.run("memory", "edit", identity, "caf\udce9").refused("UTF-8", "character 3")
    assert content(shell, identity) == "x"


def test_an_edit_sets_fields_alone_and_takes_them_away(shell: Shell) -> None:
    identity = add(
        shell, "the pier", "--headline", "Pier", "--expires", "2999-01-01T00:00:00Z", "--project", "p"
    )
    found = shell.run(
        "memory", "edit", identity, "--headline", "", "--expires", "never", "--project", "",
        "--confidence", "0", "--type", "doc", "--json",
    ).document()  # fmt: skip
    changed = ("content", "headline", "expires_at", "project", "confidence", "type")
    assert [found[name] for name in changed] == ["the pier", None, None, None, 0.0, "doc"]


def test_an_edit_reads_standard_input_where_no_terminal_is(
    shell: Shell, typed: Callable[[bytes], None]
) -> None:
    identity = add(shell, "one")
    typed(b"two\n")
    shell.run("memory", "edit", identity).ok()
    assert content(shell, identity) == "two"
    typed(b"three\n")
    shell.run("memory", "edit", identity, "-", "--headline", "h").ok()
    assert content(shell, identity) == "three"


def test_an_edit_for_another_version_is_refused(shell: Shell) -> None:
    identity = add(shell, "one")
    shell.run("memory", "edit", identity, "two", "--if-version", "1").ok()
    shell.run("memory", "edit", identity, "three", "--if-version", "1").refused("version 2")


def test_an_editor_opens_with_the_present_text(
    shell: Shell, editor: Callable[[Callable[[str], str | None]], None]
) -> None:
    identity = add(shell, "one")
    editor(lambda text: text.upper())
    shell.run("memory", "edit", identity).ok()
    assert content(shell, identity) == "ONE"
    editor(lambda _text: None)
    assert "nothing was changed" in shell.run("memory", "edit", identity).ok().err
    editor(lambda text: f"typed{text}")
    assert content(shell, add(shell)) == "typed"


def test_what_somebody_else_writes_while_an_editor_is_open_is_not_lost(
    shell: Shell, editor: Callable[[Callable[[str], str | None]], None]
) -> None:
    identity = add(shell, "one\ntwo\nthree")

    def slowly(text: str) -> str:
        shell.run("memory", "edit", identity, "one\ntwo\nTHREE").ok()
        return text.replace("one", "ONE")

    editor(slowly)
    shell.run("memory", "edit", identity).ok()
    assert content(shell, identity) == "ONE\ntwo\nTHREE"


def test_a_deleted_entry_is_not_opened_in_an_editor(
    shell: Shell, editor: Callable[[Callable[[str], str | None]], None]
) -> None:
    identity = add(shell, "one")
    shell.run("memory", "delete", identity).ok()
    editor(lambda text: f"{text}!")
    shell.run("memory", "edit", identity).refused("is deleted", "atrium memory restore")
