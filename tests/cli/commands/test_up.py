"""`atrium up`: what is said and done before and after the node's process, which is played here."""

from __future__ import annotations

import pytest

from archivist.sample import SampleSearches
from cli.commands import up
from cli.node_process import Running
from node import ballast
from node.checks import Disk
from node.paths import StatePaths
from tests.cli.conftest import Shell


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collect the options with which a node is started."""
    seen: list[list[str]] = []

    def start(_paths: StatePaths, options: list[str]) -> Running:
        seen.append(options)
        return Running(pid=42, port=7707)

    monkeypatch.setattr(up, "start", start)
    return seen


def test_transcripts_are_imported_before_the_node_starts(
    shell: Shell, sample: SampleSearches, started: list[list[str]]
) -> None:
    said = shell.run("up").ok()
    assert started == [[]]
    assert "importing transcripts of claude-code, codex" in said.out
    assert f"of {sample.conversations} conversations" in said.out
    assert "the node runs: http://127.0.0.1:7707, process 42" in said.out
    assert "reading transcripts: " in said.err or "indexing fragments: " in said.err
    assert shell.run("search", "idempotency", "--all", "--json").document()["hits"]


def test_without_transcripts_the_demo_is_offered(shell: Shell, started: list[list[str]]) -> None:
    said = shell.run("up").ok()
    assert "no transcripts of agents were found" in said.out
    assert "atrium demo" in said.out
    assert shell.world.state.is_dir()


def test_a_disk_with_little_room_keeps_no_node_from_starting(
    shell: Shell, sample: SampleSearches, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ballast, "disk_of", lambda _path: Disk(free_bytes=1 << 20, free_files=1 << 20))
    said = shell.run("up").ok()
    assert "less than 256 MiB" in said.err
    assert "the node runs" in said.out
    assert started == [[]]


def test_the_port_is_passed_on(shell: Shell, started: list[list[str]]) -> None:
    shell.run("up", "--port", "7717").ok()
    assert started == [["--port", "7717"]]


def test_a_node_that_runs_already_is_left_alone(
    shell: Shell, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "find_running", lambda _paths: Running(pid=42, port=7707))
    assert shell.run("up").ok().out == "already running: http://127.0.0.1:7707, process 42\n"
    assert started == []
    assert not shell.world.state.exists()


def test_a_wrong_setting_is_found_before_anything_is_done(shell: Shell, started: list[list[str]]) -> None:
    shell.run("up", "--port", "70000").refused("node.port")
    assert started == []
    assert not shell.world.state.exists()
    shell.world.state.mkdir()
    (shell.world.state / "config.toml").write_text("[node]\nprot = 1\n")
    shell.run("up").refused("node.prot")
