"""A shell in which commands run in this process, on a world of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from archivist.sample import SampleSearches, write_sample
from cli.group import run
from tests.kit import World


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and its exit status."""

    rc: int
    out: str
    err: str

    def ok(self) -> Said:
        assert self.rc == 0, self
        return self

    def document(self) -> dict[str, object]:
        found = json.loads(self.ok().out)
        assert isinstance(found, dict)
        assert found["schemaVersion"] == 1
        return found

    def refused(self, *words: str) -> None:
        """Check a refusal: status 2, nothing on standard output, two lines that name the words."""
        assert (self.rc, self.out) == (2, ""), self
        assert 1 <= len(self.err.splitlines()) <= 3
        assert self.err.startswith("atrium: ")
        for word in words:
            assert word in self.err


class Shell:
    """Runs commands where no node runs."""

    def __init__(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        self.world = world
        self._capsys = capsys

    def run(self, *words: object) -> Said:
        self._capsys.readouterr()
        status = run([str(word) for word in words])
        said = self._capsys.readouterr()
        return Said(status, said.out, said.err)


@pytest.fixture
def shell(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give a shell that stands in the world's work directory."""
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.setenv("ATRIUM_STATE", str(world.state))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(world.base / "run"))
    monkeypatch.setenv("ATRIUM_PORT", "0")
    monkeypatch.chdir(world.work)
    return Shell(world, capsys)


@pytest.fixture
def sample(world: World) -> SampleSearches:
    """Write the sample's transcripts and notes into the world's home."""
    return write_sample(world.home)


@pytest.fixture
def filled(shell: Shell, sample: SampleSearches) -> Shell:
    """Give a shell whose state holds the sample."""
    shell.run("capture").ok()
    return shell


@pytest.fixture
def project(world: World) -> Path:
    """Name the repository of the sample's conversations."""
    return world.home / "tidewatch"
