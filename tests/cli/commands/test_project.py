"""`atrium project`: made, shown, and joined."""

from __future__ import annotations

from typing import cast

from tests.cli.conftest import Shell
from tests.kit import World


def test_without_a_state_there_are_none(shell: Shell) -> None:
    assert "atrium project create" in shell.run("project").ok().out
    assert shell.run("project", "list", "--json").document()["projects"] == []
    assert not shell.world.state.exists()


def test_a_project_is_made_opened_and_shown(shell: Shell) -> None:
    assert shell.run("project", "create", "tidewatch").ok().out.startswith("made tidewatch  closed · in home")
    assert "is there already" in shell.run("project", "create", "tidewatch").ok().out
    assert "changed tidewatch  open" in shell.run("project", "create", "tidewatch", "--open").ok().out
    listed = shell.run("project").ok().out
    assert (
        listed == shell.run("project", "list").ok().out == shell.run("project", "show", "tidewatch").ok().out
    )
    assert "tidewatch  open · in home · of local@" in listed


def test_agents_join_and_leave(shell: Shell) -> None:
    shell.run("project", "create", "tidewatch").ok()
    added = shell.run("project", "members", "add", "tidewatch", "builder@desktop", "tester@laptop").ok()
    assert "2 members" in added.out
    assert "builder@desktop" in shell.run("project", "members", "tidewatch").ok().out
    left = shell.run("project", "members", "remove", "tidewatch", "tester@laptop", "--json").document()
    assert cast("dict[str, object]", left["project"])["members"] == ["builder@desktop"]
    again = shell.run("project", "members", "remove", "tidewatch", "tester@laptop").ok()
    assert "stays as it is" in again.out


def test_what_can_not_be_is_refused(shell: Shell) -> None:
    shell.run("project", "create", "tidewatch").ok()
    shell.run("project", "show", "nowhere").refused("no project")
    shell.run("project", "create", "a/b").refused("label")
    shell.run("project", "members", "add", "tidewatch", "builder").refused("agent@node")
    shell.run("project", "members", "add", "tidewatch").refused()
    shell.run("project", "create", "x", "--space", "nowhere").refused("no space")


def test_the_word_members_alone_explains_itself(shell: Shell) -> None:
    assert "atrium project members add" in shell.run("project", "members").ok().out


def test_a_project_made_by_one_process_is_seen_by_the_next(world: World) -> None:
    world.run("project", "create", "tidewatch", "--open").ok()
    shown = world.run("project", "show", "tidewatch", "--json").document()
    assert cast("dict[str, object]", shown["project"])["open"] is True
