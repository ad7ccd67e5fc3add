"""`atrium memory`: from an empty state to entries, in the words of the command."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_before_anything_was_kept_it_says_how_to_begin(shell: Shell) -> None:
    assert "atrium memory add" in shell.run("memory").ok().out
    assert shell.run("memory", "--json").document()["items"] == []
    assert not shell.world.state.exists()


def test_by_itself_it_lists_what_changed_last(shell: Shell) -> None:
    shell.run("memory", "add", "the pier").ok()
    shell.run("memory", "add", "the crane").ok()
    out = shell.run("memory").ok().out
    assert out.index("the crane") < out.index("the pier")


def test_a_command_that_is_not_there_names_the_nearest(shell: Shell) -> None:
    shell.run("memory", "edti", "x").refused("edit")
