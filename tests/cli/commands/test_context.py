"""`atrium context`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def test_evidence_is_a_document(filled: Shell, project: Path) -> None:
    document = filled.run("context", "idempotency", "key", "--project", project, "--json").document()
    assert document["query"] == "idempotency key"
    assert document["served_by"] == "in_process"
    assert document["evidence"]


def test_people_read_quotes_with_their_source(filled: Shell) -> None:
    said = filled.run("context", "idempotency", "key").ok()
    assert "history · " in said.out
    assert "  │ " in said.out
    assert "warnings: " in said.err


def test_without_an_index_there_is_a_document_and_status_1(shell: Shell) -> None:
    said = shell.run("context", "x", "--json")
    assert said.rc == 1
    assert '"index_status": "unavailable"' in said.out
    spoken = shell.run("context", "x")
    assert (spoken.rc, spoken.out) == (1, "")
    assert "atrium capture" in spoken.err


@pytest.mark.parametrize(
    "words",
    [
        ("x", "--limit", "0"),
        ("x", "--max-chars", "0"),
        ("x", "--lane", "wrong"),
        ("",),
        ("x", "--project", "/"),
    ],
)
def test_what_makes_no_sense_is_refused(filled: Shell, words: tuple[str, ...]) -> None:
    filled.run("context", *words, "--json").refused()


def test_people_read_who_wrote_a_memory(filled: Shell) -> None:
    filled.run("memory", "add", "the idempotency key lasts a day").ok()
    said = filled.run("context", "idempotency", "key").ok()
    assert "shared · " in said.out
    assert f" · memory · local@{os.uname().nodename} · " in said.out
