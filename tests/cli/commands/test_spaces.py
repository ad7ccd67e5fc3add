"""`atrium spaces`: lists, members and what is private, as lines and as documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest

from mesh.identity import generate
from mesh.member_key import spell
from tests.cli.conftest import Shell
from tests.kit import World

OTHER = generate()
KEY = spell(OTHER.public_key, OTHER.next_commitment)


def listed(document: Mapping[str, object], key: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", document[key])


def test_without_a_state_it_says_what_makes_spaces(shell: Shell) -> None:
    assert "first capture" in shell.run("spaces").ok().out
    assert shell.run("spaces", "--json").document()["spaces"] == []
    assert "nothing is private yet" in shell.run("spaces", "private").ok().out
    assert not shell.world.state.exists()


def test_a_space_is_made_once(shell: Shell) -> None:
    assert shell.run("spaces", "create", "team").ok().out.startswith("made team  ")
    again = shell.run("spaces", "create", "team").ok().out
    assert "there already" in again
    assert shell.run("spaces", "create", "team", "--json").document()["created"] is False
    names = [line.split()[0] for line in shell.run("spaces").ok().out.splitlines()]
    assert names == ["home", "private", "team"]
    shell.run("spaces", "create", "Team").refused("label")


def test_members_come_and_go(shell: Shell) -> None:
    shell.run("spaces", "create", "team").ok()
    said = shell.run("spaces", "members", "add", "team", KEY, "--name", "desktop").ok()
    assert said.out == "desktop is a member of team\n"
    assert "nothing changed" in shell.run("spaces", "members", "add", "team", KEY).ok().out
    members = shell.run("spaces", "members", "team").ok().out
    assert "desktop  read append" in members
    assert "this node · owner · read append moderate" in members
    shell.run("spaces", "members", "add", "team", KEY, "--right", "read", "--right", "moderate").ok()
    assert "desktop  read moderate" in shell.run("spaces", "members", "list", "team").ok().out
    assert "no member any more" in shell.run("spaces", "members", "remove", "team", "desktop").ok().out
    assert "desktop  removed" in shell.run("spaces", "members", "team").ok().out


def test_members_alone_are_those_of_home(shell: Shell) -> None:
    shell.run("spaces", "members", "add", "home", KEY, "--name", "desktop").ok()
    document = shell.run("spaces", "members", "--json").document()
    assert document == shell.run("spaces", "members", "home", "--json").document()
    space = cast("dict[str, object]", document["space"])
    assert [member["owner"] for member in listed(space, "members")] == [True, True]


@pytest.mark.parametrize(
    "words",
    [
        ("members", "add", "team", "no-key"),
        ("members", "add", "nowhere", KEY),
        ("members", "add", "team", KEY, "--right", "write"),
        ("members", "add", "private", KEY),
        ("members", "remove", "team", KEY),
        ("members", "nowhere"),
        ("creat", "x"),
    ],
)
def test_what_can_not_be_is_refused_in_two_lines(shell: Shell, words: tuple[str, ...]) -> None:
    shell.run("spaces", "create", "team").ok()
    shell.run("spaces", *words).refused()


def test_what_is_private_is_shown_and_stays_apart(shell: Shell) -> None:
    shell.run("memory", "add", "the tide table is a draft", "--private").ok()
    shell.run("memory", "add", "the pier is shut").ok()
    said = shell.run("spaces", "private").ok().out
    assert "the tide table is a draft" in said
    assert "pier" not in said
    document = shell.run("spaces", "private", "--json").document()
    assert [record["headline"] for record in listed(document, "records")] == ["the tide table is a draft"]
    assert cast("dict[str, object]", document["space"])["kind"] == "private"


def test_a_label_from_elsewhere_can_not_steer_the_terminal(shell: Shell) -> None:
    shell.run("spaces", "create", "team").ok()
    said = shell.run("spaces", "members", "\x1b[31m")
    said.refused("no space")
    assert "\x1b" not in said.err


def test_real_processes_see_one_another_s_members(world: World) -> None:
    world.run("spaces", "create", "team").ok()
    world.run("spaces", "members", "add", "team", KEY, "--name", "desktop").ok()
    assert "desktop" in world.run("spaces", "members", "team").ok().stdout
    spaces = world.run("spaces", "--json").document()
    assert [len(listed(space, "members")) for space in listed(spaces, "spaces")] == [1, 1, 2]
