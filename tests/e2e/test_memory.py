"""Shared memory in whole processes: many at once lose nothing; with a node and without, answers are alike."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import Said, run_all
from tests.kit import World

WRITERS = 8
ENV = {"ATRIUM_PORT": "0"}


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


@pytest.fixture
def node(world: World) -> Iterator[subprocess.Popen[str]]:
    """Run a node for the length of a test."""
    process = subprocess.Popen(
        world.command("up", "--foreground"),
        env=world.environment(ENV),
        cwd=world.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "the node runs" in process.stdout.readline()
    yield process
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


def add_at_once(world: World) -> list[str]:
    """Add from eight processes at the same time; the ids that they were told."""
    processes = [
        subprocess.Popen(
            world.command("memory", "add", f"text {number}", "--json"),
            env=world.environment(ENV),
            cwd=world.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    ids = []
    for process in processes:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        ids.append(str(json.loads(out)["id"]))
    return ids


def listed(world: World) -> list[str]:
    items = world.run("memory", "list", "--json", env=ENV).document()["items"]
    assert isinstance(items, list)
    return sorted(item["id"] for item in items)


def test_many_processes_add_to_a_state_that_is_not_there_yet(world: World) -> None:
    assert sorted(add_at_once(world)) == listed(world)


def test_many_processes_add_through_a_node(world: World, node: subprocess.Popen[str]) -> None:
    assert node.poll() is None
    assert sorted(add_at_once(world)) == listed(world)


def asked(world: World, identity: str) -> list[Said]:
    """Ask everything that can be asked without changing anything, well and badly."""
    return run_all(
        world,
        [
            ["memory", "get", identity, "--json"],
            ["memory", "get", identity[:6], "--json"],
            ["memory", "get", "ffffff"],
            ["memory", "get", "ff"],
            ["memory", "list", "--json", "--limit", "1"],
            ["memory", "list", "--limit", "0"],
            ["memory", "history", identity, "--json"],
            ["memory", "conflicts", "--json"],
            ["memory", "edit", identity, "x", "--if-version", "9"],
            ["memory", "revert", identity, "--version", "9"],
            ["memory", "add", "x", "--confidence", "2"],
            ["memory", "add", "x", "--space", "nowhere"],
            ["memory", "accept", identity],
            ["memory", "delete", identity, "ffffff"],
            ["decision", "list", "--json"],
            ["export", "memory.jsonl", "--memory", "--json"],
            ["import", "memory.jsonl", "--json"],
        ],
    )


def comparable(said: Said) -> tuple[int, object, str]:
    """Leave out what fades with the seconds between two questions."""
    if said.rc != 0:
        return said.rc, said.out, said.err
    document = said.document()
    items = document.get("items")
    for entry in [document, *(items if isinstance(items, list) else [])]:
        entry.pop("effective_confidence", None)
        entry.pop("cursor", None)
    return said.rc, document, said.err


def test_a_node_answers_as_a_command_does_by_itself(world: World, request: pytest.FixtureRequest) -> None:
    identity = str(world.run("memory", "add", "the pier", "--tag", "a", "--json").document()["id"])
    run_all(
        world,
        [
            ["memory", "edit", identity, "the quay"],
            ["memory", "add", "for me", "--private"],
            ["decision", "add", "SQLite", "--rationale", "one file"],
        ],
    )
    alone = [comparable(said) for said in asked(world, identity)]
    request.getfixturevalue("node")
    assert [comparable(said) for said in asked(world, identity)] == alone
