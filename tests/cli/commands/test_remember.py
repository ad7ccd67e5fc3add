"""`atrium remember`: what is read from standard input, and what is printed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cli.commands import remember
from tests.cli.conftest import Said, Shell

TIDE = {"title": "Tide", "summary": "The gauge is off by two inches."}


@pytest.fixture
def yard(shell: Shell) -> Path:
    folder = shell.world.home / "yard"
    (folder / ".git").mkdir(parents=True)
    return folder


class Speaker:
    """Says things on standard input."""

    def __init__(self, shell: Shell, patch: pytest.MonkeyPatch, project: Path) -> None:
        self.shell, self._patch, self.project = shell, patch, project

    def say(self, given: object, *flags: object, to: object = None) -> Said:
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return self.shell.run("remember", "--project", to or self.project, *flags)


@pytest.fixture
def speaker(shell: Shell, monkeypatch: pytest.MonkeyPatch, yard: Path) -> Speaker:
    return Speaker(shell, monkeypatch, yard)


def test_what_is_said_is_found_and_said_again_is_there_already(speaker: Speaker) -> None:
    first = speaker.say(TIDE).ok().out
    assert first.startswith("remembered in yard: ")
    assert speaker.say(TIDE).ok().out == f"already {first}"
    hits = speaker.shell.run("search", "--all", "gauge", "--json").document()["hits"]
    assert isinstance(hits, list)
    assert [hit["record_id"][:16] for hit in hits] == [first.split()[-1]]


def test_the_document_says_all(speaker: Speaker) -> None:
    said = speaker.say(TIDE, "--json", "--agent", "tide-bot").document()
    assert said.keys() == {
        "schemaVersion", "recorded", "record_id", "job_key", "conversation_id", "workspace", "project",
        "private", "supersedes", "superseded_by", "redactions", "output",
    }  # fmt: skip
    assert said["output"] == TIDE | {"facts": [], "open_ends": []}


def test_what_supersedes_and_what_is_superseded_is_told(speaker: Speaker) -> None:
    old = speaker.say(TIDE).ok().out.split()[-1]
    new = speaker.say(TIDE | {"title": "Tide mended"}, "--supersedes", old).ok().out.splitlines()
    assert new[1] == f"supersedes {old}"
    assert f"superseded by {new[0].split()[-1]}" in speaker.say(TIDE).ok().out


def test_a_secret_is_counted_and_not_printed(speaker: Speaker) -> None:
    secret = "hunter2" * 2
    said = speaker.say(TIDE | {"summary": f"password: {secret}"}).ok()
    assert "1 secret redacted" in said.err
    assert secret not in said.out + said.err


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (b"", "JSON"),
        (b"not json", "JSON"),
        (b"\xff", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"[1]", "object"),
        (b"{" + b" " * remember.INPUT_BYTES_MAX, "MiB"),
        ({"title": "Tide"}, "summary"),
        (TIDE | {"mood": "fine"}, "mood"),
        (b'{"title": "\\ud800", "summary": "s"}', "title"),
    ],
)
def test_what_is_no_statement_is_refused(speaker: Speaker, given: object, word: str) -> None:
    speaker.say(given).refused(word)
    assert not speaker.shell.world.state.exists()


def test_outside_a_repository_nothing_is_remembered(speaker: Speaker) -> None:
    speaker.say(TIDE, to=speaker.shell.world.work).refused("no repository")
    speaker.say(TIDE, "--supersedes", "0" * 64).refused("no record")
